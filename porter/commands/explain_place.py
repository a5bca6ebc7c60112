"""`porter explain FILE:LINE`: what porter finds there, what it would write, and why."""

from __future__ import annotations

import os
import sys

from porter.commands.job import prepare
from porter.commands.named_place import Place
from porter.commands.settings import relative
from porter.commands.view import report_of
from porter.engine.together import further_lines
from porter.errors import UserError
from porter.exits import INTERNAL, OK
from porter.files.errors import FilesError, printable
from porter.finding import Finding
from porter.report.model import Report
from porter.report.place import full, symptom
from porter.report.rule_page import Page
from porter.report.sanitise import line as visible
from porter.report.source import Text
from porter.rulebook.words import speaker
from porter.terminal import Line, show, wrapped

say = speaker("report")


def explain_place(place: Place, target: str | None, lang: str | None, width: int) -> int:
    if not os.path.isfile(place.file):
        raise FilesError("special" if os.path.lexists(place.file) else "missing", path=place.file)
    job = prepare([place.file], target=target, lang=lang, jobs=1)
    run = job.run()
    path = relative(job.root, place.file)
    text = Text(run.data(path))
    if not 1 <= place.line <= len(text.rows):
        raise _no_such_line(place, len(text.rows))
    report = report_of(job, run, width=width)
    findings = [finding for finding in report.findings.all if finding.path == path]
    found = _at(findings, place)
    show(_told(report, found, text) if found else [_nothing(findings, place, job.lang)], sys.stdout)
    return INTERNAL if run.broken else OK


def _no_such_line(place: Place, last: int) -> UserError:
    here = f"{place.file}:{place.line}"
    if not last:
        return UserError(f"{here}: the file is empty", f"{here}：文件为空")
    return UserError(f"{here}: there is no such line; the file has {last}", f"{here}：没有这一行；该文件共 {last} 行")


def _at(findings: list[Finding], place: Place) -> list[Finding]:
    """Those that the column is in, where there are any; else all of the line, from left to right."""
    here = [finding for finding in findings if place.line in _lines(finding)]
    under = [finding for finding in here if _covers(finding, place)]
    return sorted(under or here, key=lambda finding: (finding.line, finding.column, finding.code))


def _lines(finding: Finding) -> set[int]:
    """Of the place itself, and the further ones that its message names."""
    named = dict(finding.values)
    of_shapes = {int(line) for line in named.get("lines", "").split(",") if line.strip().isdigit()}
    own = range(finding.line, max(finding.end_line, finding.line) + 1)
    return {*own, *further_lines(named), *of_shapes}


def _covers(finding: Finding, place: Place) -> bool:
    start, end = (finding.line, finding.column), (finding.end_line, finding.end_column)
    return start <= (place.line, place.column) < max(end, (finding.line, finding.column + 1))


def _nothing(findings: list[Finding], place: Place, lang: str) -> Line:
    here = f"{printable(place.file)}:{place.line}"
    if not findings:
        return [(say("place.nowhere", lang, place=here), "")]
    near = min((line for finding in findings for line in _lines(finding)), key=lambda n: (abs(n - place.line), n))
    return [(say("place.nothing", lang, place=here, line=near), "")]


def _told(report: Report, found: list[Finding], text: Text) -> list[Line]:
    """Each finding, and behind the last one of a rule what the rule says."""
    page, rows = Page(report.lang, report.view.width), []
    for finding in sorted(found, key=lambda finding: [f.code for f in found].index(finding.code)):
        rows += [[], *full(report, finding, text)]
        for more in (*_hidden(report, finding), *symptom(report, finding)):
            rows += [[(f"  {line}", "dim")] for line in wrapped(more, page.width - 2)]
        if finding is [f for f in found if f.code == finding.code][-1]:
            rule = report.texts.rule(finding.code)
            rows += [[], *page.head(rule, finding.severity, finding.effort), *page.prose(rule.explain[page.lang])]
            if any(f.status == "manual" for f in found if f.code == finding.code):
                rows += page.code("explain.by_hand", rule.by_hand)
            rows += page.foot(rule.code, report.texts.about(finding.code, finding.why, "reference"))
    return rows[1:]


def _hidden(report: Report, finding: Finding) -> list[str]:
    """Why `porter analyze` does not show it."""
    if finding.suppressed is not None:
        reason = finding.suppressed or say("place.unreasoned", report.lang)
        return [say("place.suppressed", report.lang, reason=visible(reason))]
    return [say("place.baseline", report.lang)] if finding in report.findings.known else []
