"""The one thing every format is rendered from, and the numbers in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from porter.catalog.read.verdict import DEPRECATED, MISSING, SUPPORTED, Support, Verdict
from porter.engine.facts import Roads
from porter.engine.session import Session
from porter.finding import EFFORTS, SEVERITIES, STATUSES, FileResult, Finding
from porter.target import Target

if TYPE_CHECKING:
    from porter.project.route_signals import Gathered
    from porter.rulebook.texts import ApiText, Texts

DEPENDENT = ("blocker", "wrong", "slow")  # a note is no place that stands in the way
REFUSED = ("PRT002", "PRT003")  # could not be parsed; could not be analysed or written
PLACES = 3  # of an API, the first in so many files


class Api(NamedTuple):
    name: str
    count: int
    files: int
    places: tuple[str, ...]  # path:line
    verdict: Verdict | None  # what it is on the target; None for what is none of torch's


def verdict(known: Support, name: str, rule: ApiText | None) -> Verdict | None:
    """What a name is on the target; a rule that moves it elsewhere, or says that it stays or is out of date, knows more
    than the names alone."""
    found = known.of(name)
    if found is None or rule is None:
        return found
    if found.kind == MISSING and (rule.to or rule.stays):
        return replace(found, kind=SUPPORTED, to=(rule.to,) if rule.to else ())
    if found.kind == SUPPORTED and not rule.to and name.startswith("torch_npu."):
        return replace(found, kind=DEPRECATED)
    return found


def stands_in_the_way(code: str, severity: str) -> bool:
    """Whether a finding is a place that the readiness counts: neither about porter itself nor a note, and of the
    performance family only what would not run. What is merely slow there depends on CUDA no more than on NPUs."""
    if code.startswith("PRT0") or severity not in DEPENDENT:
        return False
    return severity != "slow" or not code.startswith("PRT6")


@dataclass(frozen=True)
class Report:
    version: str
    target: Target
    files: tuple[FileResult, ...]  # sorted by path
    session: Session  # whose rules know the texts
    lang: str = "en"
    left_out: tuple[str, ...] = ()  # directories, for their name alone
    known: frozenset[Finding] = frozenset()  # in the baseline
    prefix: str = ""  # what to put before a path so that it can be opened from where the command runs
    root: str = "."  # where paths are relative to, seen from there
    detail: int = 0  # -1 findings only, 0, 1 everything
    data: Callable[[str], bytes | None] | None = field(default=None, repr=False, compare=False)  # as it was analysed
    launcher: str = ""  # the shell script that starts the training
    roads: Roads = Roads()  # from which files nothing leads to torch
    # launch scripts and settings files of the project; without them there is no advice
    scripts: Callable[[], Iterable[tuple[str, bytes]]] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def texts(self) -> Texts:
        return self.session.rules.texts

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(sorted((f for file in self.files for f in file.findings), key=lambda f: (f.rank, f)))

    @cached_property
    def open(self) -> tuple[Finding, ...]:
        """What is neither suppressed nor known: what decides the exit code."""
        return tuple(f for f in self.findings if f.suppressed is None and f not in self.known)

    @cached_property
    def due(self) -> tuple[Finding, ...]:
        """The open findings that are more than an opportunity."""
        return tuple(f for f in self.open if not f.optional)

    @cached_property
    def suppressed(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.suppressed is not None)

    @cached_property
    def old(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.suppressed is None and f in self.known)

    @property
    def scanned(self) -> int:
        return len(self.files)

    @property
    def parsed(self) -> int:
        return sum(file.parsed for file in self.files)

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

    def bytes(self, path: str) -> bytes:
        """Raises FilesError where they are not at hand, or are not what was analysed."""
        from porter.files.errors import FilesError

        data = self.data(path) if self.data else None
        if data is None:
            raise FilesError("missing", path=path)
        return data

    @cached_property
    def readiness(self) -> tuple[int, int]:
        """CUDA-dependent places that porter ports by itself, and all of them; the baseline does not hide any."""
        places = [f for f in self.findings if f.suppressed is None and stands_in_the_way(f.code, f.severity)]
        return sum(f.status == "auto" for f in places), len(places)

    @cached_property
    def refused(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.code in REFUSED)

    @cached_property
    def by_file(self) -> list[tuple[str, list[Finding]]]:
        """Open findings: the file with the worst one first, worst first inside."""
        groups: dict[str, list[Finding]] = {}
        for finding in self.open:
            groups.setdefault(finding.path, []).append(finding)
        return sorted(groups.items(), key=lambda item: (SEVERITIES.index(item[1][0].severity), item[0]))

    @cached_property
    def apis(self) -> list[Api]:
        """The inventory: every resolved name, how often and where it occurs; most used first."""
        counts: Counter[str] = Counter()
        places: dict[str, list[str]] = {}
        for file in self.files:
            for name, n, line in file.apis:
                counts[name] += n
                places.setdefault(name, []).append(f"{file.path}:{line}")
        rows = (
            Api(name, n, len(places[name]), tuple(places[name][:PLACES]), self._verdict(name))
            for name, n in counts.items()
        )
        return sorted(rows, key=lambda row: (-row.count, row.name))

    def _verdict(self, name: str) -> Verdict | None:
        return verdict(self.session.support, name, self.texts.api(name, self.target))

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)

    @cached_property
    def gathered(self) -> Gathered:
        """What the text of the repository says about its frameworks, packages and scripts."""
        from porter.project.route_signals import Gathered, gather
        from porter.rulebook import table

        if self.data is None:
            return Gathered()
        paths = (file.path for file in self.files)
        return gather(paths, self.data, self.texts.signals(), table.load().packages)

    def fails(self, severity: str) -> bool:
        """Is an open finding at or above `severity`?"""
        limit = SEVERITIES.index(severity)
        return any(SEVERITIES.index(f.severity) <= limit for f in self.due)

    def message(self, finding: Finding) -> str:
        return self.texts.message(finding, self.lang)
