"""`DataLoader(...)` that loads in the process that trains, or copies from memory the device cannot read at once."""

from __future__ import annotations

import re
from typing import Any, cast

from porter.checks.performance import prefilters
from porter.checks.performance.loader_calls import LOADERS, arguments, feeds_training, is_aside
from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.training import changed_data, loaders

_COPIES = lazy(rb"\.(?:cuda|npu|to)\(")
_JAX = lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:jax|flax)\b")  # its batches become arrays of JAX
_OVERLAPS = lazy(any_of("copies-without-waiting").encode())

# what a loader does by itself, and what keeps loading and copying out of the training process
_WANTED = {"num_workers": ("0", "num_workers=4"), "pin_memory": ("False", "pin_memory=True")}
# of torch; before, a loader that names no device pins where torch.cuda.is_available()
_PINS_FOR_NPUS = (2, 7)


def _hands_on(collate: str) -> bool:
    """Whether a batch is the list of its items, which may be anything: pinning takes tensors, and what has some."""
    return collate == "list" or re.fullmatch(r"lambda *(\w+) *: *\1", collate) is not None


def _of_pinning(given: dict[str, str], file: RuleFile) -> str:
    """What is said where nothing but pinned memory is missing."""
    if _hands_on(given.get("collate_fn", "")):
        return "objects"
    blocks = file.source.says(_COPIES) and not file.source.says(_OVERLAPS)
    return "blocking" if blocks else "pinning"


def _wants_no_workers(scene: Any, place: Any) -> bool:
    if loaders.is_read_by_each_worker(scene, place) or loaders.is_started_anew(scene, place):
        return True
    dataset = loaders.dataset_of(place)
    return dataset is not None and changed_data.changes_between_batches(scene, place, dataset)


def _pins_nothing(given: dict[str, str], file: RuleFile) -> bool:
    """Whether a loader with `pin_memory=True` goes on copying from memory that is not pinned, and does not say so."""
    return "pin_memory_device" not in given and file.target.torch < _PINS_FOR_NPUS


class LoaderArguments(Rule):
    code = "PRT633"
    edits = False
    calls = LOADERS
    only = staticmethod(prefilters.trains_or_pins)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        given = arguments(original, file)
        if given is None or file.source.says(_JAX) or file.path in file.facts.own.loaders.notebooks:
            return None
        feeds, is_pinned = feeds_training(original, given, file), given.get("pin_memory") == "True"
        if not feeds and (not is_pinned or is_aside(original, given, file)):
            return None
        wanted = [name for name, (default, _) in _WANTED.items() if feeds and given.get(name, default) == default]
        place, scene = file.scene.link(original), cast("Any", file.scene)
        if place is not None and (loaders.lies_on_device(scene, place) or loaders.holds_a_batch(scene, place)):
            return None  # neither a forked worker nor pinned memory can have it
        if "num_workers" in wanted and place is not None and _wants_no_workers(scene, place):
            wanted.remove("num_workers")
        missing = [_WANTED[name][1] for name in wanted]
        if (is_pinned or "pin_memory" in wanted) and _pins_nothing(given, file):
            device = file.style.type_name(file) or f'"{file.target.device}"'
            missing.append(f"pin_memory_device={device}")
        if not missing:
            return None
        if not wanted:
            torch = ".".join(map(str, file.target.torch))
            return Hit(original.func, "unpinned", values=named(missing=missing[0], torch=torch))
        why = _of_pinning(given, file) if wanted == ["pin_memory"] else "missing"
        return Hit(original.func, why, values=named(missing=", ".join(missing)))
