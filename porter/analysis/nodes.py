"""Answers the questions of rules about nodes of LibCST in the original tree: where they are, and what their names mean."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

from porter.analysis.parsed import Parsed
from porter.python.file import File
from porter.python.index import Link
from porter.python.names import canonical
from porter.python.receivers import Receivers
from porter.python.strings.commands import commands
from porter.python.strings.environ import Variable, variables
from porter.python.strings.literals import Literal, literals
from porter.values import experts
from porter.values.patterns import Match, find

if TYPE_CHECKING:
    import libcst as cst

    from porter.python.units import Piece


class _File(File, Protocol):
    """The whole file (analysis/file.py). `Nodes` is a part of it."""

    @property
    def receivers(self) -> Receivers: ...


class Nodes(Parsed):
    _piece: Piece  # the piece that is walked now; it knows the spans of its nodes

    @property
    def _whole(self) -> _File:
        return cast("_File", self)

    def look_at(self, piece: Piece) -> None:
        self._piece = piece

    @property
    def statement(self) -> ast.stmt:
        """The statement whose piece is walked."""
        statement: ast.stmt = self._piece.unit.statement
        return statement

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node lies, in offsets of the UTF-8 text."""
        return self._piece.span(node)

    def text(self, node: cst.CSTNode) -> str:
        start, end = self._piece.span(node)
        return self.source.utf8[start:end].decode("utf-8")

    @cached_property
    def _names_at(self) -> dict[int, Link]:
        """Every use of a name, by its offset: leads from a node of LibCST to its link in the index."""
        starts = self.source.starts
        return {starts[(node := link[0]).lineno - 1] + node.col_offset: link for link in self.names.uses}

    def link(self, node: Any) -> Link | None:
        """The link of the name that a chain starts with: of `a` for `a.b.c`."""
        while type(node).__name__ == "Attribute":
            node = node.value
        if type(node).__name__ != "Name" or not self._piece.knows(node):
            return None
        return self._names_at.get(self._piece.span(node)[0])

    def chain(self, node: cst.CSTNode) -> Link | None:
        """The link of a whole chain `a.b.c`, where `link` gives that of `a`; for a string, the link of the string."""
        literal = self.literal(node)
        if literal is not None:
            return literal.link
        link = self.link(node)
        while link is not None and link[1] is not None and link[1][0].__class__ is ast.Attribute:
            if self.source.span(link[0])[1] == self.span(node)[1]:
                break
            link = link[1]
        return link

    def name(self, node: cst.CSTNode) -> str | None:
        """'torch.cuda.synchronize' for `tc.synchronize`; None when unknown, local, or behind a call."""
        tail: list[str] = []
        root: Any = node
        while type(root).__name__ == "Attribute":
            tail.append(root.attr.value)
            root = root.value
        if type(root).__name__ != "Name" or not self.names.known(root.value):
            return None
        link = self.link(root)
        base = link and self.names.root(root.value, link)
        return base and canonical(".".join((base, *reversed(tail))))

    def is_object(self, node: cst.CSTNode) -> bool:
        """Whether `node.method()` is the method of an object, and not a function of a known module."""
        name = self.name(node)
        return name is None or name.partition(".")[0] not in self.rules.roots

    @cached_property
    def literals(self) -> dict[int, Literal | Variable]:
        """Device and backend strings and names of environment variables, by offset."""
        return literals(self._whole) | variables(self._whole) | commands(self._whole)

    def literal(self, node: cst.CSTNode) -> Literal | Variable | None:
        start, end = self._piece.span(node)
        literal = self.literals.get(start)  # the first part of an implicit concatenation starts where the whole does
        return literal if literal and self.source.span(literal.link[0])[1] == end else None

    @cached_property
    def receivers(self) -> Receivers:
        return Receivers(self._whole)

    def receiver(self, node: Any) -> str:
        """What `x` is in `x.cuda` or `x.cuda()`: 'torch', 'other' (library), 'own' (class of the project) or 'unknown'."""
        node = node.func if type(node).__name__ == "Call" else node
        return self.receivers.judge(self._piece.span(node)[1])

    @cached_property
    def patterns(self) -> dict[tuple[int, int], list[Match]]:
        """Computations for which the target has an operator, by the span of the node that stands for each."""
        rules = {rule for several in self.rules.keys.patterns.values() for rule in several}
        return self.failures.guard(rules, 1, lambda: {**experts.find(self._whole), **find(self._whole)}) or {}

    def matches(self, node: cst.CSTNode, kinds: Iterable[str]) -> list[Match]:
        """The matches of these kinds at a node. The match with most parts comes first."""
        return [match for match in self.patterns.get(self._piece.span(node), ()) if match.kind in kinds]
