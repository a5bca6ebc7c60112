"""`torch.is_autocast_enabled()` and its kin: without a device they ask about CUDA."""

from __future__ import annotations

from typing import Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.autocast_states import ASKED, SINCE

CALLS = {  # torch.X -> what takes a device there, and how many arguments X takes
    **{old: (new, 0) for old, new in ASKED.items()},
    "set_autocast_enabled": ("set_autocast_enabled", 1),
    "set_autocast_gpu_dtype": ("set_autocast_dtype", 1),
}


class AutocastState(Rule):
    code = "PRT301"
    calls = frozenset(f"torch.{name}" for name in CALLS)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        old = (file.name(original.func) or "").rpartition(".")[2]
        new, count = CALLS[old]
        if len(original.args) > count and not any(a.star for a in original.args):
            return None  # names its device already
        if file.meaning.is_fallback(original.func):
            return None  # for a torch in which these functions took no device
        device = file.target.device
        takes_device = file.target.torch >= SINCE
        spelling = f'torch.{new}("{device}")' if takes_device else f"{file.target.namespace}.{new}()"
        values = (("old", f"torch.{old}"), ("new", spelling))
        plain = len(original.args) == count and not any(a.star or a.keyword for a in original.args)
        has_counterpart = takes_device or file.session.has(f"{file.target.namespace}.{new}")
        if not plain or not has_counterpart or not isinstance(original.func, cst.Attribute):
            return Hit(original.func, "by-hand", values=values)
        func: Any = updated.func
        func = func.with_changes(attr=func.attr.with_changes(value=new))
        call: cst.Call | None = None
        if takes_device:
            if (word := file.style.device_type(file)) is not None:
                call = updated.with_changes(func=func, args=[cst.Arg(word), *updated.args])
        else:
            call = updated.with_changes(func=func.with_changes(value=cst.Attribute(func.value, cst.Name(device))))
        return Hit(original.func, "state", new=call, safe=True, values=values, loads=True)
