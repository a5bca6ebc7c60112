"""Finds loaders whose items take next to no time to make, as nothing that leads to them decodes images, sound, video or arrays: worker
processes would gain little.
"""

from __future__ import annotations

import re

from porter.engine.together import is_only_told
from porter.files.kinds import NOTEBOOK, PYTHON, kind_of
from porter.finding import FileResult, Finding
from porter.project.imports import lines_of_cells
from porter.project.unused import Uses
from porter.regex import lazy
from porter.rulebook.table import any_of

_WORKERS = ("PRT633", "missing")  # the advice to give a loader workers
_DECODES = lazy(any_of("reads-what-is-decoded").encode(), re.MULTILINE)


def of(result: FileResult, uses: Uses) -> dict[Finding, tuple[str, str]]:
    """The advice about such loaders of a file."""
    told = [f for f in result.findings if (f.code, f.why) == _WORKERS and is_only_told(f)]
    if not told or _decodes(result.path, uses):
        return {}
    return dict.fromkeys(told, ("light", result.path))


def _decodes(path: str, uses: Uses) -> bool:
    if kind_of(path) == NOTEBOOK:
        return _DECODES.search(lines_of_cells(uses.text(path))) is not None
    return kind_of(path) != PYTHON or uses.comes_to(path, _DECODES)
