"""Checkpoints of Lightning that `torch.load` refuses from torch 2.6 on: before 1.5, it keeps the classes of callbacks in them; and in
the hyperparameters of what hydra makes, there are a functools.partial for the optimizer and lists of OmegaConf.
"""

from __future__ import annotations

from porter.checks.export.loaded_keys import keys
from porter.engine.rule import TOGETHER, Hit, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import imported_packages

RESUMED, _PATH, _NAME = "resume_from_checkpoint", "ckpt_path", "pytorch-lightning"
METHODS = frozenset({"fit", "validate", "test", "predict"})  # of a Trainer, which load what `ckpt_path` names
TRAINERS = frozenset(
    f"pytorch_lightning.{module}Trainer{made}"
    for module in ("", "trainer.", "trainer.trainer.")
    for made in ("", ".from_argparse_args")
)
_LIGHTNING = frozenset({"pytorch_lightning", "lightning"})
# beside the weights, Lightning's alone
_MARKS = frozenset(
    {"global_step", "pytorch-lightning_version", "lr_schedulers", "optimizer_states", "hyper_parameters"}
)


def of_old_lightning(call: Link, file: RuleFile) -> str:
    """The Lightning that the project asks for, where the `state_dict` of its checkpoints is read. A file that does not import it
    reads another of its keys as well."""
    old = _asked(file)
    read = keys(call, file) if old else frozenset[str]()
    return old if "state_dict" in read and (_imports(file) or not _MARKS.isdisjoint(read)) else ""


def resumed(original: cst.Call | cst.Assign, file: RuleFile) -> Hit | None:
    """`Net.load_from_checkpoint(path)`, `Trainer(resume_from_checkpoint=path)`, `options.resume_from_checkpoint = path`: Lightning
    itself loads the file."""
    place = _resuming(original)
    old = _asked(file) if place is not None and not file.tested and _imports(file) else ""
    return Hit(place, "resumed", values=(("old", old), (TOGETHER, "resumed"))) if place is not None and old else None


def configured(original: cst.Call | cst.Assign, file: RuleFile) -> Hit | None:
    """`trainer.test(model, ckpt_path=best)` in a project whose modules keep what hydra hands them."""
    if not file.facts.checkpoints.configured or file.tested or isinstance(original, cst.Assign):
        return None
    given = {arg.keyword.value: arg.value for arg in original.args if arg.keyword is not None}
    loads = _is_called(original, "load_from_checkpoint") or _PATH in given and not _is_none(given[_PATH])
    if not loads or "weights_only" in given or _passes_false(file):
        return None
    return Hit(original.func, "configured", values=((TOGETHER, "configured"),))


def reads_configured(call: Link, file: RuleFile) -> bool:
    """`torch.load(path)["state_dict"]` in a file that trains with Lightning, where the modules keep what hydra hands them."""
    read = keys(call, file) if file.facts.checkpoints.configured else frozenset[str]()
    return "state_dict" in read and read <= {"state_dict", *_MARKS} and _imports(file)


def _passes_false(file: RuleFile) -> bool:
    """Whether the project asks for a Lightning 2.4 or 2.5: they load what they are given, and 2.6 does what torch does."""
    lists = file.facts.lists
    return lists.has_least(f"{_NAME}>=2.4", file.path) and bool(lists.below(f"{_NAME}>=2.6", file.path))


def _is_called(original: cst.Call, name: str) -> bool:
    return isinstance(original.func, cst.Attribute) and original.func.attr.value == name


def _resuming(original: cst.Call | cst.Assign) -> cst.CSTNode | None:
    if isinstance(original, cst.Assign):
        target = original.targets[0].target
        is_set = isinstance(target, cst.Attribute) and target.attr.value == RESUMED
        return target if is_set and not _is_none(original.value) else None
    if _is_called(original, "load_from_checkpoint"):
        return original.func
    given = next((arg for arg in original.args if arg.keyword is not None and arg.keyword.value == RESUMED), None)
    return given if given is not None and not _is_none(given.value) else None


def _is_none(value: cst.BaseExpression) -> bool:
    return getattr(value, "value", "") == "None"


def _asked(file: RuleFile) -> str:
    return file.facts.lists.below(f"{_NAME}>=1.5", file.path)


def _imports(file: RuleFile) -> bool:
    imported = imported_packages(file.names.imports)
    return not _LIGHTNING.isdisjoint(imported)
