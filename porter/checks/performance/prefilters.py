"""Cheap questions about a place, asked before LibCST parses its statement. Each is the `only` of a rule: search for its name.

A glance may say yes where the rule says no. It must never say no where the rule says yes.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.checks.performance import (
    conditions,
    conversions,
    device_mismatch,
    elements,
    explicit_waits,
    gradients,
    layer_lists,
    layer_widths,
    syncs,
)
from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors
from porter.regex import lazy
from porter.training import drawn_sizes, masks, order, padding, pinned, sizes
from porter.training.loops import over_epochs

if TYPE_CHECKING:
    from porter.training.scene import Scene

_TRAINS = lazy(rb"(?i)train|shuffle")
_BATCHES = lazy(
    r"for .* in (?:enumerate\()?self\.\w*loader\b|next\((?:iter\()?(?:self\.)?\w*(?:loader|iter|batch|data|source)\w*[,)]"
)
# wider than WORKERS of device_in_dataset.py, which decides: who edits one edits both
_WORKER = lazy(r"^__(?:getitem|iter)__$|(?i:collat)")


def works_for_loader(scene: Scene, link: Link) -> bool:
    if call_name(link[0]) not in ("cuda", "npu", "to") and all(k.arg != "device" for k in link[1][0].keywords):
        return False
    function = scene.function(link)
    owner: Node = function and function[1] and function[1][0]
    named = owner.name if owner.__class__ is ast.ClassDef else ""
    return function is not None and bool(_WORKER.search(function[0].name) or _WORKER.search(named))


def makes_without_device(scene: Scene, link: Link) -> bool:
    named = {k.arg for k in link[1][0].keywords}
    return (
        named.isdisjoint({"device", "out"})
        and scene.where(link) == "forward"
        and device_mismatch.met(scene, link) is not None
    )


def is_flattened(scene: Scene, link: Link) -> bool:
    call = link[1][0]
    return len(call.args) == 2 and not call.keywords and call.args[0].__class__ is ast.Call


def trains(scene: Scene, link: Link) -> bool:
    statement = next(a[0] for a in ancestors(link) if isinstance(a[0], ast.stmt))
    function = scene.function_name(link) if statement.__class__ is ast.Return else ""
    return not scene.file.tested and (scene.file.source.says(_TRAINS, statement) or "train" in function)


def trains_or_pins(scene: Scene, link: Link) -> bool:
    pins = b"pin_memory" in scene.file.source.vocabulary  # in the call, or in options that it is given
    return pins and not scene.file.tested or trains(scene, link)


def waits(scene: Scene, link: Link) -> bool:
    if link[0].__class__ in (ast.If, ast.While, ast.Assert) and not conditions.may_ask(link[0].test):
        return False
    if link[0].__class__ is ast.While and link[0] in scene.steps:  # asked in each round, as the body is
        return not scene.file.tested and conditions.condition(scene, link) is not None
    if not scene.matters(link):
        return False
    if call_name(link[0]) == "synchronize":
        return explicit_waits.is_superfluous(scene, link)
    if link[0].__class__ is ast.Name and link[0].id in ("max", "min"):
        return bool(syncs.extreme(scene, link))
    if link[0].__class__ is ast.Name:
        # print() concerns the rule only where it shows a loss
        return syncs.takes_loss(scene, link) or link[0].id != "print" and syncs.number(scene, link)
    if link[0].__class__ is ast.Attribute:
        # so do methods of progress bars and writers: set_postfix, add_scalar
        return not link[0].attr.startswith(("set_", "add_")) or syncs.shows_loss(scene, link)
    return conditions.condition(scene, link) is not None


def prefetches(scene: Scene, link: Link) -> bool:
    """Whether the stream belongs to a class that takes batches from a loader, copies them on it, and waits for it."""
    owner = scene.owner(link)
    return owner is not None and _copies_batches(owner)


@once
def _copies_batches(owner: ast.ClassDef) -> bool:
    words = ast.unparse(owner)
    copies = "non_blocking=True" in words and ".wait_stream(" in words
    return copies and bool(_BATCHES.search(words)) and "def backward" not in words


def pads(scene: Scene, link: Link) -> bool:
    """A collator of a library, wherever it is made; a size that the step draws; any other call in a function that collates,
    or that tokenises in the step."""
    name = call_name(link[0].func if link[0].__class__ is ast.Call else link[0])
    if name == "interpolate":
        return bool(scene.where(link)) and drawn_sizes.is_drawn(scene, link)
    return name.startswith("DataCollator") or padding.collates(scene, link) or padding.tokenises(scene, link)


def in_step(scene: Scene, link: Link) -> bool:
    return bool(scene.where(link))


def in_epoch(scene: Scene, link: Link) -> bool:
    return over_epochs(link) is not None


def may_fork(scene: Scene, link: Link) -> bool:
    return scene.file.source.says(b"fork") or order.woken(scene, link) is not None


def loops_over_batches(scene: Scene, link: Link) -> bool:
    return scene.loops_over_batches and not scene.file.tested


def has_sizes(scene: Scene, link: Link) -> bool:
    if link[0].__class__ in (ast.Attribute, ast.Name):  # the name of a call: a layer is made
        return layer_widths.concerns(link[1][0])
    return bool(sizes.misfits_at(scene, link))


def assigns_by_mask(scene: Scene, link: Link) -> bool:
    return masks.assigned(scene, link) is not None


def is_activated(scene: Scene, link: Link) -> bool:
    return layer_lists.activated(scene, link)


def adds_up_gradients(scene: Scene, link: Link) -> bool:
    return bool(gradients.of_total(link))


def takes_rows(scene: Scene, link: Link) -> bool:
    return elements.rows(scene, link) is not None


def is_undone(scene: Scene, link: Link) -> bool:
    return bool(conversions.undone(scene.names, link)) and bool(scene.where(link))


def copies_pinned(scene: Scene, link: Link) -> bool:
    return pinned.is_copied(scene, link) and bool(scene.matters(link))
