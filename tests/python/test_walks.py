"""The walk that replaces `ast.walk`: the same nodes in the same order, but for operators and contexts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from porter.python import walks

PORTER = Path(walks.__file__).parent.parent
LEFT_OUT = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.type_ignore)
ODD = """
import a.b as c
from . import d
async def f(p, /, q: int = 1, *r, s, t=2, **u) -> None:
    global g
    async with x as y, z: pass
    async for i in j: await k
    return {**l, "m": [*n]}, f"{o!r:>{w}}", lambda: (yield)
match v:
    case {"k": [1, *rest], **others} | C(a, b=None) as whole if h: del m[1:2:3], n
try: pass
except E as e: raise F from e
"""


@pytest.mark.parametrize("path", [None, *sorted(PORTER.glob("python/*.py"))[:20]], ids=str)
def test_the_nodes_of_ast_walk_in_its_order(path: Path | None) -> None:
    tree = ast.parse(path.read_text("utf-8") if path else ODD, type_comments=True)
    expected = [node for node in ast.walk(tree) if not isinstance(node, LEFT_OUT)]
    assert list(walks.walk(tree)) == expected
    for node in expected:
        assert walks.children(node) == [n for n in ast.iter_child_nodes(node) if not isinstance(n, LEFT_OUT)]
