"""Checks the promises of a port before a byte is written, for files of every kind.

Each kind of file says what its edits are and how their port is checked. A file whose port would break a promise stays as it
is, and a finding names the promise and the rules.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from porter.engine.refusals import own, without
from porter.engine.session import Session
from porter.errors import Broken
from porter.finding import Change, Finding, apply


class Edits(NamedTuple):
    """The edits of one file."""

    changes: tuple[Change, ...]  # of a Python file, in offsets of the UTF-8 text; () for other files
    # the same in offsets of the bytes on disk. All other bytes stay as they are, because only these are replaced
    stored: tuple[Change, ...]
    codes: str  # of the rules that made the edits
    unsafe: bool = False  # the edits to review are among them
    places: tuple[int, ...] = ()  # of the hits that made the edits, in offsets of the UTF-8 text


class Promised(NamedTuple):
    """The findings, and the edits that keep all promises. `refused`: some edits did not."""

    findings: list[Finding]
    auto: tuple[Change, ...]
    review: tuple[Change, ...]
    refused: bool


def promised(
    path: str,
    findings: Iterable[Finding],
    written: Iterable[Edits | Broken],
    check: Callable[[Edits], None],
    session: Session,
) -> Promised:
    """Keeps the edits that pass `check`, which raises Broken for the others. `written`: the automatic edits, and then, if they
    differ, all edits with those to review. If all edits fail, the automatic ones stay; if these fail, none stays."""
    findings, kept, refused = list(findings), [], False
    for edits in written:
        try:
            if isinstance(edits, Broken):
                raise edits
            if edits.stored:
                check(edits)
            kept.append(edits.stored)
        except Broken as broken:
            values: dict[str, Any] = broken.values
            findings.append(own(path, broken.line, broken.code, broken.key, session, **values))
            findings, refused = without(findings, *("review",) if kept else ("auto", "review")), True
            break
    kept = kept or [()]
    return Promised(findings, kept[0], kept[-1], refused)


def applied(data: bytes, edits: Edits) -> bytes:
    """The bytes of the port. Raises Broken if edits overlap or lie outside the file."""
    changes = edits.stored
    if any(a.end > b.start for a, b in itertools.pairwise(changes)) or changes[-1].end > len(data):
        raise Broken("overlap", codes=edits.codes)
    return apply(data, changes)
