"""Makes one finding of the places of one value that wait for the same place, which porter cannot edit: whoever decides there what
becomes of the value changes them all.

What each of them is (an option, a comparison, a setting) is told by the first alone; the others are its places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from porter.engine.together import may_fold
from porter.files.paths import is_test
from porter.finding import SEVERITIES, FileResult, Finding
from porter.project.set_aside import RESTS
from porter.project.told_together import of_all

_OF_VALUES = frozenset({"PRT120", "PRT122", "PRT123", "PRT201", "PRT202"})
# the values with the place that is waited for: it is a person's, or stands where porter refused an edit
_WAITS = frozenset({"with_manual", "with_refused"})


def told_by_decision(results: Iterable[FileResult], may_stay: Callable[[str, str], bool]) -> list[FileResult]:
    """The results with one finding for each place that others wait for: the finding at that place, where it says what a person
    has to do there. `may_stay`: whether findings of a code and message need no action; such a one speaks for no others."""
    files = list(results)
    waiting: dict[str, list[Finding]] = {}
    for finding in (f for result in files for f in result.findings if may_fold(f)):
        if not RESTS.isdisjoint(dict(finding.values)):
            continue
        for key, partner in finding.values:
            if key in _WAITS:
                waiting.setdefault(partner, []).append(finding)
    if not waiting:
        return files
    deciding = (f for result in files for f in result.findings if _may_decide(f) and not may_stay(f.code, f.why))
    at = {f"{f.path}:{f.line}": f for f in deciding}
    told: dict[Finding, Finding] = {}
    left: set[Finding] = set()
    for partner, several in waiting.items():
        own = at.get(partner)
        group = [*([own] if own else ()), *sorted(several, key=_first)]
        if len(group) > 1:
            worst = min((f.severity for f in group), key=SEVERITIES.index)
            told[group[0]] = replace(of_all(group), severity=worst)
            left.update(group[1:])

    def folded(result: FileResult) -> FileResult:
        kept = (told.get(f, f) for f in result.findings if f not in left)
        return replace(result, findings=tuple(sorted(kept)))

    return list(map(folded, files))


def _may_decide(finding: Finding) -> bool:
    """Whether a finding is of a device or a backend in code that runs, and waits for no other."""
    known = dict(finding.values)
    return finding.code in _OF_VALUES and may_fold(finding) and _WAITS.isdisjoint(known) and RESTS.isdisjoint(known)


def _first(finding: Finding) -> tuple[int, bool, Finding]:
    """For sorting: the worst speaks, a test only if there is no other."""
    return SEVERITIES.index(finding.severity), is_test(finding.path), finding
