"""Resolves names: what `tc.synchronize` refers to. Mostly a table answers; scopes decide only if a name has several bindings."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from porter.python.evidence import library_on_cuda
from porter.python.index import Link, Node
from porter.python.scopes import Scopes
from porter.rulebook.table import hints

_OTHER = "<other>"  # stands for a binding that is no import
_IMPORTERS = hints("imports-by-name")
# what a file gets from a star import if it uses these names
_BY_STARS = {"torch": "torch", "th": "torch", "nn": "torch.nn", "np": "numpy"}
_OTHERS = hints("another-framework")  # their `nn` is their own
_Answer = TypeVar("_Answer")


def canonical(full: str) -> str:
    """torch.torch, which torch has, is torch."""
    return full.removeprefix("torch.") if full.startswith("torch.torch.") else full


class Names:
    def __init__(self, buckets: dict[type, list[Link]], uses: list[Link]) -> None:
        # name -> (full name, link of the import statement)
        self.imports: dict[str, list[tuple[str, Link]]] = defaultdict(list)
        self.others: dict[str, list[Link]] = defaultdict(list)  # name -> links of all other bindings
        self.uses, self.scopes = uses, Scopes(buckets)
        self._tables: dict[str, dict[Node, set[str]]] = {}
        for link in buckets[ast.Import]:
            for a in link[0].names:
                first = a.name.partition(".")[0]
                self.imports[a.asname or first].append((a.name if a.asname else first, link))
        for link in buckets[ast.ImportFrom]:
            node = link[0]
            base = "." * node.level + (node.module + "." if node.module else "")
            for a in node.names:
                self.imports[a.asname or a.name].append((base + a.name, link))
        for link in buckets[ast.arg]:
            self.others[link[0].arg].append(link)
        for definition in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            for link in buckets[definition]:
                self.others[link[0].name].append(link[1])  # the scope around a definition binds its name
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
        stars = [star for star in self.imports.get("*", ()) if star[0].partition(".")[0] not in _OTHERS]
        for name, full in _BY_STARS.items() if stars else ():
            if not self.bound(name) and any(link[0].id == name for link in uses):
                self.imports[name].append((full, stars[0][1]))  # it has no other binding
        self._classes = buckets[ast.ClassDef]
        self._homes: dict[str, dict[Node, list[Link]]] = {}
        self._readers: dict[str, dict[Node, list[Link]]] = {}
        self._answers: dict[tuple[int, Hashable], tuple[Sequence[object], Any]] = {}

    @cached_property
    def torch(self) -> str | None:
        """The name that the file has for torch."""
        return next((name for name, full in sorted(self.plain.items()) if full == "torch"), None)

    def bound(self, name: str) -> bool:
        """Whether anything in the file binds a name."""
        return name in self.imports or name in self.others

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The full names of names like `cuda = torch.cuda` and `cp, found = optional_import("cupy")` that nothing else in the
        file binds; and of `class Model(faster_whisper.WhisperModel)`, whose library finds CUDA by itself."""
        aliases: dict[str, str] = {}
        for name, links in self.others.items():
            if len(links) == 1 and name not in self.imports and links[0][0].__class__ is ast.Name:
                target, parent = links[0][0], links[0][1]
                if parent[0].__class__ is ast.Tuple and parent[0].elts[0] is target:
                    target, parent = parent[0], parent[1]
                if parent[0].__class__ is ast.Assign and len(parent[0].targets) == 1 and parent[0].targets[0] is target:
                    value = parent[0].value
                    if value.__class__ is ast.Call:
                        full = _imported(value)
                    else:
                        plain = value.__class__ is ast.Attribute and target is links[0][0]
                        full = self.resolve(value, parent) if plain else None
                    if full:
                        aliases[name] = full
        for link in self._classes:
            definition = link[0]
            full = self.resolve(definition.bases[0], link) if len(definition.bases) == 1 else None
            if full and library_on_cuda(full) and len(self.others[definition.name]) == 1:
                aliases[definition.name] = full
        return aliases

    @cached_property
    def plain(self) -> dict[str, str]:
        """The full names of names that mean the same everywhere in the file: only imports bind them, all of the same thing."""
        others = self.others
        return {
            name: bound[0][0]
            for name, bound in self.imports.items()
            if name not in others and (len(bound) == 1 or len({target for target, _ in bound}) == 1)
        }

    def known(self, name: str) -> bool:
        """Whether a chain that starts with this name may resolve."""
        return name in self.imports or name in self.aliases

    def resolve(self, node: Node, link: Link) -> str | None:
        """The full name of a chain: 'torch.cuda.synchronize' for `tc.synchronize`. None where it is unknown, local, or follows a
        call. `link`: of `node`, or of a parent inside the same expression."""
        tail: list[str] = []
        top = node
        while node.__class__ is ast.Attribute:
            tail.append(node.attr)
            node = node.value
        if node.__class__ is not ast.Name:
            return None
        base = self.root(node.id, link, top if link[0] is not top else None)
        return base and canonical(".".join((base, *reversed(tail))))

    def root(self, name: str, link: Link, below: Node = None) -> str | None:
        """The full name of a bare name, seen from `link`."""
        if name not in self.imports:
            # self.aliases would call itself: it asks for roots while it is computed
            aliases: dict[str, str] = self.__dict__.get("aliases", {})
            return aliases.get(name)
        return self.plain.get(name) or self._by_scope(name, link, below)

    # From here on: names with several bindings. A scope is the link of its node; the module is None.

    def _by_scope(self, name: str, link: Link, below: Node) -> str | None:
        nearest, home = self.scopes.nearest, self.scopes.home
        if name not in self._tables:
            by_scope: dict[Node, set[str]] = defaultdict(set)
            self._tables[name] = by_scope
            for target, binding in self.imports[name]:
                by_scope[home(name, binding)].add(target)
            for binding in self.others.get(name, ()):
                by_scope[home(name, binding)].add(_OTHER)
        table, scope, first = self._tables[name], nearest(link, below), True
        while True:
            node = scope and scope[0]
            if node in table and (first or node.__class__ is not ast.ClassDef):
                targets = table[node] - {_OTHER}
                return targets.pop() if len(targets) == 1 else None  # several meanings are no answer
            if scope is None:
                return None
            scope, first = nearest(scope[1], node), False

    def bindings(self, name: str, link: Link) -> list[Link]:
        """The bindings of a name, other than imports, in the nearest scope around `link` that binds it."""
        if name not in self.others:
            return []
        nearest, home = self.scopes.nearest, self.scopes.home
        if name not in self._homes:
            by_scope: dict[Node, list[Link]] = defaultdict(list)
            self._homes[name] = by_scope
            for binding in self.others[name]:
                by_scope[home(name, binding)].append(binding)
        homes, scope, first = self._homes[name], nearest(link), True
        while True:
            node = scope and scope[0]
            if node in homes and (first or node.__class__ is not ast.ClassDef):
                return homes[node]
            if scope is None:
                return []
            scope, first = nearest(scope[1], node), False

    @cached_property
    def _spelled(self) -> dict[str, list[Link]]:
        uses: dict[str, list[Link]] = defaultdict(list)
        for link in self.uses:
            uses[link[0].id].append(link)
        return uses

    def spelled(self, name: str) -> list[Link]:
        """All places with this name, whatever it means there."""
        return self._spelled.get(name, [])

    def readers(self, name: str, link: Link) -> list[Link]:
        """The uses of a name that may read the binding at `link`: those that see its scope."""
        if name not in self._readers:
            readers: dict[Node, list[Link]] = defaultdict(list)
            self._readers[name] = readers
            for use in self.spelled(name):
                if use[0].ctx.__class__ is ast.Load and (bound := self.bindings(name, use)):
                    readers[self.scopes.home(name, bound[0])].append(use)
        return self._readers[name].get(self.scopes.home(name, link), [])

    def once(self, question: Hashable, links: Sequence[object], ask: Callable[[], _Answer]) -> _Answer:
        """The answer to a question about all these links, computed once for each list object and question."""
        if not links:
            return ask()
        key = id(links), question
        if key not in self._answers:
            self._answers[key] = links, ask()  # keeps the list alive, so that no other list gets its id
        answer: _Answer = self._answers[key][1]
        return answer


def _imported(call: ast.Call) -> str | None:
    """What `optional_import("tqdm", name="trange")` and `importlib.import_module("cupy")` answer with; not torch itself, as no
    statement is there below which torch_npu could be imported."""
    func = call.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if name not in _IMPORTERS or not call.args:
        return None
    given = [call.args[0], *(keyword.value for keyword in call.keywords if keyword.arg == "name")]
    words = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return ".".join(words) if len(words) == len(given) and words != ["torch"] else None
