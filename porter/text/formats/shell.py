"""Shell scripts: parsed with tree-sitter, edited word by word."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate

from porter.errors import Unreadable
from porter.text.document import Document, TextHit
from porter.text.shells import commands, heredocs, installs, launches, variables
from porter.text.shells.script import Script, masked, parse

MARK = "#"


def read(document: Document) -> Script:
    if "\0" in document.text:
        raise Unreadable("text", "binary", 1)
    return parse(masked(document.text))


def look(document: Document, script: Script) -> Iterator[TextHit]:
    yield from hits(document, script)
    yield from launches.launcher(document, script)


def hits(document: Document, script: Script, *, safe: bool = True) -> Iterator[TextHit]:
    """Of shell wherever it stands; `safe`: edits may be made without a look."""
    safe = safe and not document.session.facts.knows_npus(document.path)
    broken = _broken(script)
    yield from unique(hit for hit in found(document, script, safe=safe) if not broken(hit))
    for start, end in script.broken[:1]:
        yield TextHit(start, end, "PRT002", "part")


def found(document: Document, script: Script, *, safe: bool = True) -> Iterator[TextHit]:
    yield from variables.look(document, script, safe=safe)
    yield from commands.look(document, script, safe=safe)
    yield from installs.look(document, script)
    yield from launches.look(document, script, safe=safe)
    yield from heredocs.look(document, script)


def _broken(script: Script) -> Callable[[TextHit], bool]:
    starts, reached = [start for start, _ in script.broken], [*accumulate((end for _, end in script.broken), max)]

    def is_broken(hit: TextHit) -> bool:
        before = bisect_left(starts, hit.end)  # as many begin before it ends
        return before > 0 and hit.start < reached[before - 1]

    return is_broken


def unique(hits: Iterator[TextHit]) -> Iterator[TextHit]:
    """A command inside another is met with either; what only a person can do is said once for the same words."""
    said = set()
    for hit in hits:
        key = (hit.code, hit.start) if hit.edits else (hit.code, hit.why, hit.values)
        if key not in said:
            said.add(key)
            yield hit


def same(before: Script, after: Script) -> bool:
    return before.shape == after.shape
