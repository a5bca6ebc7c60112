"""Lists of the values that something takes: `choices=["cuda", "cpu"]`, `Literal["nccl", "gloo"]`."""

from __future__ import annotations

from typing import Any

from porter.engine.nodes import quoted
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile


def elements(node: Any) -> list[Any]:
    """Of a list, a tuple, a set, or the brackets of a type."""
    return list(node.slice if isinstance(node, cst.Subscript) else node.elements)


def string(element: Any) -> Any:
    """The expression in an element."""
    inner = element.slice if isinstance(element, cst.SubscriptElement) else element
    return getattr(inner, "value", None)


def with_twin(updated: Any, index: int, value: str) -> Any:
    """The list with a new value behind the one at `index`, in its quotes."""
    several = elements(updated)
    old = several[index]
    new = quoted(string(old), value)
    inner: dict[str, cst.CSTNode] = {"slice": cst.Index(new)} if isinstance(updated, cst.Subscript) else {"value": new}
    added = old.with_changes(**inner)
    several[index] = old.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    several.insert(index + 1, added)
    return updated.with_changes(**{"slice" if isinstance(updated, cst.Subscript) else "elements": several})


def with_other(updated: Any, index: int, value: str) -> Any:
    """The list with a new value in the place of the one at `index`, in its quotes."""
    several = elements(updated)
    new = quoted(string(several[index]), value)
    inner: dict[str, cst.CSTNode] = {"slice": cst.Index(new)} if isinstance(updated, cst.Subscript) else {"value": new}
    several[index] = several[index].with_changes(**inner)
    return updated.with_changes(**{"slice" if isinstance(updated, cst.Subscript) else "elements": several})


def with_twin_key(updated: cst.Dict, index: int, key: cst.BaseExpression) -> cst.Dict:
    """The dict with another key for the value at `index`, behind it."""
    several = list(updated.elements)
    old = cst.ensure_type(several[index], cst.DictElement)
    several[index] = old.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    several.insert(index + 1, old.with_changes(key=key))
    return updated.with_changes(elements=several)


def is_choice(value: Any, old: str, kind: str, file: RuleFile) -> bool:
    if not isinstance(value, cst.SimpleString) or value.evaluated_value != old:
        return False
    literal = file.literal(value)
    return literal is not None and literal.kind == kind and literal.role == "choices"
