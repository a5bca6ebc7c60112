"""Describes what the parts of a scene (training/scene.py) ask of it, of each other, and of the file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Protocol

from porter.python.index import Link, Node

if TYPE_CHECKING:
    import libcst as cst

    from porter.engine.facts import Facts
    from porter.engine.rule_file import Glance
    from porter.python.names import Names
    from porter.python.receivers import Receivers
    from porter.python.source import Source


class File(Protocol):
    path: str
    tree: ast.Module
    buckets: dict[type, list[Link]]
    tested: bool
    facts: Facts
    answers: dict[str, dict[Any, Any]]

    @property
    def source(self) -> Source: ...
    @property
    def names(self) -> Names: ...
    @property
    def receivers(self) -> Receivers: ...
    @property
    def statement(self) -> ast.stmt: ...
    def span(self, node: cst.CSTNode) -> tuple[int, int]: ...
    def chain(self, node: cst.CSTNode) -> Link | None: ...
    def glance(self, look: Glance, link: Link) -> bool: ...


class _Callers(Protocol):
    def read_back(self, function: Link) -> frozenset[str]: ...
    def for_batches(self, link: Link) -> list[Node] | None: ...


class _Natures(Protocol):
    def of(self, node: Node, link: Link) -> str: ...
    def asked(self, function: Node) -> tuple[dict[str, set[str]], set[str]]: ...


class _Flows(Protocol):
    hosted: dict[Node, bool]


class AnyContext(Protocol):
    """The part of `Context` (training/context.py) that others ask."""

    file: File
    names: Names

    @property
    def steps(self) -> dict[Node, set[str]]: ...
    @property
    def classes(self) -> dict[str, ast.ClassDef]: ...
    @property
    def callers(self) -> _Callers: ...
    @property
    def natures(self) -> _Natures: ...
    def function(self, link: Link) -> Link | None: ...
    def function_name(self, link: Link) -> str: ...
    def owner(self, link: Link) -> ast.ClassDef | None: ...
    def matters(self, link: Link) -> str: ...
    def losses(self, link: Link) -> set[str]: ...


class AnyScene(AnyContext, Protocol):
    """The part of `Scene` (training/scene.py) that others ask."""

    @property
    def flows(self) -> _Flows: ...
    @property
    def first_sizes(self) -> dict[tuple[str, int], tuple[int, int]]: ...
