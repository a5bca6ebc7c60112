"""Calls of `DataLoader`: what each parameter is given, and whether the loader feeds a training."""

from __future__ import annotations

from typing import Any, cast

from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
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


def is_aside(call: cst.Call, given: dict[str, str], file: RuleFile) -> bool:
    """Called after a test, read by nobody, or of what brings its batches to the device."""
    scene: Any = file.scene
    if (place := scene.link(call)) is not None and loaders.is_left(scene, place):
        return True
    target, dataset = file.tensors.target(call), given.get("dataset", "")
    if file.scene.apart or EVALUATES.search(target) or EVALUATES.search(dataset):
        return True
    # PRT636 tells of it; workers could not do that
    return transfers.dataset_moves(file) or transfers.collate_moves(file) or on_the_host.only_drives(file)


def feeds_training(call: cst.Call, given: dict[str, str], file: RuleFile) -> bool:
    """Shuffled, or called after training; not what is aside, lies in memory, or only counts."""
    if given.get("shuffle") == "False" or is_aside(call, given, file):
        return False
    target, dataset, scene = file.tensors.target(call), given.get("dataset", ""), cast("Any", file.scene)
    if MEMORY.search(dataset.partition("(")[0]) or given.get("collate_fn", "").replace(" ", "") == "lambdax:x[0]":
        return False
    place = scene.link(call)
    function = scene.function_name(place) if place is not None else ""
    if place is not None and loaders.is_in_memory(scene, place):
        return False
    if COUNTS.search(function) or EVALUATES.match(function) or ASIDE.search(file.path.rpartition("/")[2]):
        return False
    if given.get("shuffle") == "True" and file.source.says(TRAINS):
        return True
    return "train" in target.lower() or "train" in dataset.partition("(")[0].lower()
