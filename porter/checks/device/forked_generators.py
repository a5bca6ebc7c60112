"""`torch.random.fork_rng()`: the generators it puts back are CUDA's unless it is told another type of device."""

from __future__ import annotations

from porter.engine.nodes import positional, with_keyword
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class ForkedGenerators(Rule):
    code = "PRT146"
    calls = {"torch.random.fork_rng"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        devices, device_type = positional(original, 0, ("devices",)), positional(original, 4, ("device_type",))
        if devices is None or device_type is None:
            return Hit(original.func, "starred")
        if device_type[1] is not None or devices[1] is not None and _is_empty(devices[1].value):
            return None  # it names a device, or is about the generator of the CPU alone
        device = file.style.device_type(file)
        new = device and with_keyword(updated, "device_type", device)
        values = (("new", f'"{file.target.device}"'),)
        return Hit(original.func, "missing", new=new, safe=True, values=values, loads=True)


def _is_empty(devices: cst.BaseExpression) -> bool:
    return isinstance(devices, (cst.List, cst.Tuple)) and not devices.elements
