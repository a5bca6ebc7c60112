"""`torch.roll(x, shifts=(a, b), dims=(1, 2))`: the shifted windows of Swin."""

from __future__ import annotations

from porter.checks.performance.opportunity import Opportunity, Seen
from porter.engine.nodes import positional
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile


class WindowRoll(Opportunity):
    code = "PRT618"
    offers = "torch_npu.contrib.function.roll"
    calls = {"torch.roll"}

    def find(self, original: cst.Call, file: RuleFile) -> Seen | None:
        shifts, dims = (positional(original, position, (name,)) for position, name in ((1, "shifts"), (2, "dims")))
        if shifts is None or dims is None or shifts[1] is None or dims[1] is None:
            return None
        moved = shifts[1].value
        is_pair = isinstance(moved, cst.Tuple) and len(moved.elements) == 2
        if not is_pair or file.text(dims[1].value).strip("()[]").replace(" ", "") != "1,2":
            return None
        return original.func, "windows", ()
