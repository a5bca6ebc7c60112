"""Says what the answer to a question opens: the branch that runs only where it is yes, or only where it is no."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors


def choice(asked: Link, yes: bool = True) -> tuple[Link, bool] | None:
    """The `if` that a question stands in, and whether its body, and not its `else`, runs only where the answer is `yes`. None
    where no branch hangs on this answer alone: `if asked or more: ...`."""
    child = asked[0]
    for up in ancestors(asked):
        above = up[0]
        if above.__class__ is ast.UnaryOp and isinstance(above.op, ast.Not):
            yes = not yes
        elif above.__class__ is ast.BoolOp:
            if isinstance(above.op, ast.And) is not yes:  # a part of it does not decide alone
                return None
        elif yes and above.__class__ is ast.GeneratorExp and child is above.elt:
            pass
        elif yes and child.__class__ is ast.GeneratorExp and call_name(getattr(above, "func", None)) in ("all", "any"):
            pass  # `all(x.is_cuda for x in inputs)`
        else:
            return (up, yes) if above.__class__ in (ast.If, ast.IfExp) and child is above.test else None
        child = above
    return None


def branch(node: Node, yes: bool) -> list[Node]:
    """The statements of one side of an `if`, or its value where the `if` is an expression."""
    side = node.body if yes else node.orelse
    return side if node.__class__ is ast.If else [side]
