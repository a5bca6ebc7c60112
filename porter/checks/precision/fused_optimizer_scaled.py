"""torch_npu's GradScaler and an optimiser with `fused=True`: it hands `step()` an argument that torch's do not take."""

from __future__ import annotations

from porter.engine.nodes import dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.said_once import first_fused

_MODULES = ("torch.cuda.amp", "torch.cuda.amp.grad_scaler", "torch.npu.amp", "torch_npu.npu.amp")
_TORCHS_OWN = (2, 3)  # the first torch with torch.amp.GradScaler


class FusedOptimizerScaled(Rule):
    code = "PRT316"
    calls = {f"{module}.GradScaler" for module in _MODULES}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        place = file.facts.once.fused or first_fused({file.path: file.source.utf8})
        if not place or file.tested:
            return None
        new, torch = None, file.meaning.module_name(original.func, "torch")
        if file.target.torch < _TORCHS_OWN:
            return Hit(original.func, "older", values=(("place", place),))
        device = file.style.device_type(file) if torch else None
        if device is not None:
            new = updated.with_changes(func=dotted(f"{torch}.amp.GradScaler"), args=[cst.Arg(device), *updated.args])
        # torch's own looks for infinities, which 910 does not have: it keeps to the largest number
        safe = new is not None and file.target.soc != "910"
        return Hit(original.func, "scaled", new=new, safe=safe, values=(("place", place),), loads=True)
