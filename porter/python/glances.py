"""Cheap looks at a place that a rule has the name of, before LibCST sees its statement: `Rule.only` names one.

A glance may let through what the rule turns down, never the other way round.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from . import elements, gradients, masks, meetings, padding, picked, sequences, syncs
from .blocks import once
from .evidence import call_name, constant
from .index import Link, ancestors

_MODEL = re.compile(r"(?i)model|net|generator|discriminator|encoder|decoder|backbone|classifier")
_TRAINS = re.compile(rb"(?i)train|shuffle")
_BATCHES = re.compile(
    r"for .* in (?:enumerate\()?self\.\w*loader\b|next\((?:iter\()?(?:self\.)?\w*(?:loader|iter|batch|data|source)\w*[,)]"
)
_WORKER = re.compile(r"^__(?:getitem|iter)__$|(?i:collat)")


def _works_for_loader(scene, link: Link) -> bool:
    if call_name(link[0]) not in ("cuda", "npu", "to") and all(k.arg != "device" for k in link[1][0].keywords):
        return False
    function = scene.function(link)
    owner = function and function[1] and function[1][0]
    named = owner.name if owner.__class__ is ast.ClassDef else ""
    return function is not None and bool(_WORKER.search(function[0].name) or _WORKER.search(named))


def _makes_without_device(scene, link: Link) -> bool:
    named = {k.arg for k in link[1][0].keywords}
    return (
        named.isdisjoint({"device", "out"}) and scene.where(link) == "forward" and meetings.met(scene, link) is not None
    )


def _depends_on_data(scene, link: Link) -> bool:
    if link[0].__class__ is ast.Subscript:
        return masks.picks(scene, link) and not picked.is_asked(scene, link)
    if call_name(link[0]) in picked.ASKED:
        return picked.asks(scene, link) is not None
    return bool(scene.matters(link))


def _is_anywhere(scene, link: Link) -> bool:
    """A load that does not say where to."""
    call = link[1][0]
    return (
        not scene.file.tested
        and len(call.args) < 2
        and "map_location" not in {k.arg for k in call.keywords}
        or any(
            constant(a) is None and a.__class__ is ast.Constant
            for a in [*call.args[1:2], *(k.value for k in call.keywords)]
        )
    )


def _is_view(scene, link: Link) -> bool:
    return any(a.__class__ in (ast.Call, ast.Subscript, ast.Attribute) for a in link[1][0].args[:2])


def _is_flattened(scene, link: Link) -> bool:
    call = link[1][0]
    return len(call.args) == 2 and not call.keywords and call.args[0].__class__ is ast.Call


def _names_model(scene, link: Link) -> bool:
    first = link[1][0].args[0] if link[1][0].args else None
    return (
        first.__class__ in (ast.Name, ast.Attribute)
        and bool(_MODEL.search(ast.unparse(first)))
        and not scene.file.tested
    )


def _trains(scene, link: Link) -> bool:
    statement = next(a[0] for a in ancestors(link) if isinstance(a[0], ast.stmt))
    function = scene.function_name(link) if statement.__class__ is ast.Return else ""
    return not scene.file.tested and (scene.file.source.says(_TRAINS, statement) or "train" in function)


def _waits(scene, link: Link) -> bool:
    if not scene.matters(link):
        return False
    if link[0].__class__ is ast.Name:
        return scene.hands_loss(link) or link[0].id != "print" and syncs.number(scene, link)
    if link[0].__class__ is ast.Attribute:
        return not link[0].attr.startswith(("set_", "add_")) or syncs.told(scene, link)
    return syncs.condition(scene, link) is not None


def _prefetches(scene, link: Link) -> bool:
    """A stream of a class that takes batches from a loader, copies them on it, and lets the step wait for it."""
    owner = scene.owner(link)
    return owner is not None and _copies_batches(owner)


@once
def _copies_batches(owner: ast.ClassDef) -> bool:
    words = ast.unparse(owner)
    copies = "non_blocking=True" in words and ".wait_stream(" in words
    return copies and bool(_BATCHES.search(words)) and "def backward" not in words


def _launches(scene, link: Link) -> bool:
    """`kernel[grid](...)` of Triton; numba has the same form."""
    says = scene.file.source.says
    if link[0].__class__ is not ast.Call:  # a function of Triton's own
        return True
    return link[0].func.__class__ is ast.Subscript and says(b"triton") and not says(b"numba")


def _pads(scene, link: Link) -> bool:
    """A collator of a library, wherever it is made; anything else in a function that collates."""
    name = call_name(link[0].func if link[0].__class__ is ast.Call else link[0])
    return name.startswith("DataCollator") or padding.collates(scene, link)


GLANCES: dict[str, Callable] = {
    "step": lambda scene, link: bool(scene.where(link)),
    "shape": _depends_on_data,
    "sync": _waits,
    "loader": _works_for_loader,
    "factory": _makes_without_device,
    "anywhere": _is_anywhere,
    "view": _is_view,
    "flattened": _is_flattened,
    "model": _names_model,
    "training": _trains,
    "epoch": lambda scene, link: scene.epoch(link) is not None,
    "fork": lambda scene, link: scene.file.source.says(b"fork") or scene.woken(link) is not None,
    "loop": lambda scene, link: scene.loops_over_batches and not scene.file.tested,
    "prefetch": _prefetches,
    "sizes": lambda scene, link: bool(scene.sizes(link)),
    "index": lambda scene, link: masks.assigned(scene, link) is not None,
    "launch": _launches,
    "pads": _pads,
    "neighbours": lambda scene, link: sequences.activated(scene, link),
    "gradients": lambda scene, link: bool(gradients.of_total(link)),
    "rows": lambda scene, link: elements.rows(scene, link) is not None,
}
