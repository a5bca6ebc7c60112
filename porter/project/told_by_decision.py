"""Makes one finding of the places of one value that wait for the same place, which porter cannot edit: whoever decides there what
becomes of the value changes them all.

What each of them is (an option, a comparison, a setting) is told by the first alone; the others are its places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from porter.engine.together import may_fold
from porter.files.paths import is_test
from porter.finding import SEVERITIES, FileResult, Finding
from porter.project.told_together import of_all

# the values with the place that is waited for: it is a person's, or stands where porter refused an edit
_WAITS = frozenset({"with_manual", "with_refused"})


def told_by_decision(results: Iterable[FileResult]) -> list[FileResult]:
    """The results with one finding for each place that others wait for."""
    files = list(results)
    waiting: dict[tuple[str, str], list[Finding]] = {}
    for finding in (f for result in files for f in result.findings if may_fold(f)):
        for key, partner in finding.values:
            if key in _WAITS:
                waiting.setdefault((key, partner), []).append(finding)
    groups = [sorted(several, key=_first) for several in waiting.values() if len(several) > 1]
    told = {several[0]: of_all(several) for several in groups}
    left = {f for several in groups for f in several[1:]}
    if not told:
        return files

    def folded(result: FileResult) -> FileResult:
        kept = (told.get(f, f) for f in result.findings if f not in left)
        return replace(result, findings=tuple(sorted(kept)))

    return list(map(folded, files))


def _first(finding: Finding) -> tuple[int, bool, Finding]:
    """For sorting: the worst speaks, a test only if there is no other."""
    return SEVERITIES.index(finding.severity), is_test(finding.path), finding
