"""`import xentropy_cuda_lib`: nobody knows the package, and its name says what it brings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from porter.engine.nodes import imported
from porter.engine.rule import TOGETHER, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import constant
from porter.python.index import Link, Node, ancestors
from porter.python.uses import packages_of
from porter.regex import lazy
from porter.rulebook.table import Tables, package_row

if TYPE_CHECKING:
    from porter.training.scene import Scene

_NAMED = lazy(r"(?:^|_)cuda\d*(?:$|_)")
_BY_STRING = "importlib.import_module"


def _names_one(scene: Scene, link: Link) -> bool:
    """Of an import, or of a call that imports by a string."""
    call = link[1][0] if link[1] is not None else None
    if isinstance(call, ast.Call) and call.func is link[0]:
        return _NAMED.search(str(constant(call.args[0]) if call.args else "").partition(".")[0]) is not None
    return any(map(_NAMED.search, packages_of(link[0])))


class CudaNamedPackage(Rule):
    code = "PRT414"
    edits = False
    nodes = ("Import", "ImportFrom")
    calls = frozenset({_BY_STRING})
    text = "cuda"
    only = staticmethod(_names_one)

    def __init__(self, tables: Tables) -> None:
        self.packages = tables.packages

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Iterator[Hit]:
        if isinstance(original, cst.Call):
            yield from self._by_string(original, file)
            return
        for name in imported(original):
            top = name.partition(".")[0]
            if self._is_unknown(name, file) and (role := file.imported.speaks_for(top)):  # once in a file
                if role == "optional" and _is_for_refused_alone(file, name):
                    continue
                severity = "note" if role == "optional" else None
                yield Hit(original, "by-name", values=(("name", top),), severity=severity)

    def _by_string(self, call: cst.Call, file: RuleFile) -> Iterator[Hit]:
        """`importlib.import_module("fused_layer_norm_cuda")`"""
        given = call.args[0].value if call.args else None
        name = given.evaluated_value if isinstance(given, cst.SimpleString) else None
        if isinstance(name, str) and self._is_unknown(name, file) and file.name(call.func) == _BY_STRING:
            severity = "note" if file.imported.import_guard() in ("try", "if") else None
            top = name.partition(".")[0]
            yield Hit(call.func, "by-name", values=(("name", top), (TOGETHER, top)), severity=severity)

    def _is_unknown(self, name: str, file: RuleFile) -> bool:
        top, native = name.partition(".")[0], file.facts.native  # PRT411 and PRT402 tell of what the project builds
        if not _NAMED.search(top) or package_row(name, self.packages) is not None:
            return False
        is_own = top in native.exports or top in native.modules
        return not is_own and not file.facts.own.has_package(top, file.path, b"sys.path" in file.source.utf8)


def _is_for_refused_alone(file: RuleFile, name: str) -> bool:
    """Whether nothing but methods of classes that refuse to be made use a package: their `__init__` begins with `raise`."""
    uses = [link for link in file.names.spelled(name) if link[0].__class__ is ast.Name]
    return bool(uses) and all(any(_refuses(above[0]) for above in ancestors(use)) for use in uses)


def _refuses(node: Node) -> bool:
    if node.__class__ is not ast.ClassDef:
        return False
    inits = [part for part in node.body if getattr(part, "name", "") == "__init__"]
    first = [part for init in inits for part in init.body if not _is_text(part)][:1]
    return bool(first) and first[0].__class__ is ast.Raise


def _is_text(statement: Node) -> bool:
    return statement.__class__ is ast.Expr and statement.value.__class__ is ast.Constant
