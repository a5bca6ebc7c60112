"""Finds ties: pairs of holders with the same value, because one is assigned, compared, returned or passed to the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from porter.python.blocks import place, within
from porter.python.evidence import call_name, constant, looked_up
from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.python.strings.holders import Holders

if TYPE_CHECKING:
    from porter.python.file import File


_MOST = 200  # holders that are followed in one file


class Ties:
    def __init__(self, file: File, holders: Holders) -> None:
        self.names, self.buckets, self.holders = file.names, file.buckets, holders
        self._known: dict[str, dict[str | None, list[Link]]] = {}

    def of(self, holders: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """All ties that can be reached from these holders. A tie is a pair in alphabetical order."""
        pairs: set[tuple[str, str]] = set()
        followed: set[str] = set()
        todo = sorted(holders)
        while todo and len(followed) < _MOST:
            holder = todo.pop()
            if holder in followed:
                continue
            followed.add(holder)
            for other in sorted({tied for tied in self._beside(holder) if tied is not None and tied != holder}):
                pairs.add((min(holder, other), max(holder, other)))
                todo.append(other)
        return tuple(sorted(pairs))

    def beside(self, words: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """All ties that can be reached from expressions that end in one of these words, or in a name that one is imported as."""
        known = frozenset(words)
        imports = self.names.imports.items()
        bound = {name for name, several in imports if any(full.rpartition(".")[2] in known for full, _ in several)}
        links = (link for word in sorted(known | bound) for link in self._mentions.get(word, ()))
        return self.of({holder for link in links if (holder := self.holders.of(link[0], link))})

    def _beside(self, holder: str) -> Iterator[str | None]:
        """The holders that have a tie with this one."""
        called, _, parameter = holder.rstrip(")").partition("(")
        if called.startswith("method:"):  # what is called there is an attribute
            called = called.replace("method", "field", 1)
        for link in self._read(called.rpartition(":")[2].rpartition(".")[2], called) if parameter else ():
            if link[1] and link[1][0].__class__ is ast.Call:
                values = [k.value for k in link[1][0].keywords if k.arg == parameter]
                yield from (self.holders.of(value, link[1]) for value in values or self._placed(link, holder))
        for word in self._words(holder):
            for link in self._read(word, holder):
                yield from self._handed(link)

    def _placed(self, function: Link, holder: str) -> list[ast.expr]:
        """What a call gives the parameter that is this holder by position. `function`: what may be called there."""
        call = function[1][0]
        values = enumerate(call.args) if call.func is function[0] else ()
        return [value for index, value in values if self.holders.given(call, function[1], index) == holder]

    def _read(self, word: str, holder: str) -> list[Link]:
        """The expressions with this holder that end in this word."""
        if word not in self._known:
            known = self._known[word] = {}
            for link in self._mentions.get(word, ()):
                known.setdefault(self.holders.of(link[0], link), []).append(link)
        return self._known[word].get(holder, [])

    def _words(self, holder: str) -> set[str]:
        """The words in which an expression with this holder may end."""
        word = re.split(r"[:.(]", holder.rstrip(")"))[-1]
        full = holder.partition(":")[2]
        return {word} | {
            name for name, bound in self.names.imports.items() if any(full == target for target, _ in bound)
        }

    @cached_property
    def _mentions(self) -> dict[str, list[Link]]:
        """All expressions, by the word in which they end."""
        mentions: dict[str, list[Link]] = {}
        for link in self.names.uses:
            mentions.setdefault(link[0].id, []).append(link)
        for link in self.buckets[ast.Attribute]:
            mentions.setdefault(link[0].attr, []).append(link)
        for link in self.buckets.get(ast.Subscript, ()):
            if isinstance(key := constant(link[0].slice), str):
                mentions.setdefault(key, []).append(link)
        for link in self.buckets[ast.Call]:
            if word := looked_up(link[0]) or call_name(link[0].func):
                mentions.setdefault(word, []).append(link)
        return mentions

    def _handed(self, link: Link) -> Iterator[str | None]:
        """The holders that get the value of the expression at `link`, or give it."""
        node, up = link
        while (
            up is not None
            and up[0].__class__ in (ast.IfExp, ast.BoolOp, ast.Await)
            and node is not getattr(up[0], "test", 0)
        ):
            node, up = up
        above = up and up[0]
        kind, holder_of = above.__class__, self.holders.of
        if kind in (ast.Assign, ast.AnnAssign, ast.NamedExpr):
            targets = above.targets if kind is ast.Assign else [above.target]
            if node is above.value:
                yield from (holder_of(t, up) for t in targets)
            elif within(above, node, "targets") or node is getattr(above, "target", None) and above.value is not None:
                yield from (holder_of(v, up) for v in _choices(above.value))
        elif kind is ast.Compare and all(isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in above.ops):
            yield from (holder_of(s, up) for s in (above.left, *above.comparators) if s is not node)
        elif kind is ast.Return:
            function = next((a for a in ancestors(up) if isinstance(a[0], FUNCTIONS)), None)
            yield function and self.holders.result(function)
        elif kind is ast.keyword and up[1][0].__class__ is ast.Call and above.arg:
            yield self.holders.given(up[1][0], up[1], above.arg)
        elif kind is ast.Call and within(above, node, "args"):
            yield self.holders.given(above, up, place(above, node)[1])
        elif kind in (ast.For, ast.comprehension) and node in (above.iter, above.target):
            yield holder_of(above.target if node is above.iter else above.iter, up)
        yield from self._spawned(node, up)
        yield from self.holders.of_test(link)

    def _spawned(self, node: Node, up: Link | None) -> Iterator[str | None]:
        """The holders of parameters with the same name as the argument: `spawn(worker, args=(rank, device))`, `run(device)`."""
        name = getattr(node, "id", "") or getattr(node, "attr", "")
        while up is not None and up[0].__class__ in (ast.Tuple, ast.List, ast.keyword):
            node, up = up
        if name and up is not None and up[0].__class__ is ast.Call and node is not up[0].func:
            for function in (up[0].func, *up[0].args, *(k.value for k in up[0].keywords if k.arg in ("target", "fn"))):
                if function is not node and function.__class__ in (ast.Name, ast.Attribute):
                    yield self.holders.named(self.holders.of(function, up), name)


def _choices(value: Node) -> Iterator[ast.expr]:
    if value.__class__ is ast.IfExp:
        yield from (*_choices(value.body), *_choices(value.orelse))
    elif value.__class__ is ast.BoolOp:
        yield from value.values
    else:
        yield value
