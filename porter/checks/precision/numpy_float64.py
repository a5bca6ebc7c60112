"""`torch.from_numpy(np.zeros(n)).to(device)`: numpy's numbers are float64 unless it is told otherwise. Where a
cast stands behind the move, the edit puts it in front, for review."""

from __future__ import annotations

import ast
from typing import Any

from porter.checks.precision import prefilters
from porter.checks.precision.late_casts import CASTING, TAKERS, cast_first, is_double, is_late, taker_of
from porter.checks.precision.written_places import moved
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import Link

NARROWING = frozenset({"float", "half", "bfloat16", "long", "int", "bool", "type", "astype"})


class NumpyFloat64(Rule):
    code = "PRT308"
    nodes = ("Call",)
    text = (
        r"from_numpy\s*\(\s*\w+\.",
        r"tensor\s*\(\s*(?:np|numpy)\.",
        r"from_numpy\s*\([\s\S]{0,300}?\.\s*(?:float|half|bfloat16|to|type)\s*\(",
    )
    only = staticmethod(prefilters.takes_array)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.name(original.func) not in TAKERS:
            return self._late(original, updated, file)
        if len(original.args) == 0:
            return None
        link = file.link(original.func)
        while link is not None and link[0].__class__ is not ast.Call:
            link = link[1]
        if link is None or not is_double(file.names, link[0], link) or self._narrowed(link):
            return None
        scene: Any = file.scene
        on_device = any(k.arg == "device" for k in link[0].keywords) or moved(scene.names, link)
        return Hit(original, "moved", values=(("old", file.text(original)),)) if on_device else None

    @staticmethod
    def _late(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        if not isinstance(original.func, cst.Attribute) or original.func.attr.value not in CASTING:
            return None
        link = file.scene.link_of(original, ast.Call)
        if link is None or not file.glance(is_late, link):
            return None
        taker = taker_of(original)
        kind = "".join(file.text(argument.value) for argument in original.args)
        values = (("old", file.text(taker)), ("cast", f".{original.func.attr.value}({kind})"))
        return Hit(taker, "late", new=cast_first(updated), values=values)

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
