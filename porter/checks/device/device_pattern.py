"""`re.fullmatch("cuda:[0-9]+", str(device))`: a pattern that the name of no NPU fits."""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Node, RuleFile
from porter.python.evidence import device_like
from porter.regex import lazy

_NAME = lazy(r"[rR]?(?:'|\")\^?\(?(cuda)(?=[:($\[\\?)'\"])")  # the name begins the pattern, and no longer word does


class DevicePattern(Rule):
    code = "PRT122"
    calls = frozenset(f"re.{name}" for name in ("match", "fullmatch", "search"))

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        pattern = original.args[0].value if len(original.args) > 1 else None
        link = file.scene.link(original)
        call: Node = link[1][0] if link is not None and link[1] is not None else None
        if not isinstance(pattern, cst.SimpleString) or not (name := _NAME.match(pattern.value)):
            return None
        if call.__class__ is not ast.Call or len(call.args) < 2 or not device_like(call.args[1]):
            return None
        values = (("old", pattern.value), ("new", file.target.device))
        if not file.style.one_world:
            return Hit(pattern, "pattern", values=values)
        first, last = name.span(1)
        text = pattern.value[:first] + file.target.device + pattern.value[last:]
        new = updated.with_changes(args=[updated.args[0].with_changes(value=cst.SimpleString(text)), *updated.args[1:]])
        return Hit(pattern, "pattern", new=new, safe=True, values=values)
