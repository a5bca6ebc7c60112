"""Estimates how likely a condition with a random number is: `random.random() < 0.01`, `torch.rand(1).item() > 0.95`.

It goes by words and form alone, as all judgements of conditions do (`frequency.py`).
"""

from __future__ import annotations

import ast

from porter.python.blocks import once
from porter.python.evidence import asks_for_main, call_name, constant
from porter.python.index import Node

_SELDOM = 0.1  # a condition with at most this probability is seldom
_DRAWS = frozenset({"random", "random_sample", "rand", "uniform"})  # between 0 and 1, called without arguments
_ONE_NUMBER = frozenset({"1", "(1,)", "[1]", "()", "[]"})  # arguments for the size of one number
_READERS = frozenset({"item", "float"})
_LESS, _MORE = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)  # comparisons with a drawn number
_IS, _NOT = ast.Eq, ast.NotEq
_ANY = (0.0, 1.0)  # nothing is known


def is_seldom(test: Node, holds: bool = True) -> bool:
    """Whether a condition is true (or, with `holds` False, false) in at most one of ten cases."""
    least, most = odds(test)
    return (most if holds else 1 - least) <= _SELDOM


def is_usual(test: Node, holds: bool = True) -> bool:
    """Whether a condition is true (or, with `holds` False, false) but for every n-th step: `step % 100 != 0`."""
    if test.__class__ is not ast.Compare or len(test.ops) != 1 or test.ops[0].__class__ is not (_NOT, _IS)[not holds]:
        return False
    left: Node = test.left
    is_remainder = left.__class__ is ast.BinOp and left.op.__class__ is ast.Mod
    every = constant(left.right) if is_remainder else None
    return is_remainder and not (type(every) is int and every < 1 / _SELDOM)


@once
def odds(test: Node) -> tuple[float, float]:
    """(least, most): the bounds of the probability that a condition is true."""
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        least, most = odds(test.operand)
        return 1 - most, 1 - least
    if test.__class__ is ast.BoolOp:
        terms = [odds(value) for value in test.values if not asks_for_main(value)]
        if test.op.__class__ is ast.And or not terms:
            return 0.0, min((most for _, most in terms), default=1.0)
        return max(least for least, _ in terms), min(1.0, sum(most for _, most in terms))
    return _compared(test) if test.__class__ is ast.Compare and len(test.ops) == 1 else _ANY


def _compared(test: ast.Compare) -> tuple[float, float]:
    left, op, right = test.left, test.ops[0].__class__, test.comparators[0]
    if op in (ast.Eq, ast.NotEq):
        most = 1 / _numbers(left) if constant(right) is not None else 1.0
        return (0.0, most) if op is ast.Eq else (1 - most, 1.0)
    chance, less = (_number(right), _LESS) if _is_draw(left) else (_number(left), _MORE)
    if chance is None or op not in (*_LESS, *_MORE) or less is _MORE and not _is_draw(right):
        return _ANY
    chance = min(1.0, max(0.0, chance))
    return (chance, chance) if op in less else (1 - chance, 1 - chance)


def _number(node: Node) -> float | None:
    value = constant(node)
    return float(value) if isinstance(value, (int, float)) else None


def _drawn(node: Node) -> Node:
    """The expression without the part that reads one number of it: `torch.rand(1).item()`, `np.random.rand(1)[0]`."""
    while node.__class__ is ast.Subscript or node.__class__ is ast.Call and call_name(node.func) in _READERS:
        inner = node.args[0] if node.__class__ is ast.Call and node.args else None
        node = inner or getattr(getattr(node, "func", node), "value", None)
    return node


def _is_draw(node: Node) -> bool:
    """Whether an expression draws a number between 0 and 1: `random.random()`, `torch.rand(1)`, `random.uniform(0, 1)`."""
    node = _drawn(node)
    if node.__class__ is not ast.Call or (name := call_name(node.func)) not in _DRAWS:
        return False
    if name == "uniform":
        return [constant(a) for a in node.args] in ([], [0, 1])
    return all(ast.unparse(a) in _ONE_NUMBER for a in node.args)


def _numbers(node: Node) -> int:
    """The least number of values from which `random.randrange(100)` or `random.randint(1, 100)` draws; 1 where not known."""
    node = _drawn(node)
    if node.__class__ is not ast.Call or (name := call_name(node.func)) not in ("randrange", "randint"):
        return 1
    ends: list[int] = [a.value for a in node.args[:2] if type(constant(a)) is int]
    if not ends or len(ends) < min(2, len(node.args)) or name == "randrange" and len(node.args) > 2:
        return 1
    low, high = (0, ends[0]) if len(ends) == 1 else ends
    return max(high - low, 1)
