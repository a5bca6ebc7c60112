"""Finds the files that Python and scripts name to start or to load them: `["python", "train.py"]`, `import_module(name)` of a name
that stands in the same file."""

from __future__ import annotations

from collections.abc import Mapping

from porter.project.imports import Project
from porter.regex import lazy

_ENDS = lazy(rb"\.py\b")  # of the name of a Python file: fewer than letters, of which any may begin one
_STEM = lazy(rb"[\w-]+\Z")
_LONGEST = 80
_RUN = lazy(rb"-m[\"', \t]{1,6}([A-Za-z_][\w.]*)")  # the module of `python -m module`
_DOTTED = lazy(rb"[\"']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)[\"':]")  # "pkg.models.whisper", "pkg.cli:main"
# a file with one of these words may start another; it may load one
_STARTS = (b"subprocess", b"os.system", b"os.exec", b"runpy", b"spawn", b"Popen")
_LOADS = (b"import_module", b"__import__(")
_NAMESAKES = 3  # files of one name at most


class NamedFiles:
    """`texts`: the Python files of a project."""

    def __init__(self, project: Project, texts: Mapping[str, bytes]) -> None:
        self._project, self._texts = project, texts

    def by(self, path: str) -> set[str]:
        """The files that a Python file may start or load by their names."""
        text, found = self._texts.get(path, b""), set[str]()
        if any(word in text for word in _STARTS):
            found |= self.mentioned(text)
            for name in {name.decode() for name in _RUN.findall(text)}:
                found |= {*(self._project.below(name) if name.endswith(".") else self._project.named(path, name))}
        if any(word in text for word in _LOADS):
            for name in {name.decode() for name in _DOTTED.findall(text)}:
                found |= {*self._project.named(path, name)}
        return found

    def mentioned(self, text: bytes) -> set[str]:
        """The files whose names a text says."""
        paths: set[str] = set()
        for name in names_in(text):
            files = self._project.called(name)
            paths.update(files if len(files) <= _NAMESAKES else ())
        return paths


def names_in(text: bytes) -> set[str]:
    """The names of Python files that a text says: "train.py"."""
    found, last = set[str](), 0  # the end of the last name
    for match in _ENDS.finditer(text):
        if stem := _STEM.search(text, max(match.start() - _LONGEST, last), match.start()):
            last = match.end()
            found.add(text[stem.start() : last].decode())
    return found
