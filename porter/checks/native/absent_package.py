"""Imports of packages that the project builds from a folder in which nothing is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.checks.native import prefilters
from porter.engine.rule import TOGETHER, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class AbsentPackage(Rule):
    code = "PRT415"
    edits = False
    nodes = ("Import", "ImportFrom")
    text = "import"
    only = staticmethod(prefilters.imports_absent)

    def visit(self, original: cst.Import | cst.ImportFrom, updated: Any, file: RuleFile) -> Iterator[Hit]:
        for package in file.facts.lists.absent:
            if role := file.imported.speaks_for(package.name):  # once in a file
                why = "submodule" if package.is_submodule else "folder"
                values = (("name", package.name), ("path", package.folder), (TOGETHER, package.name))
                yield Hit(original, why, values=values, severity="note" if role == "optional" else None)
