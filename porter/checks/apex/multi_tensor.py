"""`amp_C` and `multi_tensor_applier`: apex's kernels over lists of tensors."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import Answer, Hit, Rule
from porter.engine.rule_file import Node, RuleFile
from porter.files.paths import is_test
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import ancestors

APPLIERS = frozenset({"apex.multi_tensor_apply.multi_tensor_applier", "apex.multi_tensor_apply.MultiTensorApply"})


class MultiTensor(Rule):
    code = "PRT354"
    edits = False
    calls = APPLIERS
    prefixes = ("amp_C",)

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        optional = file.imported.optional(getattr(original, "func", original))
        if file.facts.own.has_package("apex", file.path) and (optional or is_test(file.path)):
            return None  # apex itself: what it builds is told, and Python stands beside what is not built
        severity = "note" if optional else None
        name = file.name(getattr(original, "func", original)) or ""
        if name in APPLIERS:
            return Hit(original.func, "applier", values=(("name", name.rpartition(".")[2]),), severity=severity)
        if name == "amp_C" or file.around.is_within(original, "multi_tensor_applier"):
            return None  # the call around it has said so
        link = file.link(original)
        kept = (up[0] for up in ancestors(link) if up[0].__class__ is not ast.Attribute) if link is not None else ()
        above: Node = next(iter(kept), None)
        if above.__class__ is ast.Assign and call_name(above.targets[0]) in _applied(file):
            return None  # and so does the call that it is kept for
        why = "lamb" if "lamb" in name else "kernel"  # of which no function over lists is a part
        return Hit(original, why, values=(("name", name.rpartition(".")[2]),), severity=severity)


@once_for_file
def _applied(file: RuleFile) -> frozenset[str]:
    """The last words of what the file hands to an applier: `l2norm` of `multi_tensor_applier(self.l2norm, ...)`."""
    calls = (link[1][0] for link in file.meaning.mentions.of(APPLIERS) if link[1] is not None)
    given = (call.args[0] for call in calls if call.__class__ is ast.Call and call.args)
    return frozenset(map(call_name, given))
