"""What signs ask of the tree of a file: the nodes above one, the function it stands in, what is called."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

Node: TypeAlias = Any  # a node of ast: which kind is asked by its class
Link: TypeAlias = tuple[Node, Any]  # a node, and the link of its parent; the module's parent is None
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class _Source(Protocol):
    @property
    def utf8(self) -> bytes: ...


class File(Protocol):
    @property
    def source(self) -> _Source: ...
    @property
    def buckets(self) -> Mapping[type, Iterable[Link]]: ...


def call_name(func: Node) -> str:
    name: str = func.attr if func.__class__ is ast.Attribute else getattr(func, "id", "")
    return name


def ancestors(link: Link) -> Iterator[Link]:
    while (above := link[1]) is not None:
        yield above
        link = above


def function_of(link: Link) -> Node:
    return next((above[0] for above in ancestors(link) if above[0].__class__ in FUNCTIONS), None)


def within_function(link: Link) -> Iterator[Link]:
    for above in ancestors(link):
        if above[0].__class__ in FUNCTIONS:
            return
        yield above


def walk(node: Node) -> Iterator[Node]:
    return iter(ast.walk(node))
