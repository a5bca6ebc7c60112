"""Collectives in every step that need not be there: a barrier, one message per parameter, the batch that one rank read."""

from __future__ import annotations

from porter.checks.distributed import needless, prefilters
from porter.engine.rule import Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile

_MODULES = ("torch.distributed", "torch.distributed.distributed_c10d")


class StepCollective(BatchRule):
    code = "PRT216"
    edits = False
    calls = frozenset(
        f"{module}.{name}" for module in _MODULES for name in ("barrier", "all_reduce", "broadcast", "scatter")
    )
    only = staticmethod(prefilters.is_needless)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = None if file.tested else file.scene.link(original)
        why = needless.reason(file.scene, link) if link is not None else ""
        return Hit(original.func, why, values=(("name", file.text(original.func)),)) if why else None
