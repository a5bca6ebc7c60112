"""The one record that flows through everything, and what a file's analysis returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

SEVERITIES = ("blocker", "wrong", "slow", "note")
STATUSES = ("auto", "review", "manual")
# of a device or a backend that has one value in several places
SHARED = frozenset({"PRT120", "PRT122", "PRT123", "PRT201", "PRT202", "PRT209", "PRT825", "PRT830"})
# and the question that stands before such a value: `args.device if torch.cuda.is_available() else "cpu"`
DECIDED = SHARED | {"PRT101"}
EDITED = ("auto", "review")  # the statuses of findings with an edit
EFFORTS = ("minutes", "hours", "rewrite")


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """Bytes `start:end` of the file as it is on disk become `new`; an insertion is an empty range."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    path: str  # POSIX, relative to the root of the run
    line: int  # from 1
    column: int  # from 1, in characters
    code: str
    why: str  # which of the rule's messages: a key into rules/*.toml, so that the text exists in every language
    values: tuple[tuple[str, str], ...] = ()  # what the message's {placeholders} stand for
    end_line: int = field(default=0, compare=False)
    end_column: int = field(default=0, compare=False)
    severity: str = field(default="note", compare=False)
    status: str = field(default="manual", compare=False)
    effort: str = field(default="minutes", compare=False)
    edit: tuple[Change, ...] = field(default=(), compare=False)
    suppressed: str | None = field(default=None, compare=False)  # the reason given, "" for none; None = not suppressed
    # an opportunity: applied with --fuse alone, never in the readiness, a note
    optional: bool = field(default=False, compare=False)
    # the lines of its file where the same was found, and for which this one speaks; no report shows them
    stands_for: tuple[int, ...] = field(default=(), compare=False)


def rank(finding: Finding) -> tuple[int, str, int, int, str]:
    """For sorting: worst first, then by place."""
    place = finding.path, finding.line, finding.column
    return (SEVERITIES.index(finding.severity), *place, finding.code)


class Site(NamedTuple):
    """A place where a device or a backend is given to something, listed for it, passed to it or compared with it."""

    holder: str  # what holds the value: python/strings/holders.py
    offset: int  # where it stands, as the analysis of its file counts
    line: int
    # used (compared, looked up) | listed among others | option (its default) | passed (by a script) | setting | declared
    # | given (to a parameter) | unknown
    role: str
    status: str = ""  # auto | review | why it is not edited: suppressed, skipped, quiet, refused, manual


class Held(NamedTuple):
    """A place whose edit waits for another place, which has the same value and is not edited, or for review only."""

    path: str
    offset: int
    status: str  # review | manual
    why: str  # what keeps the other place as it is
    partner: str  # the other place, "path:line"
    files: str = ""  # all that have the value, where it is enough to name them in one run

    def values(self) -> tuple[tuple[str, str], ...]:
        """What the message of the place says of it."""
        return ((f"with_{self.why}", self.partner), *([("files", self.files)] if self.files else ()))


@dataclass(frozen=True, slots=True)
class FileResult:
    """All that leaves the analysis of one file: small and picklable, never a tree, never the new bytes.

    `auto` and `review` are edits of the same original bytes: `auto` is what `migrate` applies, `review` what
    `migrate --unsafe` applies (it includes the automatic ones).
    """

    path: str
    findings: tuple[Finding, ...] = ()  # sorted
    auto: tuple[Change, ...] = ()
    review: tuple[Change, ...] = ()
    lines: int = 0
    parsed: bool = False  # False where nothing in the bytes could concern porter, so that no parser saw the file
    digest: str = ""  # of the bytes that were read: what is written must start from the same bytes
    apis: tuple[tuple[str, int, int], ...] = ()  # the inventory: resolved names, how often, and the first line
    observed: tuple[tuple[str, str, int], ...] = ()  # what advice depends on: "value:lr", what it is, and the line
    sites: tuple[Site, ...] = ()  # of devices and backends
    ties: tuple[tuple[str, str], ...] = ()  # holders that have one value
    inventory: tuple[Finding, ...] = ()  # of which nothing has to be done: porter/project/set_aside.py


def apply(data: bytes, changes: tuple[Change, ...]) -> bytes:
    """The bytes after `changes`, which are sorted and do not overlap."""
    out: list[bytes] = []
    offset = 0
    for change in changes:
        out += (data[offset : change.start], change.new)
        offset = change.end
    out.append(data[offset:])
    return b"".join(out)


def trimmed(old: bytes, change: Change) -> Change:
    """Without what both sides share: the smallest range that carries the change, cut between characters."""
    before, after = old[change.start : change.end], change.new
    limit = min(len(before), len(after))
    head = 0
    while head < limit and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < limit - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    while head and (before[head : head + 1] or after[head : head + 1] or b"a")[0] & 0xC0 == 0x80:
        head -= 1
    while tail and before[len(before) - tail] & 0xC0 == 0x80:
        tail -= 1
    return Change(change.start + head, change.end - tail, after[head : len(after) - tail])
