"""Lists of the values that something takes: `choices=["cuda", "cpu"]`, `Literal["nccl", "gloo"]`."""

from __future__ import annotations

from porter.engine.nodes import quoted
from porter.engine.rule import cst


def elements(node) -> list:
    """Of a list, a tuple, a set, or the brackets of a type."""
    return list(node.slice if isinstance(node, cst.Subscript) else node.elements)


def string(element):
    """The expression in an element."""
    inner = element.slice if isinstance(element, cst.SubscriptElement) else element
    return getattr(inner, "value", None)


def with_twin(updated, at: int, value: str):
    """The list with a new value behind the one at `at`, in its quotes."""
    several = elements(updated)
    old = several[at]
    new = quoted(string(old), value)
    added = old.with_changes(**({"slice": cst.Index(new)} if isinstance(updated, cst.Subscript) else {"value": new}))
    several[at] = old.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    several.insert(at + 1, added)
    return updated.with_changes(**{"slice" if isinstance(updated, cst.Subscript) else "elements": several})


def is_choice(value, old: str, kind: str, file) -> bool:
    if not isinstance(value, cst.SimpleString) or value.evaluated_value != old:
        return False
    literal = file.literal(value)
    return literal is not None and literal.kind == kind and literal.role == "choices"
