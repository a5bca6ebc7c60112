"""`F.softmax(x.half(), -1)`, `softmax(..., dtype=torch.float16)`: sums of many numbers in sixteen bits."""

from __future__ import annotations

from porter.checks.precision import prefilters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

FUNCTIONS = frozenset(
    [
        f"torch.nn.functional.{n}"
        for n in "softmax log_softmax cross_entropy nll_loss kl_div mse_loss layer_norm rms_norm".split()
    ]
    + [f"torch.{n}" for n in "softmax log_softmax logsumexp norm".split()]
)


class HalfReduction(Rule):
    code = "PRT312"
    edits = False
    calls = FUNCTIONS
    only = staticmethod(prefilters.takes_half)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        if link is None or not file.glance(self.only, link):
            return None
        name = file.name(original.func) or ""
        return Hit(original, "half", values=(("name", name.rpartition(".")[2]),))
