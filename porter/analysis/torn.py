"""One condition is one decision: `d == "cuda" and not torch.cuda.is_available()`.

Where the name of a device stays, what stands beside it in the condition is not edited without it. Half of it would ask for
an NPU and mean a GPU, and the next look would take it for code that knows both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.finding import SHARED


def torn(source, piece, found: list) -> set[tuple[object, tuple[int, int]]]:
    """(rule, place) of the edits that were applied in a condition of which a device stays as it is."""
    left = [f for f in found if not f.applied and (f.hit.code or f.rule.code) in SHARED]
    made = {(f.rule, piece.span(f.hit.at)) for f in found if f.applied and not f.hit.optional} if left else ()
    if not made:
        return set()
    stays = [piece.span(f.hit.at)[0] for f in left]
    spans = [source.span(node) for node in _conditions(piece.unit.statement)]
    halves = [(start, end) for start, end in spans if any(start <= at < end for at in stays)]
    return {(rule, at) for rule, at in made if any(start <= at[0] < end for start, end in halves)}


def _conditions(statement: ast.stmt) -> Iterator[ast.expr]:
    """`a and b`, `a or b`, `a if b else c` in a statement; of a compound one, in its header."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if node.__class__ in (ast.BoolOp, ast.IfExp):
            yield node
        todo += [below for below in ast.iter_child_nodes(node) if not isinstance(below, (ast.stmt, ast.ExceptHandler))]
