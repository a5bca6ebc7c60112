"""Checks the port of a Python file: what must be the same as before, and what must not be there."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from porter.analysis.again import Again
from porter.analysis.promises import Edits, applied
from porter.engine.session import Session
from porter.engine.suppress import Suppressions
from porter.errors import Broken, Unreadable
from porter.finding import Change, apply
from porter.python.source import Source
from porter.python.stored import LINE_END
from porter.python.walks import outer_functions
from porter.spans import Span

if TYPE_CHECKING:
    from porter.analysis.file import File


class Before(NamedTuple):
    """What `check` needs of the old text. It holds no part of the tree, so that the tree is freed before the port gets one."""

    path: str
    source: Source
    session: Session
    suppressions: Suppressions
    free: frozenset[str]  # names that are used and bound nowhere
    hidden: int  # the number of statements that this Python's grammar does not know
    failed: frozenset[str]  # rules and parts of porter that crashed
    functions: list[Span]  # the lines of each, sorted, without those inside another

    @classmethod
    def of(cls, file: File, written: Iterable[object]) -> Before:
        """`written`: the edits. Where there are none, nothing is checked."""
        is_checked = any(getattr(edits, "stored", ()) for edits in written)
        used = {link[0].id for link in file.names.uses} if is_checked else set[str]()
        free = frozenset(name for name in used if not file.names.bound(name))
        failed = frozenset(file.failures.first)
        functions = outer_functions(file.tree)
        return cls(file.path, file.source, file.session, file.suppressions, free, len(file.hidden), failed, functions)


class Look(Protocol):
    """The `Analysis` of analysis/python.py."""

    file: File

    def changes(self, unsafe: bool) -> tuple[Change, ...]: ...


def check(before: Before, edits: Edits, look: Callable[..., Look]) -> None:
    """Raises Broken if the port breaks a promise. `look` analyses the new text as it did the old one."""
    source, changes, codes, unsafe = before.source, edits.stored, edits.codes, edits.unsafe
    data = applied(source.stored.data, edits)
    if source.stored.recoded and not _is_stored(source, apply(source.utf8, edits.changes), data):
        raise Broken("round-trip", error=source.stored.encoding, codes=codes)
    try:
        new = Source(data)
        if (new.stored.encoding, new.stored.bom) != (source.stored.encoding, source.stored.bom):
            raise Broken("reparse", error="encoding", codes=codes)
        session = before.session.ported(before.path, edits.changes)
        again = look(before.path, new, session, Again(unsafe, edits.changes, edits.places))
    except Unreadable as error:
        raise Broken("reparse", line=1, error=error.error, codes=codes) from None
    if failed := again.file.failures.first.keys() - before.failed:
        raise Broken("unstable", codes=", ".join(sorted(failed)))
    if len(again.file.hidden) > before.hidden:  # an edit made a statement that `ast` cannot read
        raise Broken("reparse", error="invalid syntax", codes=codes)
    if any(b"#" in source.stored.data[c.start : c.end] for c in changes):
        if lost := comments(source) - comments(new):
            raise Broken("comment", comment=min(lost), codes=codes)
    if name := unbound(before, again.file):
        raise Broken("unbound", name=name, codes=codes)
    if again.changes(unsafe):
        raise Broken("unstable", codes=codes)
    ends = {*LINE_END.findall(source.utf8)} if b"\r" in source.utf8 else {b"\n"}
    written = {end for c in changes for end in LINE_END.findall(c.new)}
    if not written <= ends or data.endswith((b"\r", b"\n")) != source.stored.data.endswith((b"\r", b"\n")):
        raise Broken("newline", codes=codes)


def _is_stored(source: Source, utf8: bytes, data: bytes) -> bool:
    """Whether `data` is the text in the encoding of the file. Some encodings write a character by what stands before it, so
    that edits alone may go wrong."""
    try:
        return source.stored.encode(utf8) == data
    except UnicodeError:
        return False


def comments(source: Source) -> Counter[str]:
    return Counter(text for _, _, text in source.comments)


def unbound(before: Before, after: File) -> str | None:
    """A name that the port uses and does not bind. It does not count if the old text did the same."""
    names: dict[str, None] = dict.fromkeys(link[0].id for link in after.names.uses)
    for name in names:
        if after.names.bound(name) or hasattr(builtins, name) or name.startswith("__"):
            continue
        if name not in before.free:
            return name
    return None
