"""The one thing every format is rendered from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from porter.catalog.read.verdict import Verdict
from porter.engine.facts import Roads
from porter.engine.session import Session
from porter.finding import FileResult, Finding
from porter.report.findings import Findings
from porter.report.verdicts import moved, verdict
from porter.target import Target

if TYPE_CHECKING:
    from porter.files.documents import Json
    from porter.project.route_signals import Gathered, Signal
    from porter.rulebook.effort import Rate
    from porter.rulebook.texts import ApiText, Texts

PLACES = 3  # of an API, the first in so many files


class View(NamedTuple):
    """How a terminal shows it."""

    kind: str = "text"  # one screen of causes | concise, grouped, full: every place
    asked: str = "."  # what was analysed, as it is typed after a command
    width: int = 100  # columns
    verbose: bool = False  # with symptoms, efforts and notes
    notes: bool = False  # with notes


class Project(NamedTuple):
    """What is analysed, as a reader of the report knows it."""

    name: str = ""  # of its folder
    commit: str = ""  # the whole id, where the folder is the top of a git checkout
    source_url: str = ""  # where its files can be read: what porter.report.links fills


class Api(NamedTuple):
    name: str
    uses: int
    files: int
    places: tuple[str, ...]  # path:line
    verdict: Verdict | None  # what it is on the target; None for what is none of torch's
    move: ApiText | None  # what becomes of a name that the rules move


@dataclass(frozen=True)
class Scan:
    """What was read."""

    files: tuple[FileResult, ...]  # sorted by path
    data: Callable[[str], bytes | None] | None = field(default=None, repr=False, compare=False)  # as it was analysed
    left_out: tuple[str, ...] = ()  # directories, for their name alone
    launcher: str = ""  # the shell script that starts the training
    project: Project = Project()
    roads: Roads = Roads()  # from which files nothing leads to torch
    # launch scripts and settings files of the project; without them there is no advice
    scripts: Callable[[], Iterable[tuple[str, bytes]]] | None = field(default=None, repr=False, compare=False)
    rates: tuple[Rate, ...] = ()  # what the project says of rules/effort.toml
    earlier: tuple[str, Json] | None = None  # the name and the document of a report to compare with
    edited: int = 0  # places that porter edited in these files before, as its journal knows

    @property
    def parsed(self) -> int:
        return sum(file.parsed for file in self.files)

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)

    def bytes(self, path: str) -> bytes:
        """Raises FilesError where they are not at hand, or are not what was analysed."""
        from porter.files.errors import FilesError

        data = self.data(path) if self.data else None
        if data is None:
            raise FilesError("missing", path=path)
        return data


@dataclass(frozen=True)
class Report:
    version: str
    session: Session  # whose rules know the texts
    scan: Scan
    known: frozenset[Finding] = frozenset()  # in the baseline
    lang: str = "en"
    prefix: str = ""  # what to put before a path so that it can be opened from where the command runs
    root: str = "."  # where paths are relative to, seen from there
    view: View = View()

    @property
    def target(self) -> Target:
        return self.session.target

    @cached_property
    def texts(self) -> Texts:
        """Not those that the rules have: a run that finds nothing to look at loads no rule."""
        from porter.rulebook.portable_texts import STYLE, PortableTexts
        from porter.rulebook.texts import Texts

        return PortableTexts() if self.target.style == STYLE else Texts()

    @cached_property
    def findings(self) -> Findings:
        return Findings(self.scan.files, self.known)

    @cached_property
    def apis(self) -> list[Api]:
        """The inventory: every resolved name, how often and where it occurs; most used first."""
        counts: Counter[str] = Counter()
        places: dict[str, list[str]] = {}
        for file in self.scan.files:
            for name, n, line in file.apis:
                counts[name] += n
                places.setdefault(name, []).append(f"{file.path}:{line}")
        rows = (self._api(name, n, places[name]) for name, n in counts.items())
        return sorted(rows, key=lambda row: (-row.uses, row.name))

    def _api(self, name: str, uses: int, places: Sequence[str]) -> Api:
        session, move = self.session, moved(self.session.support, self.texts, name, self.target)
        known = verdict(session.support, session.rules, name, move)
        return Api(name, uses, len(places), tuple(places[:PLACES]), known, move)

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """What the text of the repository says about its frameworks, and so about its route."""
        from porter.project.route_signals import present

        if self.scan.data is None:
            return ()
        return present((file.path for file in self.scan.files), self.scan.data, self.texts.named("signals"))

    @cached_property
    def gathered(self) -> Gathered:
        """What it says about its packages and scripts."""
        from porter.project.route_signals import Gathered, gather
        from porter.rulebook import table

        if self.scan.data is None:
            return Gathered()
        return gather((file.path for file in self.scan.files), self.scan.data, table.load().packages)

    def message(self, finding: Finding) -> str:
        return self.texts.message(finding, self.lang)
