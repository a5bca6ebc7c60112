"""torch_npu's GradScaler and an optimiser with `fused=True`: it hands `step()` an argument that torch's do not take."""

from __future__ import annotations

from porter.checks.rule import Hit, Rule
from porter.project.firsts import first_fused

_MODULES = ("torch.cuda.amp", "torch.cuda.amp.grad_scaler", "torch.npu.amp", "torch_npu.npu.amp")


class FusedOptimizerScaled(Rule):
    code, slug = "PRT316", "fused-optimizer-scaled"
    calls = {f"{module}.GradScaler" for module in _MODULES}

    def visit(self, original, updated, file):
        place = file.facts.fused or first_fused({file.path: file.source.utf8})
        if not place or file.tested:
            return None
        return Hit(original.func, "scaled", values=(("place", place),))
