"""What porter says of a file that nobody can run on NPUs and porter cannot port: where a function of it ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.analysis.python import Analysis
from porter.checks.support.unsupported_api import missing
from porter.python.index import Node
from porter.reach.body import End
from porter.rulebook.table import package_row

_FOUND = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Import, ast.ImportFrom)
_MENTIONS = (ast.Name, ast.Attribute)
# what is built, what `triton` and the dispatcher answer for, what is missing; and of family 5, what is only made there,
# and fails later
_QUIET = frozenset({"PRT402", "PRT403", "PRT410", "PRT701"})


class Ends:
    def __init__(self, analysis: Analysis, library: str):
        self._packages, self._source = analysis.session.rules.tables.packages, analysis.file.source
        self._by_offset = dict(_endings(analysis, library))

    def of(self, node: Node) -> End | None:
        if node.__class__ not in _FOUND:  # what else starts there may be a choice of which it is one side
            return None
        end = self._by_offset.get(self._source.offset(node.lineno, node.col_offset))
        if end is None or end.verdict == "code" and node.__class__ in _MENTIONS:
            return None  # a base of a class, or handed on: it is there, and only fails when it is called
        return None if end.verdict == "package" and self._is_member(end.name) else end

    def called(self, name: str, line: int) -> End | None:
        """Of a package that is there, functions that are for GPUs only can be imported, and not called."""
        return End("package", name, line, "PRT401") if name and self._is_member(name) else None

    def _is_member(self, name: str) -> bool:
        row, above = self._packages.get(name), package_row(name.rpartition(".")[0], self._packages)
        return row is not None and row.status == "none" and above is not None and above[1].status != "none"


def _endings(analysis: Analysis, library: str) -> Iterator[tuple[int, End]]:
    """By offset, what porter says of the file that nobody can run on NPUs and porter cannot port."""
    file = analysis.file
    line = file.source.line
    for outcome in analysis.outcomes:
        hit, code = outcome.hit, outcome.hit.code or outcome.rule.code
        severity = hit.severity or analysis.session.rules.weights(code, hit.why)[0]
        if (
            severity == "blocker"
            and not code.startswith("PRT5")
            and dict(hit.values).get("name", "").partition(".")[0] != library
            and code not in _QUIET
            and not hit.optional
            and not outcome.edits
        ):
            start, end = outcome.place
            verdict = "package" if code in ("PRT401", "PRT409") else "code"
            name = (
                dict(hit.values).get("name")
                or file.source.utf8[start:end].decode("utf-8", "replace").partition("\n")[0]
            )
            yield start, End(verdict, name, line(start), code)
    for api, links in missing(file):
        for link in links:
            start = file.source.span(link[0])[0]
            yield start, End("missing", api, line(start), "PRT701")
            for full, (node, _) in file.names.imports.get(getattr(link[0], "id", ""), ()):
                if node.__class__ is ast.ImportFrom and f"{full}.".startswith(f"{api}."):  # the import itself fails
                    start = file.source.span(node)[0]
                    yield start, End("missing", api, line(start), "PRT701")
