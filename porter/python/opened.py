"""Says what the answer to a question opens: the branch that runs only where it is yes, or only where it is no."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.python.blocks import below
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk
from porter.python.refusing import NO, YES

_SKIPS = frozenset({"skip", "skipTest", "SkipTest"})


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


def compared(link: Link) -> tuple[Link, bool] | None:
    """The comparison that a device stands in, and the answer that it has for that device."""
    up = link[1]
    if up is not None and up[0].__class__ is ast.Call and link[0] is not up[0].func:
        if getattr(up[0].func, "attr", "") == "startswith":
            return up, True
        up = up[1]  # `device == torch.device("cuda")`
    if up is None or up[0].__class__ is not ast.Compare or len(up[0].ops) != 1:
        return None
    kind = up[0].ops[0]
    return (up, isinstance(kind, YES)) if isinstance(kind, (*YES, *NO)) else None


def branch(node: Node, yes: bool) -> list[Node]:
    """The statements of one side of an `if`, or its value where the `if` is an expression."""
    side = node.body if yes else node.orelse
    return side if node.__class__ is ast.If else [side]


def inside(opened: Link, yes: bool) -> Iterator[Node]:
    """What one side of an `if` holds; of a test that is skipped on the other side, the rest of it as well."""
    parts = branch(opened[0], yes)
    if not yes and opened[0].__class__ is ast.If and _skips(opened[0].body[-1]):
        parts = parts + below(opened)
    return (inner for part in parts for inner in walk(part))


def _skips(statement: Node) -> bool:
    """`pytest.skip("needs a GPU")`, `self.skipTest(...)`, `raise unittest.SkipTest`."""
    raised = getattr(statement, "exc" if statement.__class__ is ast.Raise else "value", None)
    return call_name(getattr(raised, "func", raised)) in _SKIPS
