"""`torch.autocast("cuda", dtype=torch.float32)`, which casts sixteen bits up: an older torch_npu knows no autocast to float32."""

from __future__ import annotations

from porter.checks.precision.unscaled_float16 import CALLS
from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

_TYPES = frozenset({"torch.float32", "torch.float"})
_KNOWN_FROM = (2, 7, 1)


class AutocastFloat32(Rule):
    code = "PRT320"
    edits = False
    calls = frozenset({*CALLS, "torch.npu.amp.autocast", "torch_npu.npu.amp.autocast"})

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        first = file.name(original.func) in ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
        dtype, enabled = positional(original, 1, ("dtype",)), positional(original, 2 if first else 0, ("enabled",))
        if file.target.torch >= _KNOWN_FROM or dtype is None or dtype[1] is None:
            return None
        if file.name(dtype[1].value) not in _TYPES or enabled is None:
            return None
        if enabled[1] is not None and isinstance(enabled[1].value, cst.Name) and enabled[1].value.value == "False":
            return None
        return Hit(original, "older")
