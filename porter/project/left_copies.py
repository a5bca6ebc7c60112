"""Finds what is said of a whole copy of a library that its users leave: they take what torch has, and nobody ports the copy.

A copy is a folder of the project with the package, and with the file that describes it. Its users are told by themselves. Where
nothing is said of them, one finding of the copy stays: that of its build. A kernel that Python elsewhere calls stays, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from porter.engine.together import is_only_told
from porter.files.kinds import PYTHON, kind_of
from porter.finding import FileResult, Finding
from porter.project.set_aside import SPEAKS
from porter.project.told_by_cause import callers_of
from porter.project.unused import Uses
from porter.rulebook.table import hints

_OF_USERS = "PRT35"  # how codes about users of such a library begin
_BUILD = "PRT402"  # the code of what builds CUDA sources


class LeftCopies:
    """`results`: of the whole project."""

    def __init__(self, results: Sequence[FileResult], uses: Uses) -> None:
        found = {
            (result.path[: match.start() + 1], name)
            for name in hints("left-by-its-users")
            for result in results
            if f"/{name}/" in result.path
            for match in re.finditer(f"(?=/{name}/)", result.path)
        }
        self._folders = {folder: name for folder, name in sorted(found) if is_copy(folder, name, uses)}
        self._stays = self._staying(results) if self._folders else frozenset[Finding]()

    def _staying(self, results: Iterable[FileResult]) -> frozenset[Finding]:
        told = [f for result in results for f in result.findings]
        outside = any(f.code.startswith(_OF_USERS) and not self._folder(f.path) for f in told)
        stays: set[Finding] = set()
        for folder in self._folders:
            inside = sorted(f for f in told if f.path.startswith(folder) and is_only_told(f))
            called = {f for f in inside if any(not self._folder(path) for path in callers_of(f))}
            builds = [f for f in inside if f.code == _BUILD]
            stays |= called or set(() if outside else builds[:1])
        return frozenset(stays)

    def _folder(self, path: str) -> str:
        return next((folder for folder in self._folders if path.startswith(folder)), "")

    def of(self, result: FileResult) -> dict[Finding, tuple[str, str]]:
        """The findings of a file on which nobody has to act, with the reason."""
        name = self._folders.get(self._folder(result.path), "") if self._folders else ""
        told = (
            f
            for f in (result.findings if name else ())
            if is_only_told(f) and f not in self._stays and SPEAKS.isdisjoint(dict(f.values))
        )
        return dict.fromkeys(told, ("copied", name))


def is_copy(folder: str, name: str, uses: Uses) -> bool:
    """Whether a folder has the package and its description, and Python elsewhere loads torch: else it is the project itself."""
    described = re.search(rb"\bname[ \t]*=[ \t]*[\"']%s[\"']" % name.encode(), uses.text(f"{folder}setup.py"))
    packages = (f"{folder}{name}/__init__.py", f"{folder}src/{name}/__init__.py")
    if described is None or not any(map(uses.text, packages)):
        return False
    saying = uses.saying(b"torch", "") or ()
    return any(kind_of(path) == PYTHON and not path.startswith(folder) for path, _ in saying)
