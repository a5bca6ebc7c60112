"""The mark on each inserted line: it tells the line from the user's own, and whether somebody changed it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from porter.finding import Change
from porter.python.index import Node
from porter.python.source import Source
from porter.regex import lazy

SPOKEN = b"# porter: instrument"
_MARKED = lazy(rb"[ \t\f]*(.*?)  # porter: instrument ([0-9a-f]{6})( last)?[ \t]*$")
_BLANKS = lazy(rb"[ \t\f]*")


class Line(NamedTuple):
    """A line to insert, without its indentation."""

    text: str
    beside: Node  # the statement
    below: bool = False


class Crowded(Exception):
    """Other statements share the line of the one that a line belongs to."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class Changed(Exception):
    """Somebody changed an inserted line."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def insertions(source: Source, lines: Iterable[Line]) -> tuple[list[Change], list[tuple[int, Line]]]:
    """The edits in the order of the file, and the lines that have no place, with the number of the line in question."""
    placed: list[tuple[int, int, bool, int, Change]] = []
    crowded = []
    for line in lines:
        try:
            change = insertion(source, line)
        except Crowded as crowd:
            crowded.append((crowd.line, line))
        else:
            # behind one and the same line end inner blocks first, then what belongs to the statement above
            placed.append((change.start, -line.beside.col_offset, not line.below, len(placed), change))
    return [change for *_, change in sorted(placed)], crowded


def insertion(source: Source, line: Line) -> Change:
    """Raises Crowded."""
    first = min([line.beside, *getattr(line.beside, "decorator_list", ())], key=lambda node: node.lineno)
    start = source.starts[first.lineno - 1]
    span = source.span(line.beside)
    indent = source.indentation(span[0])
    begins = source.starts[line.beside.lineno - 1] + len(indent) == span[0]
    if not line.below:
        if not begins:
            raise Crowded(line.beside.lineno)
        return Change(start, start, indent + _marked(line.text) + source.newline)
    before, behind = source.line_end(span[1])
    blanks = _BLANKS.match(source.utf8, span[1], before)
    follows = blanks.end() if blanks else before
    if not begins or follows < before and source.utf8[follows : follows + 1] != b"#":
        raise Crowded(line.beside.lineno)
    if before == behind:  # the last line has no newline, and shall have none
        return Change(before, before, source.newline + indent + _marked(line.text) + b" last")
    return Change(behind, behind, indent + _marked(line.text) + source.newline)


def _marked(text: str) -> bytes:
    return f"{text}  ".encode() + SPOKEN + b" " + _seal(text.encode())


def _seal(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:6].encode()


def removals(source: Source) -> Iterator[Change]:
    """Edits that take all inserted lines out. Raises Changed."""
    if SPOKEN not in source.utf8:
        return
    open_line = 0  # where lines begin that stand below what was the last line of the file
    for number, _, comment in source.comments:
        if not comment.startswith(SPOKEN.decode()):
            continue
        start = source.starts[number - 1]
        before, behind = source.line_end(start)
        match = _MARKED.match(source.utf8, start, before)
        if match is None or _seal(match[1]) != match[2]:
            raise Changed(number)
        if match[3] and number > 1 and before != behind and _goes_on(source, number):
            open_line = open_line or number
            continue
        if match[3] and before == behind:  # its newline is the one in front of it
            number, open_line = open_line or number, 0
            start = source.line_end(source.starts[max(number - 2, 0)])[0]
        yield Change(start, behind, b"")


def _goes_on(source: Source, number: int) -> bool:
    """Whether the file ends in more such lines."""
    rest = source.utf8[source.starts[number] :] if number < len(source.starts) else b""
    return (
        bool(rest)
        and all(_MARKED.match(line) and b" last" in line for line in rest.splitlines())
        and rest[-1:] not in (b"\n", b"\r")
    )


def without(data: bytes) -> bytes:
    """A file as it is without the inserted lines. Raises Changed, and Unreadable of what porter cannot read."""
    from porter.finding import apply

    source = Source(data)
    return apply(data, source.stored.edits(tuple(removals(source))))


def renewed(old: bytes, added: list[Change]) -> tuple[Change, ...]:
    """Edits of a file that take its inserted lines out and put others in; `added` are edits of the text without them."""
    source, gone = Source(old), 0
    taken: dict[int, tuple[int, bytes]] = {}
    places: dict[int, int] = {}  # in the bare text -> in the text as it is
    for change in removals(source):
        bare = change.start - gone
        start, text = taken.get(bare, (change.start, b""))
        taken[bare] = start, text + source.utf8[change.start : change.end]
        gone += change.end - change.start
        places[bare] = gone
    changes = []
    for at in sorted({*taken, *(change.start for change in added)}):
        new = b"".join(change.new for change in added if change.start == at)
        before = max((shift for bare, shift in places.items() if bare < at), default=0)
        start, text = taken.get(at, (at + before, b""))
        if new != text:
            changes.append(Change(start, start + len(text), new))
    return source.stored.edits(tuple(changes))
