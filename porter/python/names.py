"""What a name refers to. A table first; scopes only for a root that is bound in more than one way."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TypeVar

from porter.python.blocks import within
from porter.python.index import COMPREHENSIONS, FUNCTIONS, Link

_OTHER = "<other>"
_Answer = TypeVar("_Answer")


class Names:
    def __init__(self, buckets: dict[type, list[Link]], uses: list[Link]):
        self.imports: dict[str, list[tuple[str, Link]]] = defaultdict(
            list
        )  # name -> (what it is, its import statement)
        self.others: dict[str, list[Link]] = defaultdict(list)  # name -> links of whatever else binds it
        self.uses = uses
        self._scopes: dict[str, dict] = {}
        for link in buckets[ast.Import]:
            for a in link[0].names:
                first = a.name.partition(".")[0]
                self.imports[a.asname or first].append((a.name if a.asname else first, link))
        for link in buckets[ast.ImportFrom]:
            node = link[0]
            base = "." * node.level + (node.module + "." if node.module else "")
            for a in node.names:
                self.imports[a.asname or a.name].append((base + a.name, link))
        self.functions: dict[str, list[Link]] = defaultdict(list)  # name -> its definitions, those of coroutines last
        for link in buckets[ast.arg]:
            self.others[link[0].arg].append(link)
        for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            for link in buckets[kind]:
                self.others[link[0].name].append(link[1])  # bound outside itself
                if kind is not ast.ClassDef:
                    self.functions[link[0].name].append(link)
        for kind, field in (
            (ast.ExceptHandler, "name"),
            (ast.MatchAs, "name"),
            (ast.MatchStar, "name"),
            (ast.MatchMapping, "rest"),
        ):
            for link in buckets[kind]:
                if value := getattr(link[0], field):
                    self.others[value].append(link)
        for link in uses:
            if link[0].ctx.__class__ is not ast.Load:
                self.others[link[0].id].append(link)
        self._declared: dict[str, list[Link]] = defaultdict(list)  # name -> its `global` and `nonlocal` statements
        for kind in (ast.Global, ast.Nonlocal):
            for link in buckets[kind]:
                for name in link[0].names:
                    self._declared[name].append(link)
        self._around: dict[ast.AST, Link | None] = {}
        self._outer: dict[str, dict[ast.AST | None, type]] = {}
        self._homes: dict[str, dict] = {}
        self._readers: dict[str, dict] = {}
        self._said: dict[tuple[int, Hashable], tuple[list[Link], object]] = {}

    @cached_property
    def torch(self) -> str | None:
        """What the file calls torch."""
        return next((name for name, full in sorted(self.plain.items()) if full == "torch"), None)

    def bound(self, name: str) -> bool:
        return name in self.imports or name in self.others

    @cached_property
    def aliases(self) -> dict[str, str]:
        """`cuda = torch.cuda`, where nothing else binds that name in the file."""
        found: dict[str, str] = {}
        for name, links in self.others.items():
            if len(links) == 1 and name not in self.imports and links[0][0].__class__ is ast.Name:
                parent = links[0][1][0]
                if parent.__class__ is ast.Assign and len(parent.targets) == 1 and parent.targets[0] is links[0][0]:
                    value = parent.value
                    if value.__class__ is ast.Attribute and (full := self.resolve(value, links[0][1])):
                        found[name] = full
        return found

    @cached_property
    def plain(self) -> dict[str, str]:
        """Names that mean one thing wherever they stand: bound by imports alone, all of the same."""
        others = self.others
        return {
            name: bound[0][0]
            for name, bound in self.imports.items()
            if name not in others and (len(bound) == 1 or len({target for target, _ in bound}) == 1)
        }

    def known(self, name: str) -> bool:
        """Whether a chain that starts with this name can resolve at all."""
        return name in self.imports or name in self.aliases

    def resolve(self, node: ast.AST, link: Link) -> str | None:
        """'torch.cuda.synchronize' for `tc.synchronize`; None when unknown, local, or behind a call. `link` is the
        link of `node` itself or of any parent inside the same expression."""
        tail, top = [], node
        while node.__class__ is ast.Attribute:
            tail.append(node.attr)
            node = node.value
        if node.__class__ is not ast.Name:
            return None
        base = self.root(node.id, link, top if link[0] is not top else None)
        return base and ".".join((base, *reversed(tail)))

    def root(self, name: str, link: Link, below: ast.AST | None = None) -> str | None:
        """What a bare name refers to, seen from `link`."""
        if name not in self.imports:
            return self.__dict__.get("aliases", {}).get(name)
        return self.plain.get(name) or self._by_scope(name, link, below)

    # Only for ambiguous roots from here on. A scope is its link; the module is None.

    def _by_scope(self, name: str, link: Link, below) -> str | None:
        if name not in self._scopes:
            table = self._scopes[name] = defaultdict(set)
            for target, at in self.imports[name]:
                table[self.home(name, at)].add(target)
            for at in self.others.get(name, ()):
                table[self.home(name, at)].add(_OTHER)
        table, scope, first = self._scopes[name], self.scope(link, below), True
        while True:
            node = scope and scope[0]
            if node in table and (first or node.__class__ is not ast.ClassDef):
                found = table[node] - {_OTHER}
                return found.pop() if len(found) == 1 else None  # two answers are no answer, never "the first"
            if scope is None:
                return None
            scope, first = self.scope(scope[1], node), False

    def around(self, link: Link | None) -> ast.AST | None:
        """The node of the nearest scope around; None is the module."""
        scope = self.scope(link)
        return scope and scope[0]

    def scope(self, link: Link | None, below=None) -> Link | None:
        """Nearest scope around; defaults, decorators, annotations and a first iterable live outside theirs."""
        path = [below, None, None]  # child, grandchild, great-grandchild on the way up
        ifs: list[ast.AST] = []  # all in one scope: each `elif` stands in the one before it
        found = self._scope(link, path, ifs)
        for node in ifs:
            self._around[node] = found
        return found

    def _scope(self, link: Link | None, path: list[ast.AST | None], ifs: list[ast.AST]) -> Link | None:
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

    def home(self, name: str, link: Link | None):
        """The node of the scope that a binding belongs to; None is the module."""
        scope = self.scope(link)
        if link is not None and link[1] is not None and link[1][0].__class__ is ast.NamedExpr:
            while scope is not None and scope[0].__class__ in COMPREHENSIONS:
                scope = self.scope(scope[1], scope[0])
        if name in self._declared:
            kind = self._outer_of(name).get(scope and scope[0])
            if kind is not None:
                return None if kind is ast.Global or scope is None else self.home(name, scope[1])
        return scope and scope[0]

    def _outer_of(self, name: str) -> dict[ast.AST | None, type]:
        """The scopes that say of a name that it is none of theirs, and how; of two words, the first holds."""
        if name not in self._outer:
            outer = self._outer[name] = {}
            for at in self._declared[name]:
                scope = self.scope(at)
                outer.setdefault(scope and scope[0], at[0].__class__)
        return self._outer[name]

    def bindings(self, name: str, link: Link) -> list[Link]:
        """The links of what binds `name` as it is seen from `link`: in the nearest scope that binds it."""
        if name not in self.others:
            return []
        if name not in self._homes:
            homes = self._homes[name] = defaultdict(list)
            for at in self.others[name]:
                homes[self.home(name, at)].append(at)
        homes, scope, first = self._homes[name], self.scope(link), True
        while True:
            node = scope and scope[0]
            if node in homes and (first or node.__class__ is not ast.ClassDef):
                return homes[node]
            if scope is None:
                return []
            scope, first = self.scope(scope[1], node), False

    @cached_property
    def _spelled(self) -> dict[str, list[Link]]:
        found: dict[str, list[Link]] = defaultdict(list)
        for link in self.uses:
            found[link[0].id].append(link)
        return found

    def spelled(self, name: str) -> list[Link]:
        """Wherever the name stands, whatever it means there."""
        return self._spelled.get(name, [])

    def loads(self, name: str) -> list[Link]:
        """Wherever the name is read, whatever it means there."""
        return [link for link in self.spelled(name) if link[0].ctx.__class__ is ast.Load]

    def readers(self, name: str, link: Link) -> list[Link]:
        """Where the binding that stands at `link` may be read: the uses that see its scope."""
        if name not in self._readers:
            readers = self._readers[name] = defaultdict(list)
            for use in self.loads(name):
                if bound := self.bindings(name, use):
                    readers[self.home(name, bound[0])].append(use)
        return self._readers[name].get(self.home(name, link), [])

    def once(self, question: Hashable, links: list[Link], ask: Callable[[], _Answer]) -> _Answer:
        """What is asked of all `bindings` or `readers` of a name together: every use asks it, and it is answered once."""
        if not links:
            return ask()
        key = id(links), question
        if key not in self._said:
            self._said[key] = links, ask()  # with the list, whose number is nobody else's as long as it lives
        return self._said[key][1]
