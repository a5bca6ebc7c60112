"""Finds names that tests import and that end in a CUDA kernel of the project, or in a package that cannot be imported.

They end there directly, or through one more file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from porter.engine.native_code import NativeCode, Needed, exports_of
from porter.files.paths import is_test
from porter.native.endings import endings
from porter.native.other_ways import asks_for_gpu, does_without
from porter.native.python_to_kernels import mentions
from porter.native.required import GONE
from porter.native.uses import Exports, uses
from porter.project.imports import Project
from porter.project.skipping_guards import skipping_guards
from porter.python.evidence import constant
from porter.python.index import Node
from porter.python.trees import Parse
from porter.python.walks import children

_QUESTION = b"torch.cuda.is_available"  # a test with this asks for a GPU
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def with_tests(native: NativeCode, texts: Mapping[str, bytes], parse: Parse, project: Project) -> NativeCode:
    """`native`, with the names that tests with a GPU import and that cannot run on an NPU (`needed`)."""
    exports = exports_of(function for function in native.functions if function.path not in native.spared)
    said = (path for path in texts if any(name.encode() in texts[path] for name in GONE))
    gone = {path: module for path in said if (module := _stopping(path, project))}
    needed = {*skipping_guards(texts, project)}
    if exports or gone:
        ends = _Ends(exports, gone, texts, parse, project)
        tests = (path for path in sorted(texts) if is_test(path) and _QUESTION in texts[path])
        needed |= {Needed(path, called, end) for path in tests for called, end in ends.imported(path, 1)}
    return replace(native, needed=tuple(sorted(needed)))


def _stopping(path: str, project: Project) -> str:
    """What a file imports of a package that is gone, so that it cannot be imported itself; "" where nothing is."""
    return next((s.module for s in project.read(path) if s.outermost and s.module.partition(".")[0] in GONE), "")


class _Ends:
    """Names of files, and the kernels or packages that they end in."""

    def __init__(
        self, exports: Exports, gone: dict[str, str], texts: Mapping[str, bytes], parse: Parse, project: Project
    ) -> None:
        self.exports, self.gone, self.texts, self.parse, self.project = exports, gone, texts, parse, project
        self._known: dict[tuple[str, int], dict[str, str]] = {}

    def imported(self, path: str, deep: int) -> Iterator[tuple[str, str]]:
        """(name, end) of the imported names of a file that end so. `deep`: how many files may lie between."""
        for statement in self.project.read(path):
            files = self.project.named(path, statement.module)
            for name, called in statement.names:
                sources = sorted({source for file in files for source in (file, *self.project.behind(file, name))})
                if stopped := next(filter(self.gone.__contains__, sources), None):
                    yield called, self.gone[stopped]
                elif end := next((end for source in sources if (end := self._defined(source, deep).get(name))), None):
                    yield called, end

    def _defined(self, path: str, deep: int) -> dict[str, str]:
        if (path, deep) not in self._known:
            self._known[path, deep] = self._read(path, deep)
        return self._known[path, deep]

    def _read(self, path: str, deep: int) -> dict[str, str]:
        """The top-level definitions of a file that end so."""
        data = self.texts.get(path, b"")
        names = dict(self.imported(path, deep - 1)) if deep else {}
        tree = self.parse(data) if names or mentions(data, self.exports) else None
        if tree is None:
            return {}
        found = list(uses(tree, self.exports))
        spared = {module for module in {module for _, module, _ in found} if does_without(tree, module)}
        used = {node: f"{module}.{name}" for node, module, name in found if module not in spared}
        return ending(tree.body, used, names)


def ending(statements: Iterable[ast.stmt], used: Mapping[Node, str], names: Mapping[str, str]) -> dict[str, str]:
    """The definitions that end in something, by name. `used`: what nodes end in. `names`: what names end in."""
    plain = [*statements]
    chosen = dict.fromkeys(inner for statement in plain for inner in _chosen(statement))
    defining = (s for s in (*plain, *chosen) if isinstance(s, _DEFINITIONS) and getattr(s, "value", s) is not None)
    words = {s: [*_words(s, used)] for s in defining}
    known = {**names, **{end: end for end in used.values()}}
    found = endings(words, known, _bound)
    if spared := {name for s in chosen if s in words and s not in found for name in _bound(s)}:
        words = {s: read for s, read in words.items() if s not in chosen or spared.isdisjoint(_bound(s))}
        found = endings(words, known, _bound)
    return {name: end for statement, end in found.items() for name in _bound(statement)}


def _chosen(statement: ast.stmt) -> list[ast.stmt]:
    """The statements of all branches of a choice that is none for GPUs: `if VERSION < (1, 7): nms = _C.nms`."""
    if not isinstance(statement, ast.If) or asks_for_gpu(statement.test):
        return []
    several = [*statement.body, *statement.orelse]
    return [*several, *(inner for one in several for inner in _chosen(one))]


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a definition binds."""
    targets: Iterable[Node] = getattr(statement, "targets", None) or (getattr(statement, "target", statement),)
    return [name for t in targets if (name := getattr(t, "id", "") or getattr(t, "name", ""))]


def _words(statement: Node, used: Mapping[Node, str]) -> Iterator[str]:
    """The names that a statement reads; and for a node in `used`, what that ends in."""
    todo: list[Node] = [statement.value if statement.__class__ is ast.AnnAssign else statement]
    while todo:
        node = todo.pop()
        if node in used:
            yield used[node]
        elif node.__class__ is ast.Name and node.ctx.__class__ is ast.Load:
            yield node.id
        todo += _ways(node) if node.__class__ in (ast.If, ast.IfExp) else children(node)


def _ways(choice: Node) -> list[Node]:
    """The parts of a choice that an NPU surely may run. The branch of `kind == "rotated"` does not count, as only some tests ask
    for that."""
    if asks_for_gpu(choice.test) and choice.orelse:
        return []
    picked = choice.test.__class__ is ast.Compare and any(isinstance(constant(c), str) for c in choice.test.comparators)
    if not picked:
        return children(choice)
    return choice.orelse if isinstance(choice.orelse, list) else [choice.orelse]
