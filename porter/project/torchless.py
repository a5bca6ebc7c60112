"""Sets aside what is said of a project none of whose programs loads torch. There is nothing to port, also where they use a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from porter.engine.together import is_only_told
from porter.files.kinds import NOTEBOOK, PYTHON, kind_of
from porter.finding import FileResult, Finding

_WHY = ("torchless", "torch")


def torchless(
    results: Iterable[FileResult], loads_torch: bool, listing: Callable[[], Sequence[str]]
) -> list[FileResult]:
    """`loads_torch`: some file may load it. `listing`: the files of the project; without programs of its own, what its scripts start
    lies elsewhere."""
    files = list(results)
    if loads_torch or not any(kind_of(path) in (PYTHON, NOTEBOOK) for path in listing()):
        return files
    return [replace(result, findings=tuple(map(_as_note, result.findings))) for result in files]


def _as_note(finding: Finding) -> Finding:
    if finding.code.startswith("PRT0") or not is_only_told(finding):
        return finding  # what porter could not do, or writes
    return replace(finding, severity="note", values=(*finding.values, _WHY))
