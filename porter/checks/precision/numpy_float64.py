"""`torch.from_numpy(np.zeros(n)).to(device)`: numpy's numbers are float64 unless it is told otherwise."""

from __future__ import annotations

import ast

from porter.checks.precision.float64_tensor import moved
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import Link, Node

TAKERS = frozenset({"torch.from_numpy", "torch.tensor", "torch.as_tensor"})
MAKERS = frozenset(
    f"numpy.{name}"
    for name in """zeros ones empty linspace logspace eye identity random.rand random.randn random.random random.uniform
    random.normal random.standard_normal random.random_sample""".split()
)
NARROWING = frozenset({"float", "half", "bfloat16", "long", "int", "bool", "type", "astype"})


class NumpyFloat64(Rule):
    code = "PRT308"
    edits = False
    nodes = ("Call",)
    text = (r"from_numpy\s*\(\s*\w+\.", r"tensor\s*\(\s*(?:np|numpy)\.")

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func)
        if name not in TAKERS or len(original.args) == 0:
            return None
        link = file.link(original.func)
        while link is not None and link[0].__class__ is not ast.Call:
            link = link[1]
        if link is None or not self._is_double(link, file) or self._narrowed(link):
            return None
        on_device = any(k.arg == "device" for k in link[0].keywords)
        return Hit(original, "moved", values=(("old", file.text(original)),)) if on_device or moved(link) else None

    @staticmethod
    def _is_double(link: Link, file: RuleFile) -> bool:
        call = link[0]
        source: Node = call.args[0] if call.args else None
        if source.__class__ is not ast.Call or any(k.arg == "dtype" for k in [*call.keywords, *source.keywords]):
            return False
        return (file.names.resolve(source.func, (source, link)) or "") in MAKERS

    @staticmethod
    def _narrowed(link: Link) -> bool:
        """Another type is named further behind in the chain."""
        while link[1] is not None and link[1][0].__class__ in (ast.Call, ast.Attribute):
            link = link[1]
            call = link[0]
            if call.__class__ is ast.Call:
                words = [getattr(a, "attr", "") for a in call.args]
                named = any(k.arg == "dtype" for k in call.keywords) or any(
                    w.startswith(("float", "half", "bf")) for w in words
                )
                if call_name(call.func) in NARROWING or named:
                    return True
        return False
