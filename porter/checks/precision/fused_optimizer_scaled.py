"""torch_npu's GradScaler and an optimiser with `fused=True`: it hands `step()` an argument that torch's do not take."""

from __future__ import annotations

from porter.engine.nodes import dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.said_once import first_fused

_MODULES = ("torch.cuda.amp", "torch.cuda.amp.grad_scaler", "torch.npu.amp", "torch_npu.npu.amp")


class FusedOptimizerScaled(Rule):
    code = "PRT316"
    calls = {f"{module}.GradScaler" for module in _MODULES}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        place = file.facts.once.fused or first_fused({file.path: file.source.utf8})
        if not place or file.tested:
            return None
        new = None  # device comes first there since torch 2.3
        if file.target.torch >= (2, 3) and _is_below_torch(original.func) and (device := file.style.device_type(file)):
            args = [cst.Arg(device), *updated.args]
            new = updated.with_changes(func=dotted("torch.amp.GradScaler"), args=args)
        return Hit(original.func, "scaled", new=new, values=(("place", place),), loads=True)


def _is_below_torch(node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name) and node.value == "torch"
