"""Small pieces of LibCST that several rules build."""

from __future__ import annotations

from porter.checks.rule import cst


def dotted(name: str):
    """`a.b.c` as an expression."""
    first, *rest = name.split(".")
    node = cst.Name(first)
    for part in rest:
        node = cst.Attribute(node, cst.Name(part))
    return node


def chain(node) -> list[str]:
    """The words of `a.b.c`; empty where it is no plain chain."""
    words = []
    while isinstance(node, cst.Attribute):
        words.append(node.attr.value)
        node = node.value
    return [*reversed([*words, node.value])] if isinstance(node, cst.Name) else []


def positional(call, position: int | None, keywords: tuple[str, ...] = ()):
    """(index, Arg) of an argument by place or name; (None, None) where it is absent; None where stars may hide it."""
    for at, arg in enumerate(call.args):
        if arg.keyword is not None and arg.keyword.value in keywords:
            return at, arg
    for at, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is None and at == position:
            return at, arg
    return None, None


def quoted(node, new: str):
    """A plain string with other text in the author's prefix and quotes."""
    mark = node.quote
    return node.with_changes(value=f"{node.prefix}{mark}{new}{mark}")
