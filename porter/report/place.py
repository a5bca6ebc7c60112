"""One finding for a terminal: on a line of its own, or with its message, its source and its edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.files.errors import printable
from porter.finding import Finding
from porter.report.sanitise import line as visible
from porter.rulebook.words import speaker
from porter.terminal import STYLES, Line, wrapped

say = speaker("report")

if TYPE_CHECKING:
    from porter.report.model import Report
    from porter.report.source import Text


def concise(report: Report, finding: Finding) -> Line:
    place = f"{printable(report.prefix + finding.path)}:{finding.line}:{finding.column}: "
    severity, status = say(finding.severity, report.lang), say(status_of(finding), report.lang)
    return [
        (place, "bold"),
        (f"{finding.code} ", ""),
        (severity, STYLES[finding.severity]),
        (" ", ""),
        (status, STYLES[status_of(finding)]),
        (f" {visible(report.message(finding))}", ""),
    ]


def full(report: Report, finding: Finding, text: Text | None) -> list[Line]:
    """`text`: its file, where that is at hand."""
    from porter.report.snippet import snippet

    head = concise(report, finding)[:-1]
    lines = wrapped(visible(report.message(finding)), report.view.width - 2)
    if more := report.texts.details(finding, report.lang):
        lines += wrapped(visible(more), report.view.width - 2)
    rows: list[Line] = [head, *([(f"  {line}", "")] for line in lines)]
    if text is not None and finding.code != "PRT003":  # what porter could not look at has no place
        rows += [[(" ", ""), *row] for row in snippet(text, finding, report.view.width - 1)]
    return rows


def details(report: Report, finding: Finding) -> list[str]:
    """What more there is to know, what is seen at run time, and how to go on."""
    more = report.texts.details(finding, report.lang)
    rows = ([visible(more)] if more else []) + symptom(report, finding)
    if finding.optional:
        key = "optional.more" if finding.code.startswith("PRT6") else "optional.else"  # PRT6xx: ways to be faster
        rows.append(say(key, report.lang, code=finding.code))
    elif finding.status == "review":
        rows.append(say("look", report.lang, code=finding.code))
    elif finding.status == "manual":
        effort = say(finding.effort, report.lang)
        rows.append(say("do", report.lang, effort=effort, code=finding.code))
    return rows


def symptom(report: Report, finding: Finding) -> list[str]:
    """What is seen at run time, where something is."""
    text = " ".join(report.texts.symptom(finding).split())
    return [say("symptom", report.lang, text=text)] if text else []


def status_of(finding: Finding) -> str:
    return "optional" if finding.optional else finding.status
