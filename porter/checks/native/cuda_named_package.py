"""`import xentropy_cuda_lib`: nobody knows the package, and its name says what it brings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.engine.nodes import imported
from porter.engine.rule import Hit, Rule, cst
from porter.engine.rule_file import RuleFile
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
                is_own = file.facts.own.has_package(top, file.path, anywhere) or top in file.facts.native.exports
                if not is_own and (role := file.imported.speaks_for(top)):  # once in a file
                    severity = "note" if role == "optional" else None
                    yield Hit(original, "by-name", values=(("name", top),), severity=severity)
