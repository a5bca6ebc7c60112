"""The norm of all gradients, taken one parameter at a time: as many small kernels, and often as many waits of the host."""

from __future__ import annotations

from porter.checks.performance import gradients, prefilters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

FUNCTIONS = frozenset({"torch.norm", "torch.linalg.norm", "torch.linalg.vector_norm"})


class GradientNorm(Rule):
    code = "PRT623"
    edits = False
    calls = FUNCTIONS
    methods = ("norm", "sum", "max")
    only = staticmethod(prefilters.adds_up_gradients)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.scene.apart or (file.name(original.func) or "").startswith("numpy."):
            return None  # what NumPy takes the norm of has been read already: PRT630
        link = file.scene.link(original)
        why = gradients.of_total(link) if link is not None else ""
        return Hit(original, why, optional=True) if why else None
