"""Finds scopes: the one around a place, and the one that a binding belongs to. A scope is its link; the module is None."""

from __future__ import annotations

import ast
from collections import defaultdict

from porter.python.blocks import within
from porter.python.index import COMPREHENSIONS, FUNCTIONS, Link, Node


class Scopes:
    def __init__(self, buckets: dict[type, list[Link]]) -> None:
        self.functions: dict[str, list[Link]] = defaultdict(list)  # name -> its definitions, those of coroutines last
        for kind in (ast.FunctionDef, ast.AsyncFunctionDef):
            for link in buckets[kind]:
                self.functions[link[0].name].append(link)
        self._declared: dict[str, list[Link]] = defaultdict(list)  # name -> its `global` and `nonlocal` statements
        for word in (ast.Global, ast.Nonlocal):
            for link in buckets[word]:
                for name in link[0].names:
                    self._declared[name].append(link)
        self._around: dict[ast.AST, Link | None] = {}
        self._outer: dict[str, dict[ast.AST | None, type]] = {}

    def around(self, link: Link | None) -> ast.AST | None:
        """The node of the nearest scope around a place; None is the module."""
        scope = self.nearest(link)
        return scope and scope[0]

    def nearest(self, link: Link | None, below: Node = None) -> Link | None:
        """The nearest scope around a place; for the link of a function, class or comprehension itself, that one. `below`: the node
        that one comes from. Defaults, decorators and annotations of a function stand outside of its scope, decorators and bases of
        a class, and the first iterable of a comprehension."""
        path = [below, None, None]  # child, grandchild, great-grandchild on the way up
        ifs: list[ast.AST] = []  # `if` statements on the way, all in one scope; each `elif` stands in the `if` before
        scope = self._nearest(link, path, ifs)
        for node in ifs:
            self._around[node] = scope
        return scope

    def _nearest(self, link: Link | None, path: list[Node], ifs: list[ast.AST]) -> Link | None:
        while link is not None:
            node, (child, grand, great) = link[0], path
            if node.__class__ in FUNCTIONS:
                if not (
                    child is not None
                    and (
                        getattr(node, "decorator_list", None)
                        and within(node, child, "decorator_list")
                        or child is getattr(node, "returns", 0)
                        or child is node.args
                        and (
                            within(node.args, grand, "defaults", "kw_defaults")
                            or great is not None
                            and great is getattr(grand, "annotation", 0)
                        )
                    )
                ):
                    return link
            elif node.__class__ is ast.ClassDef:
                if child is None or within(node, child, "body"):
                    return link
            elif node.__class__ in COMPREHENSIONS:
                if not (child is node.generators[0] and grand is child.iter):
                    return link
            elif node.__class__ is ast.If:
                if node in self._around:
                    return self._around[node]
                ifs.append(node)
            path, link = [node, child, grand], link[1]
        return None

    def home(self, name: str, link: Link | None) -> Node:
        """The node of the scope that a binding belongs to; None is the module."""
        scope = self.nearest(link)
        if link is not None and link[1] is not None and link[1][0].__class__ is ast.NamedExpr:
            while scope is not None and scope[0].__class__ in COMPREHENSIONS:
                scope = self.nearest(scope[1], scope[0])
        if name in self._declared:
            kind = self._outer_of(name).get(scope and scope[0])
            if kind is not None:
                return None if kind is ast.Global or scope is None else self.home(name, self._outside(scope[1]))
        return scope and scope[0]

    def _outside(self, link: Link | None) -> Link | None:
        """What stands around the classes around a place: `nonlocal` in a method does not mean a name of the class."""
        while (scope := self.nearest(link)) is not None and scope[0].__class__ is ast.ClassDef:
            link = scope[1]
        return link

    def _outer_of(self, name: str) -> dict[ast.AST | None, type]:
        """The scopes that declare a name `global` or `nonlocal`, with the type of the first such statement."""
        if name not in self._outer:
            outer = self._outer[name] = {}
            for statement in self._declared[name]:
                scope = self.nearest(statement)
                outer.setdefault(scope and scope[0], statement[0].__class__)
        return self._outer[name]
