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
        if argument is None or argument[1] is None and _is_moved(original):
            return None
        if argument[1] is None:
            return Hit(original.func, "missing")
        value = argument[1].value
        if file.target.int_is_npu or not file.meaning.int_kind(value):
            return None
        return Hit(value, "integer", values=(("old", file.text(value)),))


def _is_moved(call: cst.Call) -> bool:
    """`FullyShardedDataParallel(model.to(device))`: it takes the device of the parameters."""
    wrapped = next(
        (a.value for a in call.args if not a.star and (a.keyword is None or a.keyword.value == "module")), None
    )
    if not isinstance(wrapped, cst.Call) or not isinstance(wrapped.func, cst.Attribute):
        return False
    name, first = wrapped.func.attr.value, wrapped.args[0].value if wrapped.args else None
    if name == "to":
        dtype = isinstance(first, cst.Attribute) and first.attr.value.startswith(("float", "bfloat", "half"))
        return first is not None and not dtype and not (isinstance(first, cst.SimpleString) and "cpu" in first.value)
    return name in ("cuda", "npu")
