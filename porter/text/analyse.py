"""One file that is not Python in, findings and byte edits out, under the promises of the Python side. Never raises."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib import import_module

from porter.files.kinds import NOTEBOOK
from porter.finding import Change, FileResult, Finding, apply
from porter.python.analyse import digest, folded
from porter.session import Session
from porter.text.document import Document, TextHit, Unreadable, ignores, reason, skipped
from porter.text.gate import concerns


def analyse(kind: str, path: str, data: bytes, session: Session) -> FileResult:
    result = FileResult(path, lines=data.count(b"\n") + (data[-1:] not in (b"\n", b"")), digest=digest(data))
    if not concerns(kind, data):
        return result
    try:
        if kind == NOTEBOOK:
            from porter.text import notebook

            return notebook.analyse(path, data, session, result)
        return _analyse(result, kind, data, session)
    except Unreadable as error:
        found = _own(path, error.line, "PRT002", error.key, session, error=error.error)
    except RecursionError:
        found = _own(path, 1, "PRT002", "deep", session)
    except Exception as error:
        if "PORTER_DEBUG" in os.environ:
            raise
        found = _own(path, 1, "PRT003", "crashed", session, error=f"{type(error).__name__}: {error}".partition("\n")[0])
    return replace(result, findings=(found,))


def _format(kind: str):
    """The module of a kind: MARK begins a comment, `read(document)` parses or raises Unreadable, `look(document,
    tree)` yields Hits, and `same(before, after)`, where it has one, compares what edits must not touch."""
    return import_module(f"porter.text.{kind}")


@dataclass
class _Look:
    document: Document
    tree: object
    hits: list[TextHit]

    def changes(self, unsafe: bool) -> tuple[Change, ...]:
        document, found = self.document, set()
        for hit in self.hits:
            if hit.edits and not hit.optional and (hit.safe or unsafe) and _applies(document, hit):
                found.update(
                    Change(document.byte(start), document.byte(end), new.encode("utf-8"))
                    for start, end, new in hit.edits
                )
        return tuple(sorted(found))


def _look(path: str, data: bytes, kind: str, session: Session) -> _Look:
    form = _format(kind)
    document = Document(path, data, kind, session, form.MARK)
    tree = form.read(document)
    document.ignores = [ignore for ignore, *_ in ignores(document) if ignore]
    return _Look(document, tree, sorted(form.look(document, tree), key=lambda hit: (hit.start, hit.code, hit.why)))


def _applies(document: Document, hit: TextHit) -> bool:
    if hit.code in document.session.quiet_for(document.path):
        return False
    return _reason(document, hit) is None


def _reason(document: Document, hit: TextHit) -> str | None:
    return reason(document, hit.code, document.place(hit.start)[0], document.place(max(hit.start, hit.end - 1))[0])


def _analyse(result: FileResult, kind: str, data: bytes, session: Session) -> FileResult:
    form = _format(kind)
    document = Document(result.path, data, kind, session, form.MARK)
    if skipped(document) is not None:
        return replace(result, parsed=True)
    looked = _look(result.path, data, kind, session)
    findings = [_finding(looked.document, hit) for hit in looked.hits]
    findings = [f for f in findings if f.code not in session.quiet_for(result.path)]
    changes = {unsafe: looked.changes(unsafe) for unsafe in (False, True)}
    alike = changes[False] == changes[True]
    for unsafe in (False,) if alike else (False, True):
        if why := _broken(looked, changes[unsafe], unsafe or alike):
            codes = ", ".join(sorted({hit.code for hit in looked.hits if hit.edits and (hit.safe or unsafe)}))
            key, values = why
            findings.append(_own(result.path, 1, "PRT003", key, session, codes=codes, **values))
            lost = ("review",) if unsafe else ("auto", "review")
            findings = [replace(f, status="manual", edit=()) if f.status in lost else f for f in findings]
            changes[True] = changes[False] if unsafe else ()
            if not unsafe:
                changes[False] = ()
                break
    findings += _about_suppressions(looked.document)
    return replace(
        result,
        parsed=True,
        findings=tuple(folded(sorted(set(findings)), session)),
        auto=changes[False],
        review=changes[True],
    )


def _finding(document: Document, hit: TextHit) -> Finding:
    severity, effort = document.session.rules.weights(hit.code, hit.why)
    severity, effort = hit.severity or severity, hit.effort or effort
    status = "manual" if not hit.edits else "auto" if hit.safe else "review"
    if hit.optional:
        severity, status = "note", "review"
    suppressed = _reason(document, hit)
    edit = tuple(
        sorted(Change(document.byte(start), document.byte(end), new.encode("utf-8")) for start, end, new in hit.edits)
    )
    return Finding(
        document.path, *document.place(hit.start), hit.code, hit.why, hit.values, *document.place(hit.end), severity,
        status, effort, edit if suppressed is None else (), suppressed, hit.optional,
    )  # fmt: skip


def _broken(looked: _Look, changes: tuple[Change, ...], unsafe: bool) -> tuple[str, dict[str, str]] | None:
    """The promise that `changes` break: a message of PRT003 and its values."""
    if not changes:
        return None
    document = looked.document
    if any(a.end > b.start for a, b in zip(changes, changes[1:])) or changes[-1].end > len(document.data):
        return "overlap", {}
    data = apply(document.data, changes)
    try:
        again = _look(document.path, data, document.kind, document.session)
    except Unreadable as error:
        return "reparse", {"error": error.error}
    same = getattr(_format(document.kind), "same", None)
    if same is not None and not same(looked.tree, again.tree):
        return "reparse", {"error": "structure"}
    if again.changes(unsafe):
        return "unstable", {}
    if _ends(document.data) != _ends(data):
        return "newline", {}
    return None


def _ends(data: bytes) -> tuple[bool, bool, bool]:
    """Whether there are line ends of either kind, and one at the end."""
    return b"\r\n" in data, b"\n" in data.replace(b"\r\n", b""), data[-1:] in (b"\n", b"\r")


def _about_suppressions(document: Document) -> list[Finding]:
    out, session, path = [], document.session, document.path
    quiet = session.quiet_for(path)
    for ignore, line, column, text in ignores(document):
        if ignore is None:
            out.append(_own(path, line, "PRT005", "codes", session, column=column, text=text))
    for ignore in document.ignores:
        for code in ignore.codes:
            if code not in session.rules.codes:
                out.append(_own(path, ignore.line, "PRT005", "unknown", session, column=ignore.column, code=code))
            elif code not in ignore.used and code not in quiet:
                out.append(_own(path, ignore.line, "PRT001", "unused", session, column=ignore.column, code=code))
    return [f for f in out if f.code not in quiet]


def _own(path: str, line: int, code: str, why: str, session: Session, /, *, column: int = 1, **values: str) -> Finding:
    severity, effort = session.rules.weights(code, why)
    return Finding(
        path, line, column, code, why, tuple(sorted(values.items())), line, column, severity, "manual", effort
    )
