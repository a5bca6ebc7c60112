"""`312e12`: the peak of a GPU, written down to compute how much of it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.checks.device.known_chips import names_npu
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import walk
from porter.regex import lazy

PEAKS = {  # operations per second, as the makers publish them
    312e12: "A100", 156e12: "A100", 19.5e12: "A100", 624e12: "A100",
    989e12: "H100", 989.4e12: "H100", 989.5e12: "H100", 990e12: "H100", 1979e12: "H100", 756e12: "H100", 835e12: "H100",
    125e12: "V100", 112e12: "V100", 130e12: "V100",
    65e12: "T4", 362e12: "L40S", 362.05e12: "L40S", 181.05e12: "L40", 165.2e12: "RTX 4090", 82.58e12: "RTX 4090",
    71e12: "RTX 3090", 142e12: "RTX 3090", 2250e12: "B200", 148e12: "H20",
}  # fmt: skip
_WORDS = lazy(r"(?i)flop|mfu|peak|utili[sz]ation|promised|[avh]100|throughput")


_RETURNED = lazy(rb"\breturn [0-9.]+e1[2-5]\b")
_LARGE = lazy(r"(?i)e1[2-5]|\*\*\s*1[2-5]")  # what every way of writing such a number holds


class PeakFlops(Rule):
    code = "PRT143"
    edits = False
    nodes = ("Assign", "Return", "Dict")
    text = (r"e1[2-5]\b", r"10\*\*12\b", r"10 \*\* 12\b")

    def visit(self, original: cst.Assign | cst.Return | cst.Dict, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Assign) and isinstance(original.value, cst.Dict):
            return None  # the Dict itself answers
        if file.tested or not _LARGE.search(text := file.text(original)):
            return None
        if not _WORDS.search(text) and not isinstance(original, cst.Return):
            return None
        for node in _numbers(original):
            if (value := value_of(node)) in PEAKS and not names_npu(file):
                old = cst.Module([]).code_for_node(node)
                return Hit(node, "peak", values=(("old", old), ("name", PEAKS[value])))
        return None


def returns_peak(file: RuleFile) -> bool:
    """Whether the function around the statement returns one: it is a table of them by the names of GPUs."""
    place = file.scene.link_to(file.statement)
    function = file.scene.function(place) if place is not None else None
    if function is None or file.tested or not file.source.says(_RETURNED, function[0]):
        return False
    returned = (n.value for n in walk(function[0]) if n.__class__ is ast.Return)
    return any(value.__class__ is ast.Constant and value.value in PEAKS for value in returned)


def _numbers(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(node, (cst.Float, cst.BinaryOperation)) and value_of(node) is not None:
        yield node
        return
    for child in node.children:
        yield from _numbers(child)


def value_of(node: cst.CSTNode) -> float | None:
    if isinstance(node, (cst.Float, cst.Integer)):
        return float(node.evaluated_value)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Multiply, cst.Power)):
        left, right = value_of(node.left), value_of(node.right)
        if left is None or right is None or isinstance(node.operator, cst.Power) and (left != 10 or right > 20):
            return None
        return left * right if isinstance(node.operator, cst.Multiply) else left**right
    return None
