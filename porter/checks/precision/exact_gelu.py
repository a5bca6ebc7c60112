"""`F.gelu(x)`, `nn.GELU()`: the NPU computes the tanh form whatever `approximate` says. Said once for a project."""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import constant
from porter.python.index import Link
from porter.python.parameters import is_called

NAMES = frozenset({"torch.nn.GELU", "torch.nn.functional.gelu"})


class ExactGelu(Rule):
    code = "PRT311"
    edits = False
    references = NAMES

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if file.tested or file.facts.once.gelu not in ("", file.path):
            return None
        exact = [link for link in file.meaning.mentions.of(NAMES) if self._is_exact(link)]
        if not exact or file.source.span(exact[0][0])[0] != file.span(original)[0]:
            return None
        variable = file.session.has("torch_npu.npu.use_compatible_impl")  # its twin among the functions, as old as it
        return Hit(original, "once" if variable else "called", values=(("name", file.text(original)),))

    @staticmethod
    def _is_exact(link: Link) -> bool:
        call = link[1][0]
        if call.__class__ is ast.arguments:
            return is_called(link[1][1][0], link[0])
        if call.__class__ is not ast.Call or call.func is not link[0]:
            return False  # an entry of a table, a comparison: not where it is computed
        given = next((k.value for k in call.keywords if k.arg == "approximate"), None)
        return given is None or constant(given) == "none"
