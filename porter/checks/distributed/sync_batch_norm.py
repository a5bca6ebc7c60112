"""`nn.SyncBatchNorm`: torch_npu has its own kernel for it, with limits of its own."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

CLASSES = ("torch.nn.SyncBatchNorm", "torch.nn.modules.SyncBatchNorm", "torch.nn.modules.batchnorm.SyncBatchNorm")
_BFLOAT16 = lazy(rb"(?i)bf16|bfloat16")
_SHOWN = 4  # other files, in a message


class SyncBatchNorm(Rule):
    code = "PRT207"
    edits = False
    calls = {*CLASSES, *(f"{name}.convert_sync_batchnorm" for name in CLASSES)}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        paths, grouped = file.facts.once.sync_norms
        if not grouped or file.path in paths[1:]:  # no norm waits for another; the first file speaks for all
            return None
        others = ", ".join(paths[1 : 1 + _SHOWN]) + (", ..." if len(paths) > 1 + _SHOWN else "")
        why = "bfloat16" if file.source.says(_BFLOAT16) else "limits"
        return Hit(original.func, why, values=(("other_files", others),) if others and file.path in paths else ())
