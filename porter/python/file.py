"""Describes a Python file for the modules of this room: all that a rule may ask, and what is computed for the whole file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from porter.engine.rule_file import RuleFile
from porter.engine.rule_file import Style as AnyStyle

if TYPE_CHECKING:
    import libcst as cst

    from porter.engine.facts import Facts
    from porter.engine.refusals import Failures
    from porter.engine.rule import Rule
    from porter.engine.session import RuleSet, Session
    from porter.python.index import Link
    from porter.python.names import Names
    from porter.python.source import Source


class Parsed(Protocol):
    """A file before LibCST parses anything. analysis/parsed.py has the class."""

    path: str
    tree: ast.Module
    buckets: dict[type, list[Link]]
    session: Session
    rules: RuleSet
    facts: Facts
    answers: dict[str, dict[Any, Any]]  # by question: see blocks.once_for_file
    failures: Failures

    @property
    def source(self) -> Source: ...
    @property
    def names(self) -> Names: ...


class File(Parsed, RuleFile, Protocol):
    """A file with all that a rule may ask. analysis/file.py has the class."""

    @property
    def style(self) -> Style: ...
    @property
    def suppressions(self) -> Suppressions: ...
    @property
    def receivers(self) -> Receivers: ...
    @property
    def awareness(self) -> Awareness: ...
    @property
    def by_node(self) -> dict[str, list[Rule]]: ...
    @property
    def literals(self) -> dict[int, Any]: ...  # strings/literals.py: Literal, and variables, by offset
    @property
    def patterns(self) -> dict[tuple[int, int], list[Any]]: ...  # values/patterns.py: Match
    def chain(self, node: cst.CSTNode) -> Link | None: ...  # the link of the whole chain; `link` gives its first word


class Suppressions(Protocol):
    @property
    def skip(self) -> object | None: ...
    def reason(self, code: str, first_line: int, last_line: int) -> str | None: ...


class Receivers(Protocol):
    def link(self, end: int) -> Link | None: ...
    def judge(self, end: int) -> str: ...  # torch | other | own | unknown
    def kind(self, link: Link) -> str: ...
    def members(self, owner: ast.ClassDef) -> dict[str, list[Any]]: ...


class Awareness(Protocol):
    def covers(self, offset: int) -> bool: ...
    def covers_link(self, link: Link) -> bool: ...


class Style(AnyStyle, Protocol):
    def fits(self, code: str, old: str, texts: Iterable[str]) -> bool: ...
