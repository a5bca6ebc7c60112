"""`import xentropy_cuda_lib`: nobody knows the package, and its name says what it brings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.engine.nodes import imported
from porter.engine.rule import Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Node, ancestors
from porter.python.uses import packages_of
from porter.regex import lazy
from porter.rulebook.table import Tables, package_row

_NAMED = lazy(r"(?:^|_)cuda\d*(?:$|_)")


class CudaNamedPackage(Rule):
    code = "PRT414"
    edits = False
    nodes = ("Import", "ImportFrom")
    text = "cuda"
    only = staticmethod(lambda _, link: any(map(_NAMED.search, packages_of(link[0]))))

    def __init__(self, tables: Tables) -> None:
        self.packages = tables.packages

    def visit(self, original: cst.Import | cst.ImportFrom, updated: Any, file: RuleFile) -> Iterator[Hit]:
        for name in imported(original):
            top = name.partition(".")[0]
            if _NAMED.search(top) and package_row(name, self.packages) is None:
                anywhere = b"sys.path" in file.source.utf8
                native = file.facts.native  # PRT411 and PRT402 tell of what the project builds
                is_own = top in native.exports or top in native.modules
                is_own = is_own or file.facts.own.has_package(top, file.path, anywhere)
                if not is_own and (role := file.imported.speaks_for(top)):  # once in a file
                    if role == "optional" and _is_for_refused_alone(file, name):
                        continue
                    severity = "note" if role == "optional" else None
                    yield Hit(original, "by-name", values=(("name", top),), severity=severity)


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
