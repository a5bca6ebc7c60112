"""`np.isnan(norm)` of a norm of gradients: `clip_grad_norm_` answers with a tensor now, which numpy cannot read on a device."""

from __future__ import annotations

import ast

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import ancestors, walk

QUESTIONS = frozenset({"numpy.isnan", "numpy.isinf", "numpy.isfinite"})
_NORMS = frozenset(f"torch.nn.utils.{module}clip_grad_norm{end}" for module in ("", "clip_grad.") for end in ("", "_"))


def _is_asked_for_its_type(name: str, question: cst.Call, file: RuleFile) -> bool:
    """`if isinstance(norm, float):` above it, as an old torch answers: such a branch needs no port."""
    link = file.link(question.args[0].value)
    tests = (above.test for above, _ in ancestors(link) if above.__class__ is ast.If) if link is not None else ()
    calls = (node for test in tests for node in walk(test) if node.__class__ is ast.Call)
    return any(call_name(c.func) == "isinstance" and getattr(c.args[0], "id", "") == name for c in calls if c.args)


def norm_asked(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
    norm = original.args[0].value if len(original.args) == 1 and not original.args[0].keyword else None
    if file.tested or not isinstance(norm, cst.Name) or not isinstance(original.func, cst.Attribute):
        return None
    if file.meaning.made_by(norm) not in _NORMS or _is_asked_for_its_type(norm.value, original, file):
        return None
    question = original.func.attr.value
    method = cst.Attribute(cst.Name(norm.value), cst.Name(question))
    call = cst.Call(method, lpar=updated.lpar, rpar=updated.rpar)
    values = (("new", f"{norm.value}.{question}()"), ("old", file.text(original)))
    return Hit(original.func, "numpy", new=call, safe=True, values=values)
