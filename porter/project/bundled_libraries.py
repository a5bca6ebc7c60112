"""Finds what is said of the examples, tests and pages of a library that lies in the project as a whole: nobody here runs them, whether the
project uses the library or not.

Such a library is a folder with the name of one, with the package, and with the file that describes it. A folder of it that a file
outside of it names, as `transformers/examples`, is the project's own matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from porter.engine.together import is_only_told
from porter.finding import FileResult, Finding
from porter.project.left_copies import is_copy
from porter.project.unused import Uses
from porter.regex import lazy
from porter.rulebook.table import hints

# what a repository of a library has beside the library
_BESIDE = lazy(r"(examples?|docs?|docker|scripts|tests?|benchmarks?|templates|notebooks|\.github)/|[^/]+\.(?:md|rst)$")


class BundledLibraries:
    """`results`: of the whole project."""

    def __init__(self, results: Sequence[FileResult], uses: Uses) -> None:
        self._uses = uses
        found = {
            (result.path[: match.end() + 1], name)
            for name in hints("bundled-library")
            for result in results
            if f"/{name}/" in f"/{result.path}"
            for match in re.finditer(rf"(?:^|(?<=/)){name}(?=/)", result.path)
        }
        self._folders = {folder: name for folder, name in sorted(found) if is_copy(folder, name, uses)}
        self._known: dict[tuple[str, str], bool] = {}

    def of(self, result: FileResult) -> dict[Finding, tuple[str, str]]:
        """The findings of a file on which nobody has to act, with the reason."""
        folder = next((folder for folder in self._folders if result.path.startswith(folder)), "")
        beside = _BESIDE.match(result.path[len(folder) :]) if folder else None
        if beside is None or self._is_named(folder, beside[1] or ""):
            return {}
        return dict.fromkeys(filter(is_only_told, result.findings), ("bundled", folder))

    def _is_named(self, folder: str, inner: str) -> bool:
        """Whether a file outside of the library names one of its folders, or may."""
        if not inner:
            return False
        if (folder, inner) not in self._known:
            saying = self._uses.saying(f"{self._folders[folder]}/{inner}".encode(), "")
            self._known[folder, inner] = saying is None or any(not path.startswith(folder) for path, _ in saying)
        return self._known[folder, inner]
