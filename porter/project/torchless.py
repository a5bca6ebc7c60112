"""Sets aside what is said of a project none of whose programs loads torch. There is nothing to port, also where they use a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from porter.engine.together import is_only_told
from porter.files.kinds import NOTEBOOK, PYTHON, kind_of
from porter.finding import FileResult, Finding
from porter.project.imports import imports
from porter.project.loads_torch import loads, may_load

_WHY = ("torchless", "torch")


def torchless(
    results: Iterable[FileResult], speaks: bool, listing: Callable[[], Sequence[str]], text: Callable[[str], bytes]
) -> list[FileResult]:
    """`speaks`: some program, list or script of the project speaks of torch. `listing`: its files; without programs of its own, what
    its scripts start lies elsewhere. `text`: of a file; tests may load torch and be all that does."""
    files = list(results)
    programs = () if speaks else [path for path in listing() if kind_of(path) in (PYTHON, NOTEBOOK)]
    if not programs or any(loads(data, imports(data)) for data in map(text, programs) if may_load(data)):
        return files
    return [replace(result, findings=tuple(map(_as_note, result.findings))) for result in files]


def _as_note(finding: Finding) -> Finding:
    if finding.code.startswith("PRT0") or not is_only_told(finding):
        return finding  # what porter could not do, or writes
    return replace(finding, severity="note", values=(*finding.values, _WHY))
