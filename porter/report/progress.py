"""How far the port is: places that were in the way and are not any more, against all of them.

What was there at first is known from an earlier report, or from the edits that runs on record have made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from porter.engine.together import paths_of
from porter.files.documents import Json
from porter.report.findings import stands_in_the_way
from porter.report.sanitise import line
from porter.rulebook.words import speaker

say = speaker("report")

if TYPE_CHECKING:
    from porter.report.model import Report

_SHOWN = ("path", "line", "column", "code", "severity", "message")  # of a finding that is gone


class Progress(NamedTuple):
    resolved: int
    initial: int  # those and what is left, what is new included
    new: int = 0
    since: str = ""  # the earlier report; empty: the edits on record
    fixed: tuple[Json, ...] = ()
    added: tuple[str, ...] = ()  # fingerprints of what is new

    @property
    def document(self) -> Json:
        return {**self._asdict(), "fixed": [*self.fixed], "added": [*self.added]}


def of_report(report: Report) -> Progress | None:
    if report.scan.earlier is None:
        return of_edits(report.scan.edited, report.findings.readiness[1])
    name, document = report.scan.earlier
    return since(document, name, report.findings.in_the_way(report.scan.bytes))


def of_edits(edited: int, left: int) -> Progress | None:
    """Of places that porter edited here, and those that are left."""
    return Progress(edited, edited + left) if edited else None


def since(earlier: Json, name: str, now: Mapping[str, int]) -> Progress | None:
    """`now`: how many places each finding has that stands in the way today, by fingerprint."""
    before = {f["fingerprint"]: f for f in earlier["findings"] if is_in_the_way(f)}
    gone = [f for mark, f in before.items() if mark not in now]
    added = [mark for mark in now if mark not in before]
    resolved, left = sum(map(places_of, gone)), sum(now.values())
    if not resolved + left:
        return None
    rows = tuple({key: f[key] for key in _SHOWN} for f in gone)
    return Progress(resolved, resolved + left, sum(now[mark] for mark in added), name, rows, tuple(added))


def of_documents(earlier: Json, name: str, later: Json) -> Progress | None:
    return since(earlier, name, {f["fingerprint"]: places_of(f) for f in later["findings"] if is_in_the_way(f)})


def is_in_the_way(finding: Json) -> bool:
    return finding["suppressed"] is None and stands_in_the_way(finding["code"], finding["severity"])


def places_of(finding: Json) -> int:
    """With those that it names beside its own."""
    return len(paths_of(finding["path"], finding["values"]))


def sentence(progress: Json, lang: str) -> str:
    """`102 of 144 places resolved (70 %), 3 of the others are new since then.json`."""
    percent = 100 * progress["resolved"] // progress["initial"]
    counted = {key: f"{progress[key]:,}" for key in ("resolved", "initial", "new")}
    key = "progress.edits" if not progress["since"] else "progress.new" if progress["new"] else "progress.since"
    return say(key, lang, **counted, percent=percent, since=line(progress["since"]))
