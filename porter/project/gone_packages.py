"""Finds what is said of files that no torch of today can import, as torch no longer brings a package that they need.

The import itself is told, unless the `__init__.py` of its folder tries the package first and goes on without.
"""

from __future__ import annotations

from collections.abc import Iterable

from porter.engine.together import is_only_told
from porter.finding import FileResult, Finding
from porter.native.required import GONE

_PACKAGE = "PRT401"
_TESTED = "tested"  # what is said of a test that asks for a GPU and ends in such a package
_INIT = "__init__.py"


class GonePackages:
    """`results`: of the whole project."""

    def __init__(self, results: Iterable[FileResult]) -> None:
        found = [(f, name) for result in results for f in result.findings if (name := _gone(f))]
        # in the first column: an import in a function stops that alone
        self._needed = {f.path: name for f, name in found if f.severity != "note" and f.column == 1}
        self._tried = {_folder(f.path) for f, _ in found if f.severity == "note" and f.path.endswith(_INIT)}

    def of(self, result: FileResult) -> dict[Finding, tuple[str, str]]:
        """The findings of a file on which nobody has to act, with the reason."""
        package = self._needed.get(result.path, "")
        reasons = {}
        for f in filter(is_only_told, result.findings):
            gone = _gone(f) or (dict(f.values).get("what", "").partition(".")[0] if f.why == _TESTED else package)
            is_told = f.code == _PACKAGE and f.severity != "note" and _folder(f.path) not in self._tried
            if gone in GONE and not is_told:
                reasons[f] = ("never", f"import {gone}")
        return reasons


def _gone(finding: Finding) -> str:
    """Which package that is gone the finding of an import is about."""
    name = dict(finding.values).get("name", "").partition(".")[0] if finding.code == _PACKAGE else ""
    return name if name in GONE else ""


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
