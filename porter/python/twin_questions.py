"""Finds questions for CUDA that go with one that chooses a CUDA kernel: the same question, or its contrary, in the same function.

`if not x.is_cuda: out = zeros(...)` in front of `if x.is_cuda: out = kernel(x)`: an NPU answers the second with no for as long as the
kernel is one of CUDA. With another answer to the first, nothing would make `out`. They go together where one hands a name to the other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from porter.python.blocks import BODIES, once_for_file, place
from porter.python.evidence import constant, is_log_call
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.opened import branch, choice

if TYPE_CHECKING:
    from porter.python.file import File

Kernel = Callable[["File", list[Node], Link], str | None]  # the kernel that some parts of the tree call
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_LEFT = "return"  # stands among the names that a branch binds, where it leaves


class Question(NamedTuple):
    link: Link  # `x.is_cuda`, or the "cuda" that something is compared with
    asked: Link  # the condition that it is: the same, or the comparison
    yes: bool  # the answer of the condition on a GPU
    subject: str  # what is asked: "x.device.type"


class _Side(NamedTuple):
    names: frozenset[str]  # that it uses or binds
    bound: frozenset[str]


def questions(file: File) -> Iterator[Question]:
    for link in file.buckets.get(ast.Attribute, ()):
        if link[0].attr == "is_cuda":
            yield Question(link, link, True, f"{ast.unparse(link[0].value)}.device.type")
    for link in file.buckets.get(ast.Compare, ()):
        node = link[0]
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if constant(side) == "cuda":
                yield Question((side, link), link, isinstance(node.ops[0], ast.Eq), ast.unparse(other))


def kernel_of_twin(file: File, link: Link, kernel: Kernel) -> str | None:
    """The CUDA kernel that a twin of a question chooses."""
    for own, others in _twins(file).get(link[0], ()):
        found = choice(own.asked, own.yes)
        if found is None:
            continue
        for other in others:
            chosen = choice(other.asked, other.yes)
            if chosen is None or not _is_alone(other.asked, chosen[0]) or chosen[0][0] is found[0][0]:
                continue
            if _hands_on(found, chosen) and (name := kernel(file, _parts(*chosen), chosen[0])):
                return name
    return None


@once_for_file
def _twins(file: File) -> dict[Node, list[tuple[Question, list[Question]]]]:
    """The questions of a file that have twins, by what a question starts from and by its condition."""
    groups: dict[tuple[Node, str], list[Question]] = {}
    for question in questions(file) if file.source.says(b"cuda") else ():
        function = next((up[0] for up in ancestors(question.link) if isinstance(up[0], FUNCTIONS)), None)
        groups.setdefault((function, question.subject), []).append(question)
    twins: dict[Node, list[tuple[Question, list[Question]]]] = {}
    for group in groups.values():
        for own in group if len(group) > 1 else ():
            entry = own, [other for other in group if other is not own]
            for node in {own.link[0], own.asked[0]}:
                twins.setdefault(node, []).append(entry)
    return twins


def _is_alone(asked: Link, chosen: Link) -> bool:
    """Whether an `if` asks nothing else."""
    node = chosen[0].test
    while node.__class__ is ast.UnaryOp:
        node = node.operand
    return node is asked[0]


def _hands_on(own: tuple[Link, bool], other: tuple[Link, bool]) -> bool:
    """Whether a name goes from the branches of the one question to those of the other, so that different answers would not fit."""
    (yes, no), (other_yes, other_no) = _sides(*own), _sides(*other)
    if own[0][0].lineno < other[0][0].lineno:
        return not ((yes.bound | no.bound) - {_LEFT}).isdisjoint(other_yes.names | other_no.names)
    return not (yes.names - {_LEFT} | no.bound).isdisjoint(other_yes.bound - other_no.bound)


def _parts(link: Link, yes: bool) -> list[Node]:
    """What runs only where a condition has a value: also what follows an `if` that leaves otherwise."""
    node, parts = link[0], branch(link[0], yes)
    if parts or node.body[-1].__class__ not in _LEAVES or link[1] is None:
        return parts
    field, index = place(link[1][0], node)
    return getattr(link[1][0], field)[index + 1 :] if field in BODIES else []


def _sides(link: Link, yes: bool) -> tuple[_Side, _Side]:
    """What runs only where a condition has a value, and the branch for the other value."""
    targets: set[str] = set()
    if link[0].__class__ is ast.IfExp:
        statement = next(up[0] for up in ancestors(link) if isinstance(up[0], ast.stmt))
        given = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        targets = _names(filter(None, given))[1]
    several = map(_names, (_parts(link, yes), branch(link[0], not yes)))
    one, other = (_Side(frozenset(names), frozenset(bound | targets)) for names, bound in several)
    return one, other


def _names(parts: Iterable[Node]) -> tuple[set[str], set[str]]:
    """The names and the attributes of names that some parts use or bind, and those that they bind or change."""
    names: set[str] = set()
    bound: set[str] = set()
    for node in (node for part in parts for node in walk(part)):
        word = _word(node)
        if word:
            names.add(word)
            if isinstance(node.ctx, ast.Store):
                bound.add(word)
        elif node.__class__ is ast.Subscript and isinstance(node.ctx, ast.Store):
            bound.add(_word(node.value))
        elif node.__class__ is ast.Expr and node.value.__class__ is ast.Call and not is_log_call(node.value):
            bound.add(_word(getattr(node.value.func, "value", None)))  # `model.half()`
        elif node.__class__ in _LEAVES:
            bound.add(_LEFT)
    return names | bound, bound - {"", "torch"}


def _word(node: Node) -> str:
    """`x`, `self.x`; of a chain that is longer, each of its parts counts by itself."""
    if node.__class__ is ast.Name:
        return "" if node.id in ("self", "cls") else str(node.id)
    is_plain = node.__class__ is ast.Attribute and node.value.__class__ is ast.Name
    return f"{node.value.id}.{node.attr}" if is_plain else ""
