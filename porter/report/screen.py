"""What `porter analyze` shows unasked: one screen for any repository, cause by cause, the summary last."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from porter.files.errors import printable
from porter.finding import Finding
from porter.report.causes import Cause, causes, is_aside, left
from porter.report.route import route
from porter.rulebook.words import speaker
from porter.terminal import STYLES, Line, columns, pad, wrapped

say = speaker("report")

if TYPE_CHECKING:
    from porter.report.model import Report

SHORT = 12  # findings; so few are shown one by one
_SHOWN = {"stops": 6, "slows": 3}  # causes
_LINES = 3  # of one message
_INDENT = 6


def by_cause(report: Report) -> list[Line]:
    """What is left for a person; what stops or breaks the port first."""
    rows: list[Line] = []
    for kind, findings in left(report.findings.due).items():
        found = causes(findings, report.texts.subject)
        shown = _SHOWN[kind]
        if not found:
            continue
        rows += [[], [(say(f"screen.{kind}", report.lang), "bold")]]
        for cause in islice(found, shown):
            rows += _cause(report, cause)
        if more := found[shown:]:
            places = sum(len(cause.places) for cause in more)
            rows.append([("  " + say("screen.more", report.lang, causes=_count(report, "causes", len(more)),
                                     places=_count(report, "places", places), asked=report.view.asked), "dim")])  # fmt: skip
    return rows


def _cause(report: Report, cause: Cause) -> list[Line]:
    lead, more = cause.lead, len(cause.places) - 1
    place = f"{printable(report.prefix + lead.path)}:{lead.line}:{lead.column}"
    row: Line = [("  ", ""), (place, STYLES[lead.severity]), (f"  {lead.code}", "dim")]
    if more:
        others = len({f.path for f in cause.places} - {lead.path})
        key = "screen.else" if others else "screen.here"
        files = _count(report, "others", others) if others else ""
        row.append(("  " + say(key, report.lang, places=_count(report, "places", more), files=files), "dim"))
    text = printable(report.texts.message(lead, report.lang, alone=False))
    if cause.subject not in text:
        row.insert(3, (f"  {printable(cause.subject)}", ""))
    lines = wrapped(text, report.view.width - _INDENT, _LINES)
    return [row, *([(" " * _INDENT + line, "")] for line in lines)]


def summary(report: Report) -> list[Line]:
    """Route, edits and what is left, with the next command."""
    lang, findings, kinds = report.lang, report.findings, left(report.findings.due)
    if not findings.all:
        return [[(say("readiness.none", lang), "bold")]]
    rows: list[tuple[str, str, str]] = []
    if way := route(report):
        rows.append(("route", way["title"][lang], ""))
    automatic = [f for f in findings.due if f.status == "auto"]
    reviewed = [f for f in findings.due if f.status == "review"]
    if automatic or reviewed:
        files = _count(report, "files", len({f.path for f in automatic or reviewed}))
        values = {"auto": f"{len(automatic):,}", "review": f"{len(reviewed):,}", "files": files}
        key = "edits" if automatic and reviewed else "edits.auto" if automatic else "edits.review"
        command = f"porter migrate {report.view.asked} --inplace" + ("" if automatic else " --unsafe")
        rows.append(("edits.label", say(f"screen.{key}", lang, **values), command))
    if any(kinds.values()) or not findings.unseen:
        rows.append(("left.label", _left(report, kinds), _explain(report, kinds) if any(kinds.values()) else ""))
    if findings.unseen:
        files = _count(report, "files", len({f.path for f in findings.unseen}))
        rows.append(
            ("unseen.label", say("screen.unseen", lang, files=files), f"porter explain {findings.unseen[0].code}")
        )
    if notes := [f for f in findings.open if f.severity == "note"]:
        optional = _count(report, "operators", sum(f.optional for f in notes))
        key = "notes.optional" if any(f.optional for f in notes) else "notes"
        rows.append(("notes.label", say(f"screen.{key}", lang, n=f"{len(notes):,}", optional=optional), f"porter analyze {report.view.asked} -v"))  # fmt: skip
    labels = {key: say(f"screen.{key}", lang) for key, *_ in rows}
    wide = max(map(columns, labels.values())) + 2
    return [[], *(line for row in rows for line in _row(report, row, labels[row[0]], wide))]


def _row(report: Report, row: tuple[str, str, str], label: str, wide: int) -> list[Line]:
    _, text, command = row
    lines = wrapped(text, report.view.width - wide)
    rows: list[Line] = [
        [(pad(label if not n else "", wide, False), "bold"), (line, "")] for n, line in enumerate(lines)
    ]
    if command:
        used = wide + columns(lines[-1])
        if used + 2 + columns(command) > report.view.width:
            rows.append([(" " * wide, "")])
            used = wide
        rows[-1].append((" " * max(report.view.width - used - columns(command), 0) + command, "dim"))
    return rows


def _left(report: Report, kinds: dict[str, list[Finding]]) -> str:
    lang = report.lang
    if not any(kinds.values()):
        return say("screen.nothing", lang)
    parts: list[str] = []
    for kind, found in kinds.items():
        if found:
            how = "more" if parts else "count"
            n, places = f"{len(found):,}", _count(report, "places", len(found))
            parts.append(say(f"screen.{kind}.{how}", lang, n=n, places=places))
    aside = sum(is_aside(f.path) for found in kinds.values() for f in found)
    return say("screen.and", lang).join(parts) + (say("screen.aside", lang, n=f"{aside:,}") if aside else "")


def _explain(report: Report, kinds: dict[str, list[Finding]]) -> str:
    first = causes(kinds["stops"] or kinds["slows"], report.texts.subject)[0]
    return f"porter explain {first.lead.code}"


def _count(report: Report, what: str, n: int) -> str:
    return say(f"count.{what}.one" if n == 1 else f"count.{what}", report.lang, n=f"{n:,}")
