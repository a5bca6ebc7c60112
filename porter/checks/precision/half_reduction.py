"""`F.softmax(x.half(), -1)`, `softmax(..., dtype=torch.float16)`: sums of many numbers in sixteen bits."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

FUNCTIONS = frozenset(
    [
        f"torch.nn.functional.{n}"
        for n in "softmax log_softmax cross_entropy nll_loss kl_div mse_loss layer_norm rms_norm".split()
    ]
    + [f"torch.{n}" for n in "softmax log_softmax logsumexp norm".split()]
)
HALVES = frozenset({"torch.float16", "torch.half", "torch.bfloat16"})
_HALF = r"[^\n]*(?:\.half\s*\(\)|\.bfloat16\s*\(\)|torch\.(?:half|b?float16))"


class HalfReduction(Rule):
    code = "PRT312"
    edits = False
    nodes = ("Call",)
    text = tuple(
        rf"{name}\s*\({_HALF}"
        for name in ("softmax", "cross_entropy", "nll_loss", "kl_div", "mse_loss", "norm", "logsumexp")
    )

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func)
        if name not in FUNCTIONS:
            return None
        for index, arg in enumerate(original.args):
            keyword = arg.keyword.value if arg.keyword else None
            half = keyword == "dtype" and file.name(arg.value) in HALVES
            if half or (index < 2 or keyword in ("input", "target")) and self._is_half(arg.value, file):
                return Hit(original, "half", values=(("name", name.rpartition(".")[2]),))
        return None

    @staticmethod
    def _is_half(node: cst.BaseExpression, file: RuleFile) -> bool:
        """`x.half()`, `x.to(torch.float16)`."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return False
        method = node.func.attr.value
        return method in ("half", "bfloat16") or method == "to" and any(file.name(a.value) in HALVES for a in node.args)
