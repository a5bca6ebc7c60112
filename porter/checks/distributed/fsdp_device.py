"""`FullyShardedDataParallel(model)`: on which device a rank keeps its shards."""

from __future__ import annotations

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

CLASSES = frozenset(
    f"torch.distributed.fsdp.{module}FullyShardedDataParallel"
    for module in ("", "fully_sharded_data_parallel.", "api.")
)


class FsdpDevice(Rule):
    code = "PRT210"
    edits = False
    calls = CLASSES

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        argument = positional(original, None, ("device_id",))
        if argument is None:
            return None
        if argument[1] is None:
            return Hit(original.func, "missing")
        value = argument[1].value
        if file.target.int_is_npu or not file.meaning.int_kind(value):
            return None
        return Hit(value, "integer", values=(("old", file.text(value)),))
