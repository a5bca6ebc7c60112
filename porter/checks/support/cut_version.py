"""`float(torchvision.__version__[:3]) < 0.7`: a version that is compared as a number or a text, which 0.22 is not."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from porter.checks.support.fresh_environment import matters
from porter.checks.support.local_version import cut_off
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.text.installable import companion
from porter.versions import release

# by the name of a class of LibCST, which costs where no file has such a comparison
_COMPARED: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "LessThan": ("<", operator.lt),
    "LessThanEqual": ("<=", operator.le),
    "GreaterThan": (">", operator.gt),
    "GreaterThanEqual": (">=", operator.ge),
}
_CUT = lazy(r"\[[ ]*:[ ]*3[ ]*\]$")
_NUMBERS = lazy(r"\d{1,3}(?:\.\d{1,3}){1,2}")
_BUILTINS = ("tuple", "map", "int")
_SPLIT = '{version}.split(".")[:2]'


class CutVersion(Rule):
    code = "PRT721"
    nodes = ("Comparison", "Call")
    text = r"version__\b"

    def visit(self, original: cst.Comparison | cst.Call, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Call):
            return cut_off(original, updated, file) if matters(file) else None
        if len(original.comparisons) != 1 or not matters(file):
            return None
        [target] = original.comparisons
        asked, way = target.comparator, _COMPARED.get(type(target.operator).__name__)
        version, is_cut, is_number = _read(original.left, file)
        if way is None or version is None or not isinstance(asked, cst.Float if is_number else cst.SimpleString):
            return None
        written = asked.raw_value if isinstance(asked, cst.SimpleString) else getattr(asked, "value", "")
        name, full = file.name(version) or "", release(file.session.catalogue.torch, 3)
        if not _NUMBERS.fullmatch(written) or name not in ("torch.__version__", "torchvision.__version__"):
            return None
        if name == "torch.__version__" and not is_cut:
            return None  # torch's own compares as versions do
        if not (full := full if name == "torch.__version__" else companion("torchvision", full)):
            return None
        limit, compare = release(written), way[1]
        text = ".".join(map(str, full))[: 3 if is_cut else None]
        seen = compare(float(text), float(written)) if is_number else compare(text, written)
        if seen == compare(full[:2] if is_cut else full, limit):
            return None
        package = name.partition(".")[0]
        values = (("name", package), ("version", ".".join(map(str, full))), ("old", text), ("limit", written))
        numbers = limit[:2] if not any(limit[2:]) else ()
        # of a whole text, `0.5.1 <= "0.5"` is false, and that of two numbers is true
        if not numbers or not (is_cut or way[0] in ("<", ">=")) or any(map(file.names.bound, _BUILTINS)):
            return Hit(original.left, "told", values=values)
        left = cst.parse_expression(f"tuple(map(int, {_SPLIT.format(version=file.text(version))}))")
        right = cst.parse_expression(repr(numbers))
        new = updated.with_changes(left=left, comparisons=[updated.comparisons[0].with_changes(comparator=right)])
        return Hit(original.left, "found", new=new, safe=True, values=values)


def _read(node: cst.BaseExpression, file: RuleFile) -> tuple[cst.BaseExpression | None, bool, bool]:
    """The version, whether it is cut to three characters, and whether that is made a number."""
    is_number = isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "float"
    if isinstance(node, cst.Call):
        if not is_number or len(node.args) != 1 or node.args[0].keyword:
            return None, False, False
        node = node.args[0].value
    if isinstance(node, cst.Subscript):
        is_cut = _CUT.search(file.text(node)) is not None
        return (node.value if is_cut else None), True, is_number
    return (node if isinstance(node, (cst.Attribute, cst.Name)) and not is_number else None), False, is_number
