"""The findings of a run: which are open, which are hidden, and the numbers in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property

from porter.engine.together import paths_of
from porter.finding import EFFORTS, SEVERITIES, STATUSES, FileResult, Finding, rank

DEPENDENT = ("blocker", "wrong", "slow")  # a note is no place that stands in the way
REFUSED = ("PRT002", "PRT003")  # could not be parsed; could not be analysed or written


def stands_in_the_way(code: str, severity: str) -> bool:
    """Whether a finding is a place that the readiness counts: neither about porter itself nor a note, and of the
    performance family only what would not run. What is merely slow there depends on CUDA no more than on NPUs."""
    if code.startswith("PRT0") or severity not in DEPENDENT:
        return False
    return severity != "slow" or not code.startswith("PRT6")


class Findings:
    def __init__(self, files: Iterable[FileResult], known: frozenset[Finding] = frozenset()):
        """`known`: those in the baseline."""
        self.all = tuple(sorted((f for file in files for f in file.findings), key=lambda f: (rank(f), f)))
        self.known = known

    @cached_property
    def open(self) -> tuple[Finding, ...]:
        """What is neither suppressed nor known: what decides the exit code."""
        return tuple(f for f in self.all if f.suppressed is None and f not in self.known)

    @cached_property
    def due(self) -> tuple[Finding, ...]:
        """The open findings that are more than an opportunity."""
        return tuple(f for f in self.open if not f.optional)

    @cached_property
    def suppressed(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.all if f.suppressed is not None)

    @cached_property
    def old(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.all if f.suppressed is None and f in self.known)

    @cached_property
    def refused(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.all if f.code in REFUSED)

    @cached_property
    def unseen(self) -> tuple[Finding, ...]:
        """What was to be analysed and was not: whether that depends on CUDA nobody knows."""
        return tuple(f for f in self.refused if f.suppressed is None and f.severity in DEPENDENT)

    @cached_property
    def by_file(self) -> list[tuple[str, list[Finding]]]:
        """Open findings: the file with the worst one first, worst first inside."""
        groups: dict[str, list[Finding]] = {}
        for finding in self.open:
            groups.setdefault(finding.path, []).append(finding)
        return sorted(groups.items(), key=lambda item: (SEVERITIES.index(item[1][0].severity), item[0]))

    @cached_property
    def table(self) -> dict[str, dict[str, int]]:
        """How many open findings of each severity have each status; opportunities are not among them."""
        counts = Counter((f.severity, f.status) for f in self.due)
        return {severity: {status: counts[severity, status] for status in STATUSES} for severity in SEVERITIES}

    @cached_property
    def efforts(self) -> dict[str, int]:
        """What is left for a person: open findings of status manual, by effort."""
        counts = Counter(f.effort for f in self.open if f.status == "manual" and f.severity in DEPENDENT)
        return {effort: counts[effort] for effort in EFFORTS}

    @cached_property
    def readiness(self) -> tuple[int, int]:
        """CUDA-dependent places that porter ports by itself, and all of them; the baseline does not hide any."""
        counted = [f for f in self.all if f.suppressed is None and stands_in_the_way(f.code, f.severity)]
        return sum(f.status == "auto" for f in counted), sum(len(paths_of(f.path, dict(f.values))) for f in counted)

    def in_the_way(self, data: Callable[[str], bytes]) -> dict[str, int]:
        """How many places each of those has, by fingerprint."""
        from porter.run.baseline import fingerprints

        marks = fingerprints(self.all, data)
        return {
            marks[f]: len(paths_of(f.path, dict(f.values)))
            for f in self.all
            if f.suppressed is None and stands_in_the_way(f.code, f.severity)
        }

    def fails(self, severity: str) -> bool:
        """Is an open finding at or above `severity`?"""
        limit = SEVERITIES.index(severity)
        return any(SEVERITIES.index(f.severity) <= limit for f in self.due)
