"""Where a value of a program comes from: through names, parameters and their callers, attributes and returns, across its files."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from porter.analysis.file import File
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, owner_of, walk
from porter.python.parameters import is_static, parameters

LOADER = "torch.utils.data.DataLoader"
LOADERS = frozenset({LOADER, "torch.utils.data.dataloader.DataLoader"})
PARALLEL = frozenset(
    {"torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel"}
)
_PASSES = frozenset("enumerate tqdm trange iter cycle islice zip track progress progress_bar next".split())
_SAME = frozenset("to cuda npu cpu float half double bfloat16 train eval apply requires_grad_ __iter__ compile".split())
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Place(NamedTuple):
    """An expression or a statement in a file of the program."""

    file: File
    link: Link

    @property
    def node(self) -> Node:
        return self.link[0]

    def within(self, node: Node) -> Place:
        """Something inside of it, whose scope is the same."""
        return Place(self.file, (node, self.link))


def links_of(tree: Node) -> dict[Node, Link]:
    links: dict[Node, Link] = {tree: (tree, None)}
    todo = [tree]
    while todo:
        node = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)):
                continue  # one object stands for all of its kind
            links[child] = (child, links[node])
            todo.append(child)
    return links


class World:
    """The files of a program, as one."""

    def __init__(self, files: Sequence[File]) -> None:
        self.files = files
        self.links = {id(file): links_of(file.tree) for file in files}
        self.functions: dict[str, list[Place]] = defaultdict(list)
        self.classes: dict[str, list[Place]] = defaultdict(list)
        self.calls: dict[str, list[Place]] = defaultdict(list)
        for file in files:
            for node, link in self.links[id(file)].items():
                if isinstance(node, DEFS):
                    self.functions[node.name].append(Place(file, link))
                elif isinstance(node, ast.ClassDef):
                    self.classes[node.name].append(Place(file, link))
                elif isinstance(node, ast.Call):
                    self.calls[call_name(node.func)].append(Place(file, link))

    def place(self, file: File, node: Node) -> Place:
        return Place(file, self.links[id(file)][node])

    def function_around(self, place: Place) -> Place | None:
        return next((Place(place.file, up) for up in ancestors(place.link) if isinstance(up[0], DEFS)), None)

    def owner(self, place: Place) -> ast.ClassDef | None:
        return next((up[0] for up in ancestors(place.link) if isinstance(up[0], ast.ClassDef)), None)

    def callers(self, function: Place) -> list[Place]:
        """The calls of a function of the program; of `__init__`, those of its class."""
        owner = owner_of(function.link)
        name = owner.name if owner is not None and function.node.name == "__init__" else function.node.name
        return [
            call for call in self.calls.get(name, ()) if call.file is function.file or not self._has(call.file, name)
        ]

    def _has(self, file: File, name: str) -> bool:
        return any(place.file is file for place in (*self.functions.get(name, ()), *self.classes.get(name, ())))

    def defined(self, call: Place) -> list[Place]:
        """The functions that a call may call: of a method, all that have its name; else the one of that name."""
        found = self.functions.get(call_name(call.node.func), [])
        if isinstance(call.node.func, ast.Attribute):
            return found
        near = [place for place in found if place.file is call.file] or found
        return near if len(near) == 1 else []

    def family(self, owner: ast.ClassDef) -> list[Place]:
        """A class, and those of the program that it derives from or that derive from it."""
        names, before = {owner.name}, 0
        while len(names) != before:
            before = len(names)
            for name, places in self.classes.items():
                for place in places:
                    bases = {call_name(base) for base in place.node.bases}
                    if name in names:
                        names |= bases & self.classes.keys()
                    elif bases & names:
                        names.add(name)
        return [place for name in sorted(names) for place in self.classes[name]]

    def arguments(self, function: Place, name: str) -> Iterator[Place]:
        """What callers give for a parameter."""
        names = parameters(function.node)
        owner = owner_of(function.link)
        shift = 1 if owner is not None and not is_static(function.node) else 0
        for call in self.callers(function):
            if shift and names[:1] == [name] and isinstance(call.node.func, ast.Attribute):
                yield call.within(call.node.func.value)
            for keyword in call.node.keywords:
                if keyword.arg == name:
                    yield call.within(keyword.value)
            index = names.index(name) - shift if name in names else -1
            given = call.node.args
            if 0 <= index < len(given) and not any(isinstance(a, ast.Starred) for a in given[: index + 1]):
                yield call.within(given[index])

    def sources(
        self, place: Place, index: int | None = None, seen: set[tuple[int, int | None]] | None = None
    ) -> list[Place]:
        """The expressions that make a value: calls of classes and of libraries, and what nobody can follow."""
        seen = set() if seen is None else seen
        if (id(place.node), index) in seen or len(seen) > 300:
            return []
        seen.add((id(place.node), index))
        found: list[Place] = []
        for step, part in self._steps(place, index):
            if step.node is place.node:
                found.append(place)
            else:
                found += self.sources(step, part, seen)
        return found

    def _steps(self, place: Place, index: int | None) -> Iterator[tuple[Place, int | None]]:
        """One step back. The place itself where it goes no further."""
        node = place.node
        if isinstance(node, ast.Name):
            yield from list(self._bound(place, index)) or [(place, index)]
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
            yield from list(self._member(place, index)) or [(place, index)]
        elif isinstance(node, ast.Attribute) and node.attr == "module":
            yield place.within(node.value), index
        elif isinstance(node, ast.Call):
            yield from self._call(place, index)
        elif isinstance(node, ast.IfExp):
            yield place.within(node.body), index
            yield place.within(node.orelse), index
        elif isinstance(node, (ast.Tuple, ast.List)) and index is not None and index < len(node.elts):
            yield place.within(node.elts[index]), None
        elif isinstance(node, ast.Subscript) and isinstance(key := constant(node.slice), (str, int)):
            yield from self._item(place, key)
        else:
            yield place, index

    def _bound(self, place: Place, index: int | None) -> Iterator[tuple[Place, int | None]]:
        for binding in place.file.names.bindings(place.node.id, place.link):
            up = binding[1]
            if isinstance(binding[0], ast.arg):
                function = next((a for a in ancestors(binding) if isinstance(a[0], DEFS)), None)
                for given in self.arguments(Place(place.file, function), binding[0].arg) if function else ():
                    yield given, index
                continue
            part = index
            if up and isinstance(up[0], (ast.Tuple, ast.List)):
                part, up = up[0].elts.index(binding[0]), up[1]
            if up and isinstance(up[0], ast.Assign):
                yield self.place(place.file, up[0].value), part
            elif up and isinstance(up[0], (ast.AnnAssign, ast.NamedExpr)) and up[0].value is not None:
                yield self.place(place.file, up[0].value), part
            elif up and isinstance(up[0], ast.withitem):
                yield self.place(place.file, up[0].context_expr), part

    def members(self, place: Place) -> list[tuple[Place, int | None]]:
        """The assignments of `self.x` in its class and the kin of that, each with the place in a tuple."""
        owner, text = self.owner(place), ast.unparse(place.node)
        found: list[tuple[Place, int | None]] = []
        for kin in self.family(owner) if owner is not None else ():
            for node in walk(kin.node):
                for target in node.targets if isinstance(node, ast.Assign) else ():
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    for number, part in enumerate(parts):
                        if ast.unparse(part) == text:
                            found.append((self.place(kin.file, node), number if len(parts) > 1 else None))
        return found

    def _member(self, place: Place, index: int | None) -> Iterator[tuple[Place, int | None]]:
        for assigned, number in self.members(place):
            yield self.place(assigned.file, assigned.node.value), index if number is None else number

    def _call(self, place: Place, index: int | None) -> Iterator[tuple[Place, int | None]]:
        call, name = place.node, call_name(place.node.func)
        full = place.file.names.resolve(call.func, place.link) or ""
        if full in LOADERS or full in PARALLEL:
            yield place, index
        elif isinstance(call.func, ast.Attribute) and name in _SAME and not full:
            yield place.within(call.func.value), index
        elif (name in _PASSES or full.startswith(("tqdm.", "itertools."))) and call.args:
            for argument in call.args:
                yield place.within(argument), None
        elif name == "compile" and full == "torch.compile" and call.args:
            yield place.within(call.args[0]), index
        elif not self.classes.get(name) and (
            returns := [
                self.place(function.file, n.value)
                for function in self.defined(place)
                for n in walk(function.node)
                if isinstance(n, ast.Return) and n.value is not None
            ]
        ):
            for returned in returns:
                yield returned, index
        else:
            yield place, index

    def _item(self, place: Place, key: str | int) -> Iterator[tuple[Place, int | None]]:
        held = self.sources(place.within(place.node.value))
        for each in held:
            if isinstance(each.node, ast.Dict):
                for name, value in zip(each.node.keys, each.node.values):
                    if name is not None and constant(name) == key:
                        yield each.within(value), None
            elif isinstance(each.node, (ast.List, ast.Tuple)) and isinstance(key, int) and key < len(each.node.elts):
                yield each.within(each.node.elts[key]), None
        if not any(isinstance(each.node, (ast.Dict, ast.List, ast.Tuple)) for each in held):
            yield place, None
