"""Finds what is said of the CUDA sources of an extension that nobody outside of its folder names: nothing builds it here, and nothing
imports it.

An extension is a folder with a `setup.py`, below the root. Its names are those of the folder, of its modules, of what it installs and of
what it compiles: where a file outside says one of them, whatever it means, the extension counts as used. Where nothing outside trains,
nobody knows for whom it is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from porter.engine.together import is_only_told
from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import folder_of
from porter.finding import FileResult, Finding
from porter.project.told_by_cause import callers_of
from porter.project.unused import Uses
from porter.regex import lazy

_CODES = ("PRT402", "PRT850")  # of what builds CUDA sources, and of the sources
_NAMED = lazy(rb"\bname[ \t]*=[ \t]*[\"']([\w.-]+)[\"']|Extension\([ \t\n]*[\"']([\w.-]+)[\"']")
# names of modules that say nothing
_COMMON = frozenset({"setup", "__init__", "test", "tests", "utils", "build", "conftest"})


class IdleExtensions:
    """`results`: of the whole project."""

    def __init__(self, results: Sequence[FileResult], uses: Uses) -> None:
        self._uses = uses
        told = {result.path for result in results if any(f.code in _CODES for f in result.findings)}
        folders = {folder for path in told if (folder := self._folder(path))}
        python = [result.path for result in results if kind_of(result.path) == PYTHON]
        self._idle = {folder for folder in sorted(folders) if self._is_idle(folder, python)}

    def of(self, result: FileResult) -> dict[Finding, tuple[str, str]]:
        """The findings of a file on which nobody has to act, with the reason."""
        folder = self._folder(result.path) if self._idle else ""
        if folder not in self._idle:
            return {}
        told = (f for f in result.findings if f.code in _CODES and is_only_told(f))
        return dict.fromkeys(told, ("unused", folder))

    def _folder(self, path: str) -> str:
        """The innermost folder around a file that has a `setup.py`; "" for the root, and for none."""
        folder = folder_of(path)
        while folder and not self._uses.text(f"{folder}setup.py"):
            folder = folder_of(folder[:-1])
        return folder

    def _is_idle(self, folder: str, python: Sequence[str]) -> bool:
        training = self._uses.saying(b"backward", "") or ()
        if not any(kind_of(path) == PYTHON and not path.startswith(folder) for path, _ in training):
            return False  # it may be what the project is for
        inside = [path for path in python if path.startswith(folder)]
        if any(map(self._uses.is_installed, inside)):
            return False  # others may use what it installs
        stems = {path.rpartition("/")[2].removesuffix(".py") for path in inside} - _COMMON
        installed = {
            name.decode() for match in _NAMED.findall(self._uses.text(f"{folder}setup.py")) for name in match if name
        }
        words = {folder[:-1].rpartition("/")[2], *stems, *(name.rpartition(".")[2] for name in installed)}
        return not any(self._is_said(word, folder) for word in sorted(words))

    def _is_said(self, word: str, folder: str) -> bool:
        """Whether a file outside of a folder says a word, or may."""
        saying = self._uses.saying(word.encode(), folder)
        return saying is None or any(not path.startswith(folder) for path, _ in saying)


def of_idle_callers(result: FileResult, uses: Uses) -> dict[Finding, tuple[str, str]]:
    """What is said of native code that only files call which nothing runs."""
    native = {f: callers_of(f) for f in result.findings if is_only_told(f)}
    return {f: ("unused", callers[0]) for f, callers in native.items() if callers and all(map(uses.is_idle, callers))}
