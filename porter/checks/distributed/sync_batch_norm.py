"""`nn.SyncBatchNorm`: torch_npu has its own kernel for it, with limits of its own."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

CLASSES = ("torch.nn.SyncBatchNorm", "torch.nn.modules.SyncBatchNorm", "torch.nn.modules.batchnorm.SyncBatchNorm")


class SyncBatchNorm(Rule):
    code = "PRT207"
    edits = False
    calls = {*CLASSES, *(f"{name}.convert_sync_batchnorm" for name in CLASSES)}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        return Hit(original.func, "limits")
