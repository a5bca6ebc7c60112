"""What nobody has to act on is no finding: what may stay as it is, and what stands where nothing runs it. It is listed in the
inventory of the report. What is edited, suppressed or a matter of porter's own work is told as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from porter.engine.together import is_only_told
from porter.finding import FileResult, Finding
from porter.regex import lazy

# of `Finding.values`: porter/project/resting.py found that nothing runs the place
RESTS = frozenset({"unused", "never", "off", "apple", "demo"})
_OF_SERVICES = lazy(r"(?:^|/)\.(?:github|circleci|buildkite)/")  # they build for GPUs


def set_aside(results: Iterable[FileResult], may_stay: Callable[[str, str], bool]) -> list[FileResult]:
    """`may_stay`: of a code and its message."""

    def aside(finding: Finding) -> bool:
        if not is_only_told(finding):
            return False
        if not RESTS.isdisjoint(dict(finding.values)) or may_stay(finding.code, finding.why):
            return True
        return finding.severity == "note" and _OF_SERVICES.search(finding.path) is not None

    return [_split(result, aside) for result in results]


def _split(result: FileResult, aside: Callable[[Finding], bool]) -> FileResult:
    kept: list[Finding] = []
    rows: list[Finding] = []
    for finding in result.findings:
        (rows if aside(finding) else kept).append(finding)
    return replace(result, findings=tuple(kept), inventory=(*result.inventory, *rows)) if rows else result
