"""Finds loops over the experts of a mixture: the rows of each expert are selected, computed and put back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from porter.python.evidence import call_name, constant
from porter.python.index import COMPREHENSIONS, Link, Node, walk
from porter.regex import lazy
from porter.values.patterns import File, Match

_LOOPS = (ast.For, *COMPREHENSIONS)
_EQUAL = lazy(rb"== ?[a-z_]\w*\s*[)\]\n]")  # chosen == i
# functions that find the rows of an expert; functions that multiply
_PICKS = frozenset({"where", "nonzero", "argwhere", "flatnonzero", "eq"})
_PRODUCTS = frozenset({"linear", "matmul", "mm"})
_SELECTS = frozenset({"index_select", "gather", "take_along_dim", "masked_select"})  # functions that select rows


def find(file: File) -> dict[tuple[int, int], list[Match]]:
    """One match for each loop, at the first call of an expert."""
    data = file.source.utf8
    if b"torch" not in data or b"xpert" not in data and not (b"ModuleList(" in data and _EQUAL.search(data)):
        return {}
    matches: dict[tuple[int, int], list[Match]] = {}
    for kind in _LOOPS:
        for link in file.buckets[kind]:
            clauses = [link[0]] if kind is ast.For else link[0].generators
            if clauses[0].iter.__class__ is ast.Constant or file.scene.function_name(link) in ("", "__init__"):
                continue
            loop = _Loop(link, file)
            for call in _calls(link[0]):
                if why := loop.takes(call) if call.__class__ is ast.Call else loop.multiplies(call):
                    anchor = call if call.__class__ is ast.Call else loop.pick
                    if anchor is not None:
                        why = why if loop.is_of_experts else "modules"
                        matches[file.source.span(anchor)] = [Match("experts", why, anchor, None)]
                    break
    return matches


def _calls(loop: Node) -> Iterator[Node]:
    """The calls of modules and the products in a loop, in the order of the text."""
    calls = [n for n in walk(loop) if n.__class__ is ast.Call and n.args or n.__class__ is ast.BinOp]
    for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
        if call.__class__ is ast.BinOp:
            if call.op.__class__ is ast.MatMult:
                yield call
        elif call.func.__class__ is not ast.Attribute or call.func.attr in _PRODUCTS:
            yield call


class _Loop:
    """One loop, with the meaning of its names. A turn is a round of the loop, for one expert."""

    def __init__(self, link: Link, file: File) -> None:
        self.node = link[0]
        self.owner = file.scene.owner(link)
        self.members: dict[str, list[Node]] = file.receivers.members(self.owner) if self.owner is not None else {}
        names = [getattr(self.owner, "name", ""), file.scene.function_name(link)]
        self.elements: dict[str, Node] = {}  # by name, the list of which it is an element
        self.counters: set[str] = set()  # names that change with each turn
        for clause in [self.node] if self.node.__class__ is ast.For else self.node.generators:
            self._bind(clause.target, clause.iter)
        self.named = any("xpert" in name for name in (*names, *self.counters))

    @property
    def is_of_experts(self) -> bool:
        """Whether a name says that these are experts. Layers for kinds of nodes also come one after the other."""
        words = (getattr(n, "attr", "") or getattr(n, "id", "") or constant(n) for n in walk(self.node))
        return self.named or any(type(word) is str and "xpert" in word for word in words)

    def _bind(self, target: Node, values: Node) -> None:
        called = call_name(values.func) if values.__class__ is ast.Call else ""
        parts = target.elts if target.__class__ is ast.Tuple else []
        if called == "enumerate" and len(parts) == 2 and values.args:
            self._bind(parts[0], ast.Constant(0))
            self._bind(parts[1], values.args[0])
        elif called == "zip" and len(parts) == len(values.args):
            for part, value in zip(parts, values.args):
                self._bind(part, value)
        elif target.__class__ is ast.Name:
            if values.__class__ in (ast.Name, ast.Attribute, ast.Subscript):
                self.elements[target.id] = values
            if values.__class__ is not ast.Attribute:
                self.counters.add(target.id)

    @cached_property
    def assigned(self) -> dict[str, list[Node]]:
        """The values of names that the loop sets."""
        assigned: dict[str, list[Node]] = {}
        for node in walk(self.node) if self.node.__class__ is ast.For else ():
            if node.__class__ is ast.Assign:
                for target in node.targets:
                    for part in target.elts if target.__class__ is ast.Tuple else [target]:
                        if part.__class__ is ast.Name:
                            assigned.setdefault(part.id, []).append(node.value)
        return assigned

    @cached_property
    def turns(self) -> set[str]:
        """The names for the number of the turn, also as an int."""
        turns = set(self.counters)
        for name, values in self.assigned.items():
            names = {n.id for v in values for n in walk(v) if n.__class__ is ast.Name} - {"int"}
            plain = all(v.__class__ in (ast.Call, ast.Subscript, ast.Name) for v in values)
            if (
                plain
                and names
                and names <= self.counters
                and not any(call_name(v.func if v.__class__ is ast.Call else v) in _PICKS for v in values)
            ):
                turns.add(name)
        return turns

    def takes(self, call: ast.Call) -> str:
        """How the expert that a call calls gets its rows: "selected" or "sliced"; "" where the call is not of an expert."""
        func, rows = call.func, call.args
        if func.__class__ is ast.Attribute:
            return self._multiplied(rows)
        bank = next((b for b in self._behind(func) if b), "")
        ways = [self._way(row) for row in rows] if bank else []
        if "xpert" in bank:
            return next((w for w in ("selected", "sliced") if w in ways), "")
        return "selected" if ways and all(w == "selected" for w in ways) else ""

    def multiplies(self, product: ast.BinOp) -> str:
        """The same for a product with weights of an expert: `rows @ self.up[e]`."""
        return self._multiplied([product.left, product.right])

    def _multiplied(self, sides: list[Node]) -> str:
        ways = [self._way(side) for side in sides if not self._is_weight(side)]
        if len(ways) == len(sides):
            return ""
        return "selected" if "selected" in ways else "sliced" if "sliced" in ways and self.named else ""

    @property
    def pick(self) -> ast.Call | None:
        """The call that finds the rows, or over which the loop runs."""
        calls = [n for n in walk(self.node) if n.__class__ is ast.Call]
        return next((n for n in calls if call_name(n.func) in _PICKS), calls[0] if calls else None)

    def _behind(self, func: Node) -> Iterator[str]:
        """The name of the list of modules from which the called module comes."""
        if func.__class__ is ast.Subscript and self._counts(func.slice):
            words = (str(constant(n)) for n in walk(func.slice))  # self[f"expert_{e}"]
            yield "experts" if any("xpert" in word for word in words) else self._bank(func.value)
        elif func.__class__ is ast.Name:
            if func.id in self.elements:
                yield self._bank(self.elements[func.id])
            for value in self.assigned.get(func.id, ()):
                if value.__class__ is ast.Subscript:
                    yield from self._behind(value)

    def _bank(self, node: Node) -> str:
        name = node.attr if node.__class__ is ast.Attribute else getattr(node, "id", "")
        is_list = any(v.__class__ is ast.Call and call_name(v.func) == "ModuleList" for v in self.members.get(name, ()))
        return name if is_list or "xpert" in name else ""

    def _is_weight(self, node: Node, depth: int = 0) -> bool:
        """Whether a node is a weight of the turn's expert: `self.w1[e]`, perhaps transposed or cast."""
        if node.__class__ is ast.Name and depth < 3:
            return any(self._is_weight(v, depth + 1) for v in self.assigned.get(node.id, ()))
        for inner in walk(node):
            if inner.__class__ is ast.Subscript and inner.slice.__class__ is ast.Name and self._counts(inner.slice):
                return inner.value.__class__ in (ast.Attribute, ast.Name)
        return False

    def _counts(self, index: Node) -> bool:
        return any(n.__class__ is ast.Name and n.id in self.turns for n in walk(index))

    @cached_property
    def stored(self) -> set[str]:
        """All names that get another value in each turn."""
        names = {n.id for n in walk(self.node) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
        return names | self.turns

    def _changes(self, bound: Node) -> bool:
        """Whether the bound of a slice changes with the turn. `x[-1]` and `x[task]` are the same for each expert."""
        nodes = list(walk(bound))
        if any(n.__class__ in (ast.Call, ast.Attribute) for n in nodes):
            return True
        return any(n.__class__ is ast.Name and n.id in self.stored for n in nodes)

    def _way(self, row: Node, depth: int = 0) -> str:
        """How a node gets the rows of one expert: "selected", "sliced" or ""."""
        kind = row.__class__
        if kind is ast.Name and depth < 4:
            if row.id in self.elements:
                return "sliced"
            ways = [self._way(v, depth + 1) for v in self.assigned.get(row.id, ())]
            return next((w for w in ways if w), "")
        if kind is ast.Subscript:
            first = row.slice.elts[0] if row.slice.__class__ is ast.Tuple and row.slice.elts else row.slice
            indices = row.slice.elts if row.slice.__class__ is ast.Tuple else [row.slice]
            if any(self._compares(i) for i in indices if i.__class__ is not ast.Slice):
                return "selected"
            bounds = [first.lower, first.upper] if first.__class__ is ast.Slice else [first]
            return "sliced" if any(b is not None and self._changes(b) for b in bounds) else ""
        if kind is ast.Call and row.func.__class__ is ast.Attribute:
            if row.func.attr in _SELECTS:
                return "selected" if any(map(self._compares, row.args)) else ""
            return self._way(row.func.value, depth + 1)
        return ""

    def _follows(self, call: ast.Call) -> bool:
        """Whether a call depends on the turn: `where(mask[e])`, `nonzero(chosen == e)`, or a mask over which the loop runs."""
        for node in walk(call):
            if node.__class__ is ast.Name and (node.id in self.turns or node.id in self.elements):
                return True
            if node.__class__ is ast.Name and any(map(self._counts, self.assigned.get(node.id, ()))):
                return True
        return False

    def _compares(self, index: Node, depth: int = 0) -> bool:
        """Whether an index comes from a comparison of the chosen experts with the turn."""
        for node in walk(index):
            if node.__class__ is ast.Compare and node.ops[0].__class__ is ast.Eq and self._counts(node):
                return True
            if node.__class__ is ast.Call and call_name(node.func) in _PICKS and self._follows(node):
                return True
            if node.__class__ is ast.Name and depth < 3:
                if any(self._compares(v, depth + 1) for v in self.assigned.get(node.id, ())):
                    return True
        return False
