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
            return Hit(base, "subclass", values=(("name", file.name(base) or ""),)) if base is not None else None
        if file.name(original.func) in PARTS and file.scene.link(original) != _first_call(file):
            return None  # the first of them speaks for the others
        if file.tested and b"cuda" not in file.source.words:
            return Hit(original.func, "wrapped", values=(("name", file.name(original.func) or ""),), severity="note")
        why, severity = ("tested", "note") if file.tested else ("call", None)  # a test stops no training
        return Hit(original.func, why, values=(("name", file.name(original.func) or ""),), severity=severity)


def _first_call(file: RuleFile) -> Link | None:
    mentions = file.meaning.mentions.of(PARTS)
    return next((link for link in mentions if getattr(link[1][0], "func", None) is link[0]), None)
