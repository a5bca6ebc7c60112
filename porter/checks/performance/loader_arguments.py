"""`DataLoader(...)` that loads in the process that trains, or copies from memory the device cannot read at once."""

from __future__ import annotations

import re
from typing import Any, cast

from porter.checks.performance import prefilters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.training import loaders, on_the_host, transfers

LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
ORDER = (
    "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout worker_init_fn "
    "multiprocessing_context"
).split()
# what lies in memory already, and indices into it: no worker would be faster
MEMORY = lazy(
    r"(?i)buffer|replay|experience|rollout|queue|(?:idx|index|indices|ids)$|random|^range$|arange$|TensorDataset$"
)
ASIDE = lazy(r"(?:^|_)(?:tests?|profiler?|benchmark)(?:_|\.)")
TRAINS = lazy(rb"backward\(|optim|\.train\(|Trainer|training_step|train_dataloader")
_COPIES = lazy(rb"\.(?:cuda|npu|to)\(")
_OVERLAPS = lazy(any_of("copies-without-waiting").encode())
COUNTS = lazy(r"(?i)count|num_steps|total_|estimate|statistics")
EVALUATES = lazy(r"(?i)test|val(?:id|_|$)|eval|infer|predict|mock|dummy|fake|synthetic|train *= *False")


def arguments(call: cst.Call, file: RuleFile) -> dict[str, str] | None:
    """What each parameter of a loader is given, by place, by name or in `**options`; None where stars may hide some."""
    more: dict[str, str] = {}
    if any(a.star for a in call.args):
        spread = None if any(a.star == "*" for a in call.args) else file.tensors.spread(call)
        if spread is None:
            return None
        more = spread
    plain = [a for a in call.args if not a.star]
    names = [a.keyword.value if a.keyword else ORDER[i] if i < len(ORDER) else "" for i, a in enumerate(plain)]
    return {**more, **{name: file.text(a.value) for name, a in zip(names, plain)}}


def feeds_training(call: cst.Call, given: dict[str, str], file: RuleFile) -> bool:
    """Shuffled, or called after training; not what is called after a test, lies in memory, or is read by nobody."""
    scene: Any = file.scene
    if (place := scene.link(call)) is not None and loaders.is_left(scene, place):
        return False
    target, dataset = file.tensors.target(call), given.get("dataset", "")
    if file.scene.apart or EVALUATES.search(target) or EVALUATES.search(dataset) or given.get("shuffle") == "False":
        return False
    if MEMORY.search(dataset.partition("(")[0]) or given.get("collate_fn", "").replace(" ", "") == "lambdax:x[0]":
        return False
    function = file.scene.function_name(link) if (link := file.scene.link(call)) is not None else ""
    if place is not None and loaders.is_in_memory(scene, place):
        return False
    if COUNTS.search(function) or EVALUATES.match(function) or ASIDE.search(file.path.rpartition("/")[2]):
        return False
    if transfers.dataset_moves(file) or transfers.collate_moves(file) or on_the_host.only_drives(file):
        return False  # PRT636 tells of it; workers could not do that
    if given.get("shuffle") == "True" and file.source.says(TRAINS):
        return True
    return "train" in target.lower() or "train" in dataset.partition("(")[0].lower()


# what a loader does by itself, and what keeps loading and copying out of the training process
_WANTED = {"num_workers": ("0", "num_workers=4"), "pin_memory": ("False", "pin_memory=True")}


def _hands_on(collate: str) -> bool:
    """Whether a batch is the list of its items, which may be anything: pinning takes tensors, and what has some."""
    return collate == "list" or re.fullmatch(r"lambda *(\w+) *: *\1", collate) is not None


def _of_pinning(given: dict[str, str], file: RuleFile) -> str:
    """What is said where nothing but pinned memory is missing."""
    if _hands_on(given.get("collate_fn", "")):
        return "objects"
    blocks = file.source.says(_COPIES) and not file.source.says(_OVERLAPS)
    return "blocking" if blocks else "pinning"


def _wastes_workers(scene: Any, place: Any) -> bool:
    return loaders.is_read_by_each_worker(scene, place) or loaders.is_started_anew(scene, place)


class LoaderArguments(Rule):
    code = "PRT633"
    edits = False
    calls = LOADERS
    only = staticmethod(prefilters.trains)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        given = arguments(original, file)
        if given is None or not feeds_training(original, given, file) or file.path in file.facts.own.notebooks:
            return None
        wanted = [name for name, (default, _) in _WANTED.items() if given.get(name, default) == default]
        place, scene = file.scene.link(original), cast("Any", file.scene)
        if place is not None and (loaders.lies_on_device(scene, place) or loaders.holds_a_batch(scene, place)):
            return None  # neither a forked worker nor pinned memory can have it
        if "num_workers" in wanted and place is not None and _wastes_workers(scene, place):
            wanted.remove("num_workers")
        if not wanted:
            return None
        missing = ", ".join(_WANTED[name][1] for name in wanted)
        why = _of_pinning(given, file) if wanted == ["pin_memory"] else "missing"
        return Hit(original.func, why, values=(("missing", missing),))
