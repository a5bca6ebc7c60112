"""Finds questions for CUDA that go with one that chooses a CUDA kernel: the same question, or its contrary, in the same function.

`if not x.is_cuda: out = zeros(...)` in front of `if x.is_cuda: out = kernel(x)`: an NPU answers the second with no for as long as the
kernel is one of CUDA. With another answer to the first, nothing would make `out`. They go together where one hands a name to the other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from porter.python.blocks import below, once_for_file
from porter.python.evidence import constant, is_log_call
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.opened import branch, choice

if TYPE_CHECKING:
    from porter.python.file import File

Kernel = Callable[["File", list[Node], Link], str | None]  # the kernel that some parts of the tree call
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_Place = tuple[int, int]  # a line and a column
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
    for own, twins in _twins(file, kernel).get(link[0], ()):
        found = choice(own.asked, own.yes)
        if found is not None and (name := twins.kernel_with(found)):
            return name
    return None


class _Twins:
    """What the questions of one function about one thing, which choose a kernel, need and make: by name, the place of the last that
    uses it and of the first that binds it for CUDA alone, with its kernel."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[_Place, str]] = {}
        self._made: dict[str, tuple[_Place, str]] = {}
        self._follows = True  # no NPU comes to what stands behind the first that leaves

    def add(self, file: File, question: Question, kernel: Kernel) -> None:
        chosen = choice(question.asked, question.yes)
        if chosen is None or not _is_alone(question.asked, chosen[0]):
            return
        parts = branch(*_plain(chosen))
        if self._follows and (following := _following(*chosen)):
            parts, self._follows = following, False
        if name := kernel(file, parts, chosen[0]) if parts else None:
            yes, no = _sides(*chosen, parts)
            at = _place(chosen[0])
            self._used |= dict.fromkeys(yes.names | no.names, (at, name))
            self._made = dict.fromkeys(yes.bound - no.bound, (at, name)) | self._made

    def kernel_with(self, found: tuple[Link, bool]) -> str | None:
        """The kernel of a twin to which the branches of a question hand a name, or which hands one to them: different answers would
        not fit."""
        if not self._used:
            return None
        at, (yes, no) = _place(found[0]), _sides(*found, branch(*_plain(found)))
        after = (self._used[name] for name in sorted((yes.bound | no.bound) - {_LEFT}) if name in self._used)
        before = (self._made[name] for name in sorted(yes.names - {_LEFT} | no.bound) if name in self._made)
        return next(
            (name for place, name in after if place > at), next((name for place, name in before if place < at), None)
        )


@once_for_file
def _twins(file: File, kernel: Kernel) -> dict[Node, list[tuple[Question, _Twins]]]:
    """The questions of a file that have twins, by what a question starts from and by its condition."""
    groups: dict[tuple[Node, str], list[Question]] = {}
    for question in questions(file) if file.source.says(b"cuda") else ():
        function = next((up[0] for up in ancestors(question.link) if isinstance(up[0], FUNCTIONS)), None)
        groups.setdefault((function, question.subject), []).append(question)
    found: dict[Node, list[tuple[Question, _Twins]]] = {}
    for group in groups.values():
        twins = _Twins()
        for own in sorted(group, key=lambda question: _place(question.asked)) if len(group) > 1 else ():
            twins.add(file, own, kernel)
            for node in {own.link[0], own.asked[0]}:
                found.setdefault(node, []).append((own, twins))
    return found


def _place(link: Link) -> _Place:
    return link[0].lineno, link[0].col_offset


def _is_alone(asked: Link, chosen: Link) -> bool:
    """Whether an `if` asks nothing else."""
    node = chosen[0].test
    while node.__class__ is ast.UnaryOp:
        node = node.operand
    return node is asked[0]


def _plain(chosen: tuple[Link, bool]) -> tuple[Node, bool]:
    return chosen[0][0], chosen[1]


def _following(link: Link, yes: bool) -> list[Node]:
    """What runs only where a condition has a value, as the `if` leaves otherwise."""
    node = link[0]
    return [] if branch(node, yes) or node.body[-1].__class__ not in _LEAVES else below(link)


def _sides(link: Link, yes: bool, parts: list[Node]) -> tuple[_Side, _Side]:
    """What runs only where a condition has a value, `parts`, and the branch for the other value."""
    targets: set[str] = set()
    if link[0].__class__ is ast.IfExp:
        statement = next(up[0] for up in ancestors(link) if isinstance(up[0], ast.stmt))
        given = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        targets = _names(filter(None, given))[1]
    several = map(_names, (parts, branch(link[0], not yes)))
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
