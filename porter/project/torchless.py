"""Sets aside what is said of a project that computes with another framework, and none of whose files loads torch. There is nothing to
port, also where it uses a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from porter.engine.together import is_only_told
from porter.files.kinds import PYTHON, kind_of
from porter.finding import FileResult, Finding
from porter.project.imports import imports
from porter.project.loads_torch import loads, may_load
from porter.project.other_frameworks import always_imports_another, computes_otherwise

_WHY = ("torchless", "torch")


def torchless(
    results: Iterable[FileResult], speaks: bool, listing: Callable[[], Sequence[str]], text: Callable[[str], bytes]
) -> list[FileResult]:
    """`speaks`: some program, list or script of the project speaks of torch. `listing`: its files. `text`: of a file. Where no program
    has another framework, a library may load torch for it, or scripts start what lies elsewhere."""
    files = list(results)
    texts = () if speaks else tuple(text(path) for path in listing() if kind_of(path) == PYTHON)
    if not any(always_imports_another(imports(data)) for data in texts if computes_otherwise(data)):
        return files
    if any(loads(data, imports(data)) for data in texts if may_load(data)):
        return files  # tests may be all that does
    return [replace(result, findings=tuple(map(_as_note, result.findings))) for result in files]


def _as_note(finding: Finding) -> Finding:
    if finding.code.startswith("PRT0") or not is_only_told(finding):
        return finding  # what porter could not do, or writes
    return replace(finding, severity="note", values=(*finding.values, _WHY))
