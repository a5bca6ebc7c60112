"""Finds edits that would change only half of a condition, such as `d == "cuda" and not torch.cuda.is_available()`.

If the name of a device in a condition stays, the rest of the condition is not edited either. Otherwise one half would mean
an NPU and the other a GPU, and the next run would take the condition for code that supports both. It is the same with a
question for a GPU that stays because of what stands beside it, and with one that opens what waits for review:
`net.cuda(rank) if torch.cuda.is_available() else net`.
"""

from __future__ import annotations

import ast
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from porter.finding import SHARED
from porter.python.index import Node
from porter.python.walks import children

if TYPE_CHECKING:
    from porter.engine.rule import Rule
    from porter.python.outcomes import Outcome
    from porter.python.source import Source
    from porter.python.units import Piece

# a question for a GPU that stays: (code, reason)
_BESIDE = frozenset({("PRT101", "capability"), ("PRT101", "version")})


def torn(source: Source, piece: Piece, outcomes: Sequence[Outcome]) -> set[tuple[Rule, tuple[int, int]]]:
    """(rule, place) of the edits that were applied in a condition in which the name of a device stays as it is."""
    left = [(f.hit.code or f.rule.code, f) for f in outcomes if not f.applied]
    stays = sorted(piece.span(f.hit.at)[0] for code, f in left if code in SHARED)
    beside = [piece.span(f.hit.at)[0] for code, f in left if (code, f.hit.why) in _BESIDE]
    edits = (f for code, f in left if code.startswith("PRT1") and f.edits and not f.hit.optional)
    waiting = sorted(piece.span(f.hit.at)[0] for f in edits)
    some = bool(stays or beside or waiting)
    made = {(f.rule, piece.span(f.hit.at)) for f in outcomes if f.applied and not f.hit.optional} if some else ()
    if not made:
        return set()
    nodes = [*_conditions(piece.unit.statement)]
    conditions = sorted(map(source.span, nodes), key=_outer_first)
    left_in = [(start, end) for start, end in conditions if bisect_left(stays, start) < bisect_left(stays, end)]
    halves: list[tuple[int, int]] = []  # the outermost of these, in order
    opening = [
        source.span(node.test) for node in nodes if node.__class__ is ast.IfExp and _opens(node, waiting, source)
    ]
    for start, end in sorted([*left_in, *opening, *_innermost(conditions, sorted(beside))], key=_outer_first):
        if not (halves and start < halves[-1][1]):
            halves.append((start, end))
    return {
        edit for edit in made if (index := bisect_left(halves, (edit[1][0] + 1,))) and edit[1][0] < halves[index - 1][1]
    }


def _opens(node: ast.IfExp, waiting: Sequence[int], source: Source) -> bool:
    """Whether a device waits for review in a branch of `a if asked else b`: the question waits with it."""
    spans = map(source.span, (node.body, node.orelse))
    return any(bisect_left(waiting, start) < bisect_left(waiting, end) for start, end in spans)


def _outer_first(span: tuple[int, int]) -> tuple[int, int]:
    return span[0], -span[1]


def _innermost(conditions: list[tuple[int, int]], places: list[int]) -> Iterator[tuple[int, int]]:
    """The innermost condition around each place. They lie in each other, or apart."""
    around: list[tuple[int, int]] = []
    following = iter((*conditions, (sys.maxsize, sys.maxsize)))
    begins = next(following)
    for place in places:
        while begins[0] <= place:
            while around and around[-1][1] <= begins[0]:
                around.pop()
            around.append(begins)
            begins = next(following)
        while around and around[-1][1] <= place:
            around.pop()
        if around:
            yield around[-1]


def _conditions(statement: ast.stmt) -> Iterator[Node]:
    """`a and b`, `a or b`, `a if b else c` in a statement; of a compound statement, in its header."""
    todo: list[Node] = [statement]
    while todo:
        node = todo.pop()
        if node.__class__ in (ast.BoolOp, ast.IfExp):
            yield node
        todo += [below for below in children(node) if not isinstance(below, (ast.stmt, ast.ExceptHandler))]
