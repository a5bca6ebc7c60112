"""What `porter analyze` shows unasked: one screen for any repository, cause by cause, the summary last."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from porter.engine.together import taken_apart
from porter.files.errors import printable
from porter.finding import Finding
from porter.report import progress
from porter.report.causes import Cause, causes, left
from porter.report.effort import NOTHING, Effort
from porter.report.numbers import count, counted, edits, left_for_you
from porter.report.route import route
from porter.report.work import sentence
from porter.rulebook.words import speaker
from porter.terminal import STYLES, Line, columns, pad, wrapped

say, phrase = speaker("report"), speaker("page")

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
            places = sum(len(_places(cause)) for cause in more)
            rows.append([("  " + say("screen.more", report.lang, causes=counted("causes", len(more), report.lang),
                                     places=counted("places", places, report.lang), asked=report.view.asked), "dim")])  # fmt: skip
    return rows


def _places(cause: Cause) -> list[tuple[str, int, int]]:
    """All of them, those included that a finding names beside its own."""
    return [(place.path, place.line, place.column) for f in cause.places for place in taken_apart(f)]


def _cause(report: Report, cause: Cause) -> list[Line]:
    lead, places = cause.lead, _places(cause)
    more = len(places) - 1
    place = f"{printable(report.prefix + lead.path)}:{lead.line}:{lead.column}"
    row: Line = [("  ", ""), (place, STYLES[lead.severity]), (f"  {lead.code}", "dim")]
    if more:
        others = len({path for path, _, _ in places} - {lead.path})
        key = "screen.else" if others else "screen.here"
        files = counted("others", others, report.lang) if others else ""
        row.append(("  " + say(key, report.lang, places=counted("places", more, report.lang), files=files), "dim"))
    whole = {report.message(finding) for finding in cause.places}
    # why porter leaves a place alone is said where it leaves all of them for that
    text = printable(whole.pop() if len(whole) == 1 else report.texts.message(lead, report.lang, alone=False))
    if cause.subject not in text:
        row.insert(3, (f"  {printable(cause.subject)}", ""))
    lines = wrapped(text, report.view.width - _INDENT, _LINES)
    return [row, *([(" " * _INDENT + line, "")] for line in lines)]


def summary(report: Report) -> list[Line]:
    """Route, edits, what is left and what that costs, with the next command."""
    lang, findings, kinds = report.lang, report.findings, left(report.findings.due)
    made = progress.of_report(report)
    way = route(report)
    if not findings.all and made is None:
        nothing = way["title"][lang] if way and not report.scan.roads.torch else say("readiness.none", lang)
        return [[(nothing, "bold")]]
    rows: list[tuple[str, str, str]] = []
    if way:
        rows.append(("route", way["title"][lang], ""))
        if way["style"] != report.target.style:
            values = {"style": way["style"], "counted": report.target.style}
            command = f"porter analyze {report.view.asked} --style {way['style']}"
            rows.append(("style", phrase("style.counted", lang, **values), command))
    if made:
        rows.append(("progress.label", progress.sentence(made.document, lang), ""))
    numbers = count(findings.due)
    if said := edits(numbers, lang):
        command = f"porter migrate {report.view.asked} --inplace" + ("" if numbers.automatic else " --unsafe")
        rows.append(("edits.label", said, command))
    if any(kinds.values()) or not findings.unseen:
        rows.append(("left.label", left_for_you(numbers, lang), _explain(report, kinds) if any(kinds.values()) else ""))
    work = Effort(report)
    if work.items:
        whats = (item.what for item in work.items if item.cost != NOTHING)
        rows.append(("effort.label", sentence(work.cost, work.aside, whats, lang), ""))
    if findings.unseen:
        files = counted("files", len({f.path for f in findings.unseen}), lang)
        rows.append(
            ("unseen.label", say("screen.unseen", lang, files=files), f"porter explain {findings.unseen[0].code}")
        )
    if notes := [f for f in findings.open if f.severity == "note"]:
        optional = counted("operators", sum(f.optional for f in notes), lang)
        key = "notes.optional" if any(f.optional for f in notes) else "notes"
        rows.append(("notes.label", say(f"screen.{key}", lang, n=f"{len(notes):,}", optional=optional), f"porter analyze {report.view.asked} -v"))  # fmt: skip
    if alone := sum(len(file.inventory) for file in report.scan.files):
        said = say("screen.alone", lang, n=f"{alone:,}")
        rows.append(("alone.label", said, f"porter analyze {report.view.asked} -o report.html"))
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


def _explain(report: Report, kinds: dict[str, list[Finding]]) -> str:
    first = causes(kinds["stops"] or kinds["slows"], report.texts.subject)[0]
    return f"porter explain {first.lead.code}"
