"""The report for people: plain lines for a pipe or a file, the same lines in colour for a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from porter.files.errors import printable
from porter.finding import SEVERITIES, STATUSES, Finding
from porter.rulebook.words import speaker
from porter.terminal import STYLES, Line, columns, pad, plain

say = speaker("report")
_REFUSED = 5  # files that one screen names

if TYPE_CHECKING:
    from porter.report.model import Report


def render(report: Report) -> str:
    """For a file: whoever keeps one wants to see every place."""
    from porter.report.model import View

    return plain(lines(replace(report, view=View("all")) if report.view.kind == "screen" else report))


def lines(report: Report) -> list[Line]:
    by_file = report.findings.by_file
    if report.view.kind == "lines":
        return [_flat(report, f) for _, found in by_file for f in found if f.severity != "note"]
    if report.view.kind != "screen":
        rows = head(report)
        for path, findings in by_file:
            rows += _file(report, path, findings)
        return rows + _end(report)
    from porter.report.screen import SHORT, by_cause, summary

    rows = _scanned(report) + _refused(report) + _left_out(report)
    shown = [
        (path, worse)
        for path, found in by_file
        if (worse := [f for f in found if f.severity != "note" and f not in report.findings.refused])
    ]
    if sum(len(found) for _, found in shown) <= SHORT:
        for path, findings in shown:
            rows += _file(report, path, findings)
    else:
        rows += by_cause(report)
    return rows + summary(report) + _hidden(report)


def _scanned(report: Report) -> list[Line]:
    counts = {"scanned": len(report.scan.files), "parsed": report.scan.parsed, "found": len(report.findings.by_file)}
    rows = [[(target_line(report), "")]]
    if not report.root:
        rows.append([(say("paths", report.lang), "dim")])
    return [*rows, [(say("files", report.lang, **counts), "")]]


def head(report: Report) -> list[Line]:
    """What stands above the files: target, counts, readiness, the table, what was refused, left out or hidden."""
    auto, places = report.findings.readiness
    rows = _scanned(report)
    if places:
        percent = 100 * auto // places  # rounded down: 100 % means all of them
        rows.append([(say("readiness", report.lang, auto=auto, all=places, percent=percent), "bold")])
    else:
        rows.append([(say("readiness.unseen" if report.findings.unseen else "readiness.none", report.lang), "bold")])
    return rows + _table(report) + _refused(report) + _left_out(report) + _support(report) + _hidden(report)


def _hidden(report: Report) -> list[Line]:
    counts = {"suppressed": len(report.findings.suppressed), "baseline": len(report.findings.old)}
    return [[(say(f"hidden.{key}", report.lang, n=n), "dim")] for key, n in counts.items() if n]


def target_line(report: Report) -> str:
    target = report.target
    key = f"origin.{target.origin}"
    known = target.origin in ("command-line", "configuration", "default")
    origin = say(key, report.lang) if known else say("origin.file", report.lang, place=target.origin)
    values = {"torch_npu": target.torch_npu, "soc": target.soc, "style": target.style}
    return say("target", report.lang, **values, origin=origin)


def _table(report: Report) -> list[Line]:
    """How many findings of each severity have each status. Nothing where all are opportunities."""
    if not report.findings.due:
        return []
    names = ["", *(say(status, report.lang) for status in STATUSES), say("total", report.lang)]
    body = []
    for severity in SEVERITIES:
        counts = [report.findings.table[severity][status] for status in STATUSES]
        body.append([say(severity, report.lang), *(str(n) if n else "-" for n in counts), str(sum(counts))])
    widths = [max(columns(row[i]) for row in [names, *body]) for i in range(len(names))]
    rows: list[Line] = [[], [("  " + "  ".join(pad(name, width, True) for name, width in zip(names, widths)), "dim")]]
    for severity, row in zip(SEVERITIES, body):
        cells = "  ".join(pad(cell, width, True) for cell, width in zip(row[1:], widths[1:]))
        rows.append([("  ", ""), (pad(row[0], widths[0], False), STYLES[severity]), ("  " + cells, "")])
    return rows


def _refused(report: Report) -> list[Line]:
    """What porter did not see or left alone, the worst first; one screen names a few."""
    refused = report.findings.refused
    if not refused:
        return []
    rows: list[Line] = [[(say("refused", report.lang, n=len(refused)), "bold red")]]
    shown = refused[:_REFUSED] if report.view.kind == "screen" else refused
    for finding in shown:
        place = f"  {printable(report.prefix + finding.path)}:{finding.line}"
        rows.append([(place, ""), (f"  {finding.code}", "dim"), (f"  {report.message(finding)}", "")])
    if more := len(refused) - len(shown):
        rows.append([("  " + say("refused.more", report.lang, n=more, asked=report.view.asked), "dim")])
    return rows


def _left_out(report: Report) -> list[Line]:
    """Directories that a name alone kept out: a user may have meant them."""
    names = [printable(report.prefix + path) for path in report.scan.left_out]
    if not names:
        return []
    if report.view.kind == "more" or len(names) <= 3:
        return [[(say("left-out", report.lang, names=", ".join(names)), "dim")]]
    return [[(say("left-out.many", report.lang, n=len(names)), "dim")]]


def _support(report: Report) -> list[Line]:
    """What the APIs are on the target; with -v, which of them are worth a look."""
    from porter.report.support import folded, notice, summary, support

    lang, document = report.lang, support(report) if report.apis else {}
    if not document or not any(document["verdicts"].values()):
        return []
    rows: list[Line] = [[(say("support", lang, counts=summary(document, lang)), "dim")]]
    if report.view.kind == "more":
        rows += [[(f"  {say('verdict.' + kind, lang)}: {printable(names)}", "dim")] for kind, names in folded(report)]
        rows.append([("  " + notice(document, lang), "dim")])
    return rows


def _file(report: Report, path: str, findings: list[Finding]) -> list[Line]:
    notes = [f for f in findings if f.severity == "note"]
    shown = findings if report.view.kind == "more" else [f for f in findings if f.severity != "note"]
    key = "findings.one" if len(findings) == 1 else "findings"
    count = say(key, report.lang, n=len(findings))
    rows: list[Line] = [[], [(printable(report.prefix + path), "bold underline"), (f"  {count}", "dim")]]
    places = [f"{f.line}:{f.column}" for f in shown]
    wide = max(map(len, places), default=0)
    words = (*STATUSES, "optional") if any(f.optional for f in shown) else STATUSES
    names = {word: say(word, report.lang) for word in (*SEVERITIES, *words)}
    pads = [max(columns(names[word]) for word in column) for column in (SEVERITIES, words)]
    for place, finding in zip(places, shown):
        row = [(f"  {place:>{wide}}  ", "dim"), (finding.code, "bold"), ("  ", "")]
        for word, space in zip((finding.severity, _status(finding)), pads):
            row += [(pad(names[word], space, False), STYLES[word]), ("  ", "")]
        rows.append([*row, (report.message(finding), "")])
        if report.view.kind == "more":
            rows += [[(" " * (wide + 4) + text, "dim")] for text in _details(report, finding)]
    if notes and report.view.kind != "more":
        rows.append([("  " + say("hidden.notes", report.lang, n=len(notes)), "dim")])
    return rows


def _details(report: Report, finding: Finding) -> list[str]:
    symptom = report.texts.symptom(finding)
    rows = [say("symptom", report.lang, text=" ".join(symptom.split()))] if symptom else []
    if finding.optional:
        key = "optional.more" if finding.code.startswith("PRT6") else "optional.else"  # PRT6xx: ways to be faster
        rows.append(say(key, report.lang, code=finding.code))
    elif finding.status == "review":
        rows.append(say("look", report.lang, code=finding.code))
    elif finding.status == "manual":
        effort = say(finding.effort, report.lang)
        rows.append(say("do", report.lang, effort=effort, code=finding.code))
    return rows


def _flat(report: Report, finding: Finding) -> Line:
    place = f"{printable(report.prefix + finding.path)}:{finding.line}:{finding.column}: "
    severity, status = say(finding.severity, report.lang), say(_status(finding), report.lang)
    return [
        (place, "bold"),
        (f"{finding.code} ", ""),
        (severity, STYLES[finding.severity]),
        (" ", ""),
        (status, STYLES[_status(finding)]),
        (f" {report.message(finding)}", ""),
    ]


def _end(report: Report) -> list[Line]:
    if not report.findings.open:
        return []
    sums = {status: sum(f.status == status for f in report.findings.due) for status in STATUSES}
    worst, more = report.findings.by_file[0][1][0].code, len(report.findings.open) - len(report.findings.due)
    return [
        [],
        [(say("end", report.lang, all=len(report.findings.open), **sums), "bold")],
        *([[(say("end.optional", report.lang, n=more), "dim")]] if more else ()),
        [(say("end.next", report.lang, code=worst), "dim")],
    ]


def _status(finding: Finding) -> str:
    return "optional" if finding.optional else finding.status
