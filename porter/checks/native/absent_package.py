"""Imports of packages that the project builds from a folder in which nothing is, or takes from one beside the project."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.checks.native import prefilters
from porter.engine.rule import TOGETHER, Hit, Rule, cst, named
from porter.engine.rule_file import Link, RuleFile
from porter.project.absent_packages import beneath
from porter.python.evidence import constant


class AbsentPackage(Rule):
    code = "PRT415"
    edits = False
    nodes = ("Import", "ImportFrom")
    text = "import"
    calls = frozenset({"sys.path.append", "sys.path.insert"})
    only = staticmethod(prefilters.imports_absent)

    def visit(self, original: cst.Import | cst.ImportFrom | cst.Call, updated: Any, file: RuleFile) -> Iterator[Hit]:
        if isinstance(original, cst.Call):
            folder = dict(file.facts.roads.outside).get(file.path)
            if folder and folder in file.text(original):
                yield Hit(original, "outside", values=named(path=folder, **{TOGETHER: folder}))
            return
        link = file.scene.link_to(file.statement)
        if link is None:
            return
        ways: set[str] = set()
        if link[0].__class__ is ast.ImportFrom and link[0].level:
            module = "." * link[0].level + (link[0].module or "")
            ways = {*beneath(file.path, module, [a.name for a in link[0].names])}
        for package in file.facts.lists.absent:
            if package.folder in ways:
                guard = file.imported.import_guard()
                role = None if guard == "type-checking" else "optional" if guard else "needed"
            else:
                role = file.imported.speaks_for(package.name)  # once in a file
            if role is None:
                continue
            why = "submodule" if package.is_submodule else "folder"
            severity = "note" if role == "optional" else None
            values = [("name", package.name), ("path", package.folder), (TOGETHER, package.name)]
            if role == "optional" and (called := _called(link, file)):
                why, severity = "called", None
                values += [("called", called[0]), ("lines", str(called[1]))]
            yield Hit(original, why, values=tuple(values), severity=severity)


def _called(link: Link, file: RuleFile) -> tuple[str, int] | None:
    """The first call of a name that is None where the import fails, if nothing asks for it: else it is not called then."""
    for alias in link[0].names:
        name = alias.asname or alias.name
        others = file.names.others.get(name, [])
        if len(file.names.imports.get(name, ())) > 1 or not others or not all(map(_is_none, others)):
            continue
        read = [use for use in file.names.spelled(name) if getattr(use[0], "ctx", None).__class__ is ast.Load]
        calls = [use for use in read if use[1][0].__class__ is ast.Call and use[1][0].func is use[0]]
        if calls and len(calls) == len(read):
            return name, min(use[0].lineno for use in calls)
    return None


def _is_none(binding: Link) -> bool:
    above = binding[1][0]
    return above.__class__ is ast.Assign and above.value.__class__ is ast.Constant and constant(above.value) is None
