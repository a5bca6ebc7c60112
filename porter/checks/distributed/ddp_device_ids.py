"""`DistributedDataParallel(model, device_ids=[0, 1])`: one process drives one device, in every torch an NPU runs with."""

from __future__ import annotations

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class DdpDeviceIds(Rule):
    code = "PRT206"
    edits = False
    calls = {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
    }

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        argument = positional(original, 1, ("device_ids",))
        if argument is None or argument[1] is None:
            return None
        value = argument[1].value
        return Hit(value, "several", values=(("old", file.text(value)),)) if self._several(value, file) else None

    @staticmethod
    def _several(value: cst.BaseExpression, file: RuleFile) -> bool:
        if (
            isinstance(value, cst.Call)
            and isinstance(value.func, cst.Name)
            and value.func.value == "list"
            and value.args
        ):
            value = value.args[0].value
        if isinstance(value, (cst.List, cst.Tuple)):
            return len(value.elements) > 1 and not any(isinstance(e, cst.StarredElement) for e in value.elements)
        if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Name) or value.func.value != "range":
            return False
        stop = value.args[-1].value if len(value.args) == 1 else None
        count = isinstance(stop, cst.Call) and (file.name(stop.func) or "").endswith(".device_count")
        return count or isinstance(stop, cst.Integer) and stop.value not in ("0", "1")
