"""The promises that every changed file keeps before a byte of it is written: once for every kind of file.

Each kind says what its edits are and how their port is checked; what breaks a promise stays as it was, and a finding names
the promise and the rules.
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
    """What is to be written of a file."""

    changes: tuple[Change, ...]  # as the analysis counts: of Python, in the UTF-8 text
    stored: tuple[
        Change, ...
    ]  # in offsets of the stored bytes: outside them the bytes are the old ones by construction
    codes: str
    unsafe: bool = False  # with the edits to review
    places: tuple[int, ...] = ()  # of the hits that bring them, in offsets of `changes`


class Promised(NamedTuple):
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
    """`written`: the automatic edits, then those with what is to be reviewed on top, where they differ; `check` raises
    Broken. What is to be reviewed falls alone; where the automatic edits fall, nothing is left."""
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
    """The port. Raises Broken where edits overlap or lie outside."""
    changes = edits.stored
    if any(a.end > b.start for a, b in itertools.pairwise(changes)) or changes[-1].end > len(data):
        raise Broken("overlap", codes=edits.codes)
    return apply(data, changes)
