"""`nn.DataParallel`: one process that drives several devices. On NPUs it is one process per device, DDP."""

from __future__ import annotations

from typing import Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile

CLASSES = ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel")
FUNCTIONS = ("torch.nn.parallel.data_parallel", "torch.nn.parallel.data_parallel.data_parallel")
# what DataParallel is made of, where a program calls it itself; `scatter` and `gather` serve a single device as well
PARTS = frozenset(
    f"torch.nn.parallel.{name}"
    for name in ("replicate", "replicate.replicate", "parallel_apply", "parallel_apply.parallel_apply")
)
# a subclass of a package that is copied into a repository, where its README asks for that
CALLBACKS = frozenset(
    f"{folder}sync_batchnorm.{module}DataParallelWithCallback"
    for folder in ("", "networks.", "models.", "models.networks.", "modules.", "lib.")
    for module in ("", "replicate.")
)


class DataParallel(Rule):
    code = "PRT205"
    edits = False
    calls = {*CLASSES, *FUNCTIONS, *CALLBACKS, *PARTS}
    nodes = ("ClassDef",)
    text = (r"DataParallel\b", r"parallel_apply\b", r"replicate\b")

    def visit(self, original: cst.Call | cst.ClassDef, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.ClassDef):
            base = next((b.value for b in original.bases if file.name(b.value) in CLASSES), None)
            return Hit(base, "subclass", values=(("name", CLASSES[0]),)) if base is not None else None
        name = file.name(original.func) or ""
        values = (("name", CLASSES[0] if name in CLASSES else name),)  # by whichever name: it is the same class
        if name in PARTS and file.scene.link(original) != _first_call(file):
            return None  # the first of them speaks for the others, and a subclass for what it is made of
        if file.tested and name in CALLBACKS:
            return Hit(original.func, "copied", values=values, severity="note")
        if file.tested and b"cuda" not in file.source.words:
            return Hit(original.func, "wrapped", values=values, severity="note")
        why, severity = ("tested", "note") if file.tested else ("call", None)  # a test stops no training
        return Hit(original.func, why, values=values, severity=severity)


def _first_call(file: RuleFile) -> Link | None:
    mentions = file.meaning.mentions.of(PARTS)
    calls = (link for link in mentions if getattr(link[1][0], "func", None) is link[0])
    return next((link for link in calls if not _is_of_subclass(link, file)), None)


def _is_of_subclass(link: Link, file: RuleFile) -> bool:
    """Whether a call stands in a class that builds on DataParallel."""
    names: Any = file.names
    owner = file.scene.owner(link)
    return owner is not None and any(names.resolve(base, link) in CLASSES for base in owner.bases)
