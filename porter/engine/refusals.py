"""Makes findings: those of rules, and those about porter's own work, such as a file that it cannot read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from porter.engine.rule import AnyRule, Hit, named
from porter.engine.session import Session
from porter.engine.suppress import Suppressions
from porter.errors import Unreadable
from porter.files.read import digest
from porter.finding import Change, FileResult, Finding
from porter.regex import lazy

_Made = TypeVar("_Made")


def own(path: str, line: int, code: str, why: str, session: Session, /, *, column: int = 1, **values: str) -> Finding:
    """A finding about porter's own work (PRT0xx). `why`: the key of its message."""
    return finding(session, path, Hit(None, why, values=named(**values)), code, (line, column))


def finding(
    session: Session,
    path: str,
    hit: Hit,
    code: str,
    place: tuple[int, int],
    end: tuple[int, int] | None = None,
    *,
    status: str = "manual",
    edit: tuple[Change, ...] = (),
    suppressed: str | None = None,
) -> Finding:
    """The finding of a hit. `place` and `end` are lines and columns, from 1."""
    severity, effort = session.rules.weights(code, hit.why)
    severity, effort = hit.severity or severity, hit.effort or effort
    if hit.optional:
        severity, status = "note", "review"
    return Finding(
        path, *place, code, hit.why, hit.values, *(end or place), severity, status, effort,
        edit if suppressed is None else (), suppressed, hit.optional,
    )  # fmt: skip


OF_GRAMMAR = ("syntax", "python2", "async")  # messages of PRT002 about the grammar
# a template, whose names are filled in later: `{{cookiecutter.name}}/train.py`, `class {PROJECT}Dataset(Dataset):`
TEMPLATE = lazy(r"\{\{.*\}\}")
_TO_FILL = lazy(rb"[ \t]*(?:class|def|from|import)[ \t]+[\w.]*\{\w+\}")


def refusal(path: str, why: str, session: Session, **values: str) -> FileResult:
    """The result of a file that porter does not analyse: one finding, PRT003."""
    return FileResult(path, (finding(session, path, Hit(None, why, values=named(**values)), "PRT003", (1, 1)),))


def guarded(path: str, data: bytes, session: Session, look: Callable[[FileResult], FileResult]) -> FileResult:
    """Calls `look` for a file. Never raises: if the file cannot be analysed, the result is a finding that says so."""
    result = unread(path, data)
    try:
        return look(result)
    except Unreadable as error:
        is_template = error.key in OF_GRAMMAR and (TEMPLATE.search(path) or _is_to_fill(data, error.line))
        key = "template" if is_template else error.key
        fault = own(path, error.line, "PRT002", key, session, error=error.error)
    except RecursionError:
        fault = own(path, 1, "PRT002", "deep", session)
    except MemoryError:
        fault = own(path, 1, "PRT002", "memory", session)
    except Exception as error:
        fault = own(path, 1, "PRT003", "crashed", session, error=failure(error))
    return replace(result, findings=(fault,))


def _is_to_fill(data: bytes, line: int) -> bool:
    """Whether it is a name to be filled in at which a parser stopped."""
    lines = data.splitlines()
    return 0 < line <= len(lines) and _TO_FILL.match(lines[line - 1]) is not None


def failure(error: Exception) -> str:
    """An error inside porter, as one line of text. With PORTER_DEBUG it is raised again, for developers."""
    if "PORTER_DEBUG" in os.environ:
        raise error
    try:
        words = str(error).partition("\n")[0]
    except Exception:  # some spell out a tree, however deep it is
        words = ""
    return f"{type(error).__name__}: {words}"


class Failures:
    """The parts of the analysis of one file that failed: rules, by their codes, and other parts, by name. Findings of the
    other parts stay."""

    def __init__(self) -> None:
        self.first: dict[str, tuple[int, str]] = {}  # the first line, and what was raised there

    def note(self, codes: str, line: int, error: Exception) -> None:
        """Remembers that the part with this name failed at this line."""
        entry = (line, failure(error))
        self.first[codes] = min(entry, self.first.get(codes, entry))

    def guard(
        self, blamed: str | Iterable[AnyRule], line: int, make: Callable[..., _Made], *given: object
    ) -> _Made | None:
        """The result of `make(*given)`; None where it fails. `blamed`: the rules, or the name of the part, that then failed."""
        try:
            return make(*given)
        except (RecursionError, MemoryError, Unreadable):
            raise
        except Exception as error:
            if not isinstance(blamed, str):
                blamed = ", ".join(sorted({code for rule in blamed for code in rule.codes or (rule.code,)}))
            self.note(blamed, line, error)
            return None

    def findings(self, path: str, session: Session) -> list[Finding]:
        return [
            own(path, line, "PRT003", "rule", session, codes=codes, error=error)
            for codes, (line, error) in sorted(self.first.items())
        ]


def unread(path: str, data: bytes) -> FileResult:
    """The result of a file that no parser has seen."""
    return FileResult(path, lines=data.count(b"\n") + (data[-1:] not in (b"\n", b"")), digest=digest(data))


def about(suppressions: Suppressions, path: str, session: Session) -> list[Finding]:
    """Findings about the suppressions of a file: malformed, unknown, unused. To be called after all findings of the file
    have asked for theirs."""
    out, quiet, known = [], session.quiet.codes(path), session.rules.codes
    for line, column, text in suppressions.malformed:
        out.append(own(path, line, "PRT005", "codes", session, column=column, text=text))
    for ignore in suppressions.ignores:
        for code in ignore.codes:
            if code not in known:
                out.append(own(path, ignore.line, "PRT005", "unknown", session, column=ignore.column, code=code))
            elif code not in ignore.used and code not in quiet:
                out.append(own(path, ignore.line, "PRT001", "unused", session, column=ignore.column, code=code))
    return [f for f in out if f.code not in quiet]


def without(findings: Iterable[Finding], *lost: str) -> list[Finding]:
    """The findings, without the edits whose status is one of `lost`: those broke a promise, so that a person must do the work."""
    return [replace(f, status="manual", edit=()) if f.status in lost else f for f in findings]
