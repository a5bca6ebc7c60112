"""Views and complex tensors handed to collectives: HCCL takes neither."""

from __future__ import annotations

from porter.checks.distributed import prefilters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

MODULES = ("torch.distributed", "torch.distributed.distributed_c10d")
PLAIN = "all_reduce broadcast reduce send recv isend irecv all_gather_into_tensor reduce_scatter_tensor all_to_all_single".split()
VIEWS = frozenset("t transpose permute swapaxes movedim expand expand_as diagonal".split())
COMPLEX = lazy(
    r"view_as_complex\(|torch\.(?:polar|complex)\(|\.to\(torch\.c(?:omplex64|omplex128|float|double)\)|fft\.\w+\("
)


class CollectiveTensor(Rule):
    code = "PRT211"
    edits = False
    calls = frozenset(f"{m}.{name}" for m in MODULES for name in PLAIN)
    only = staticmethod(prefilters.is_view)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = (file.name(original.func) or "").rpartition(".")[2]
        count = 2 if name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single") else 1
        for arg in original.args[:count]:
            if arg.star or arg.keyword is not None:
                continue
            if self._is_view(arg.value):
                return Hit(arg.value, "view", values=(("name", name),))
            if name == "broadcast" and COMPLEX.search(file.text(arg.value)):
                return Hit(arg.value, "complex", values=(("name", name),))
        return None

    @staticmethod
    def _is_view(node: cst.BaseExpression) -> bool:
        """`x.t()`, `x.T`, `x[:, :n]`, `x[::2]`: memory with gaps, or in another order."""
        if isinstance(node, cst.Call):
            return isinstance(node.func, cst.Attribute) and node.func.attr.value in VIEWS
        if isinstance(node, cst.Attribute):
            return node.attr.value in ("T", "mT")
        if not isinstance(node, cst.Subscript):
            return False
        cuts = [e.slice for e in node.slice]
        stepped = any(isinstance(c, cst.Slice) and c.step is not None and not _is_one(c.step) for c in cuts)
        whole = isinstance(cuts[0], cst.Slice) and cuts[0].lower is None and cuts[0].upper is None
        return (
            stepped
            or len(cuts) > 1
            and whole
            and not all(isinstance(c, cst.Slice) and not (c.lower or c.upper) for c in cuts)
        )


def _is_one(step: cst.BaseExpression) -> bool:
    return isinstance(step, cst.Integer) and step.value == "1"
