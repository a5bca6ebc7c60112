"""Finds an expression for the local rank, the rank of a process on its machine, that can be used at a place."""

from __future__ import annotations

import ast
import math
import re
from functools import cached_property
from typing import TYPE_CHECKING

from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File


_LOCAL_RANK = lazy(r"_?local_?rank", re.IGNORECASE)
_FROM_ENVIRONMENT = lazy(rb"environ(?:\.get\(|\[)\s*[\"']LOCAL_RANK[\"']")


class Ranks:
    def __init__(self, file: File) -> None:
        self.file = file

    @cached_property
    def _names(self) -> list[str]:
        return sorted(name for name in self.file.names.others if _LOCAL_RANK.fullmatch(name))

    @cached_property
    def _attributes(self) -> list[tuple[str, str]]:
        nodes = (link[0] for link in self.file.buckets[ast.Attribute] if _LOCAL_RANK.fullmatch(link[0].attr))
        return list(dict.fromkeys((n.value.id, n.attr) for n in nodes if n.value.__class__ is ast.Name))

    @cached_property
    def _in_environment(self) -> bool:
        return _FROM_ENVIRONMENT.search(self.file.source.utf8) is not None

    def local_rank(self, link: Link | None) -> str | None:
        """`local_rank`, `args.local_rank` or `int(os.environ["LOCAL_RANK"])`: the first that can be used at a place."""
        if link is None:
            return None
        for name in self._names:
            if _bound_before(self.file, name, link):
                return name
        for name, attribute in self._attributes:
            if _bound_before(self.file, name, link):
                return f"{name}.{attribute}"
        if self._in_environment and (os := self.module(link, "os")):
            return f'int({os}.environ["LOCAL_RANK"])'
        return None

    @cached_property
    def _modules(self) -> dict[str, list[tuple[str, list[Node]]]]:
        """By module: the names that always stand for it, and the functions around their imports."""
        names: dict[str, list[tuple[str, list[Node]]]] = {}
        for bound, imports in sorted(self.file.names.imports.items()):
            targets = {target for target, _ in imports}
            if bound not in self.file.names.others and len(targets) == 1:
                names.setdefault(targets.pop(), []).append((bound, [_around(link) for _, link in imports]))
        return names

    def module(self, link: Link | None, name: str) -> str | None:
        """The name of an imported module at a place; None where it has none, or where the name may mean something else."""
        around = _around(link)
        for bound, homes in self._modules.get(name, ()):
            if any(home is None or home is around for home in homes):
                return bound
        return None


def _bound_before(file: File, name: str, link: Link) -> bool:
    """Whether a name has its value at a place: by a parameter, by a scope outside, or by a line above."""
    bindings = file.names.bindings(name, link)
    always, lines = file.names.once("bound before", bindings, lambda: _firsts(bindings))
    around = _around(link)
    return always or any(other is not around for other in lines) or lines.get(around, link[0].lineno) < link[0].lineno


def _firsts(bindings: list[Link]) -> tuple[bool, dict[ast.AST | None, float]]:
    """Whether one of the bindings is a parameter; and the line of the first binding in each function."""
    lines: dict[ast.AST | None, float] = {}
    for link in bindings:
        around = _around(link)
        if not isinstance(around, ast.Lambda):
            lines[around] = min(getattr(link[0], "lineno", math.inf), lines.get(around, math.inf))
    always = any(link[0].__class__ is ast.arg and not isinstance(_around(link), ast.Lambda) for link in bindings)
    return always, lines


def _around(link: Link | None) -> Node:
    """The innermost function around a place; None at the top level."""
    return next((above[0] for above in ancestors(link) if isinstance(above[0], FUNCTIONS)), None)
