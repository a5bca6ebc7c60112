"""The promises that every changed file keeps before a byte of it is written. A file that breaks one stays as it was."""

from __future__ import annotations

import builtins
from collections import Counter

from porter.finding import Change, apply
from porter.own import Unreadable

from .source import LINE_END, Source


class Broken(Exception):
    """`key` is a message of PRT003."""

    def __init__(self, key: str, line: int = 1, **values: str):
        super().__init__(key, values)
        self.key, self.line, self.values = key, line, values


def check(looked, changes: tuple[Change, ...], unsafe: bool) -> None:
    """`changes` are in offsets of the stored bytes: outside them the bytes are the old ones by construction."""
    applied = {f.hit.code or f.rule.code for f in (looked.unsafe if unsafe else looked.found) if f.applied}
    if broken := looked.broken.get(False) or unsafe and looked.broken.get(True):
        broken.values["codes"] = ", ".join(sorted({*applied, broken.values["codes"]}))
        raise broken
    if not changes:
        return
    from .analyse import look

    source, file = looked.source, looked.file
    codes = ", ".join(sorted(applied))
    if any(a.end > b.start for a, b in zip(changes, changes[1:])) or changes[-1].end > len(source.data):
        raise Broken("overlap", codes=codes)
    data = apply(source.data, changes)
    if source.recoded and not _is_stored(source, apply(source.utf8, looked.changes(unsafe)), data):
        raise Broken("round-trip", error=source.encoding, codes=codes)
    try:
        new = Source(data)
        if new.encoding != source.encoding or new.bom != source.bom:
            raise Broken("reparse", error="encoding", codes=codes)
        session = looked.session.ported(file.path, looked.changes(unsafe))
        again = look(file.path, new, session, again=unsafe)
    except Unreadable as error:
        raise Broken("reparse", line=1, error=error.error, codes=codes) from None
    if failed := again.file.failures.first.keys() - file.failures.first.keys():
        raise Broken("unstable", codes=", ".join(sorted(failed)))
    if len(again.file.hidden) > len(file.hidden):  # LibCST alone would read it
        raise Broken("reparse", error="invalid syntax", codes=codes)
    if any(b"#" in source.data[c.start : c.end] for c in changes):
        if lost := comments(source) - comments(new):
            raise Broken("comment", comment=min(lost), codes=codes)
    if name := unbound(file, again.file):
        raise Broken("unbound", name=name, codes=codes)
    if again.changes(unsafe):
        raise Broken("unstable", codes=codes)
    ends = source.line_ends or {source.newline}
    written = {end for c in changes for end in LINE_END.findall(c.new)}
    if not written <= ends or data.endswith((b"\r", b"\n")) != source.data.endswith((b"\r", b"\n")):
        raise Broken("newline", codes=codes)


def _is_stored(source: Source, utf8: bytes, data: bytes) -> bool:
    """Whether `data` is what the encoding of the file makes of a text: some write a character by what stands before it."""
    try:
        return source.stored(utf8) == data
    except UnicodeError:
        return False


def comments(source: Source) -> Counter[str]:
    return Counter(text for _, _, text in source.comments)


def unbound(before, after) -> str | None:
    """A name that is used after the edits and bound nowhere, although it was bound, or was not there, before."""
    old = {link[0].id for link in before.names.uses}
    for name in dict.fromkeys(link[0].id for link in after.names.uses):
        if after.names.bound(name) or hasattr(builtins, name) or name.startswith("__"):
            continue
        if name not in old or before.names.bound(name):
            return name
    return None
