"""The norm of all gradients, taken one parameter at a time: as many small kernels, and often as many waits of the host."""

from __future__ import annotations

from porter.checks.performance import gradients, prefilters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

MEASURES_SINCE = (2, 6)  # the torch that has `get_total_norm`
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
        if not why or link is None:
            return None
        measures = file.target.torch >= MEASURES_SINCE and not gradients.changes_gradients(link)
        new = "get_total_norm" if measures else "clip_grad_norm_"
        each_step = why == "waits" and file.scene.matters(link)
        if not gradients.makes_norm(link):
            return Hit(original, "several", optional=not each_step) if why == "waits" else None
        return Hit(original, why, optional=not each_step, values=(("new", new),))
