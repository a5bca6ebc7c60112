"""Finds data sets that no loader gets: they give whole batches by a method `sample`, and no file that names them says a loader; or
the project has no loader at all.

Their items are then made in the process that trains, and workers never see them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from porter.files.paths import is_test
from porter.python.walks import statements
from porter.regex import lazy
from porter.spans import Span, span_of

# the files with a word, and their texts; None where nobody can tell
Saying = Callable[[bytes], "Iterable[tuple[str, bytes]] | None"]

_LOADS = lazy(rb"(?i)loader|trainer\b")
_SAMPLES = "sample"


class Unloaded:
    """The data sets of one file that no loader gets. `is_loading`: whether the project may have a loader."""

    def __init__(self, tree: ast.Module | None, saying: Saying, is_loading: bool) -> None:
        self._classes = {n.name: n for n in statements(tree) if isinstance(n, ast.ClassDef)} if tree else {}
        self._spans: dict[Span, str] = {(n.lineno, n.end_lineno or n.lineno): n.name for n in self._classes.values()}
        self._saying, self._is_loading = saying, is_loading
        self._known: dict[str, bool] = {}

    def at(self, line: int) -> str:
        """The name of the data set around a line; "" for none."""
        span = span_of(line, sorted(self._spans))
        name = self._spans[span] if span else ""
        if name and name not in self._known:
            heirs = self._heirs(name) if self._is_loading else []
            self._known[name] = not any(map(self._is_loaded, heirs)) and (not heirs or self._samples(name))
        return name if name and self._known[name] else ""

    def _samples(self, name: str) -> bool:
        return any(getattr(node, "name", "") == _SAMPLES for node in self._classes[name].body)

    def _heirs(self, name: str) -> list[str]:
        """The class and those of this file that derive from it."""
        heirs = [name]
        for heir in heirs:  # which grows
            for one in self._classes.values():
                if one.name not in heirs and any(getattr(base, "id", "") == heir for base in one.bases):
                    heirs.append(one.name)
        return heirs

    def _is_loaded(self, name: str) -> bool:
        files, whole = self._saying(name.encode()), re.compile(rb"\b%s\b" % re.escape(name.encode()))
        if files is None:
            return True
        naming = (text for path, text in files if not is_test(path) and whole.search(text))
        return any(_LOADS.search(text) for text in naming)
