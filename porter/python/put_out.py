"""Whether a value is printed, or written into a text file or a log: nobody computes with it, and None is as good."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name, is_log
from porter.python.index import Link, Node
from porter.regex import lazy

_HOLDERS = frozenset({ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.BoolOp, ast.keyword})
_FORMAT, _NUMBER = lazy(r"\{[^{}]*[:.\[]"), lazy(r"%[^%s]{0,9}[a-rt-z]")


def is_put_out(value: Link) -> bool:
    """As it is, or within a text."""
    is_text, (node, above) = False, value
    while above is not None:
        holder: Node = above[0]
        kind = holder.__class__
        if kind is ast.Call:
            called = call_name(holder.func)
            if is_log(holder.func, called) and (called != "write" or is_text):
                return node is not holder.func
            if not (called in ("str", "repr") or called == "format" and _is_plain(getattr(holder.func, "value", None))):
                return False
            is_text = True
        elif kind is ast.FormattedValue and holder.format_spec is None:
            is_text = True
        elif kind is ast.BinOp and _is_filled(holder, node):
            is_text = True
        elif kind not in _HOLDERS and not (kind is ast.BinOp and holder.op.__class__ is ast.Add and is_text):
            return False
        node, above = above
    return False


def _is_plain(text: Node) -> bool:
    """Of `"... {}".format(...)`: None has no format of its own."""
    return isinstance(getattr(text, "value", None), str) and not _FORMAT.search(text.value)


def _is_filled(holder: Node, node: Node) -> bool:
    """`"%s" % node`."""
    text = getattr(holder.left, "value", None)
    return (
        holder.op.__class__ is ast.Mod and node is holder.right and isinstance(text, str) and not _NUMBER.search(text)
    )
