"""The report for people: plain lines for a pipe or a file, the same lines in colour for a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from porter.files.errors import printable
from porter.finding import SEVERITIES, STATUSES, Finding
from porter.report.place import concise, details, full, status_of
from porter.report.sanitise import line as visible
from porter.rulebook.words import speaker
from porter.terminal import STYLES, Line, columns, pad, plain

say = speaker("report")
_REFUSED = 5  # files that one screen names

if TYPE_CHECKING:
    from porter.report.model import Report


def render(report: Report) -> str:
    """For a file: whoever keeps one wants to see every place, and all notes."""
    view = report.view
    kind = "grouped" if view.kind == "text" else view.kind
    return plain(lines(replace(report, view=view._replace(kind=kind, notes=True))))


def lines(report: Report) -> list[Line]:
    by_file, kind = report.findings.by_file, report.view.kind
    if kind == "concise":
        return [concise(report, finding) for _, found in by_file for finding in _shown(report, found)]
    if kind != "text":
        rows = head(report)
        for path, findings in by_file:
            rows += (_places if kind == "full" else _file)(report, path, findings)
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
    shown = refused[:_REFUSED] if report.view.kind == "text" else refused
    for finding in shown:
        place = f"  {printable(report.prefix + finding.path)}:{finding.line}"
        rows.append([(place, ""), (f"  {finding.code}", "dim"), (f"  {visible(report.message(finding))}", "")])
    if more := len(refused) - len(shown):
        rows.append([("  " + say("refused.more", report.lang, n=more, asked=report.view.asked), "dim")])
    return rows


def _left_out(report: Report) -> list[Line]:
    """Directories that a name alone kept out: a user may have meant them."""
    names = [printable(report.prefix + path) for path in report.scan.left_out]
    if not names:
        return []
    if report.view.verbose or len(names) <= 3:
        return [[(say("left-out", report.lang, names=", ".join(names)), "dim")]]
    return [[(say("left-out.many", report.lang, n=len(names)), "dim")]]


def _support(report: Report) -> list[Line]:
    """What the APIs are on the target; with -v, which of them are worth a look."""
    from porter.report.support import folded, notice, summary, support

    lang, document = report.lang, support(report) if report.apis else {}
    if not document or not any(document["verdicts"].values()):
        return []
    rows: list[Line] = [[(say("support", lang, counts=summary(document, lang)), "dim")]]
    if report.view.verbose:
        rows += [[(f"  {say('verdict.' + kind, lang)}: {printable(names)}", "dim")] for kind, names in folded(report)]
        rows.append([("  " + notice(document, lang), "dim")])
    return rows


def _shown(report: Report, findings: list[Finding]) -> list[Finding]:
    return findings if report.view.verbose or report.view.notes else [f for f in findings if f.severity != "note"]


def _file(report: Report, path: str, findings: list[Finding]) -> list[Line]:
    shown = _shown(report, findings)
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
        for word, space in zip((finding.severity, status_of(finding)), pads):
            row += [(pad(names[word], space, False), STYLES[word]), ("  ", "")]
        rows.append([*row, (visible(report.message(finding)), "")])
        if report.view.verbose:
            rows += [[(" " * (wide + 4) + text, "dim")] for text in details(report, finding)]
    return rows + [[(f"  {text}", "dim")] for text in _notes(report, findings)]


def _places(report: Report, path: str, findings: list[Finding]) -> list[Line]:
    """With the source around each."""
    from porter.report.source import Text

    data = report.scan.data(path) if report.scan.data else None
    text = None if data is None else Text(data)
    rows: list[Line] = []
    for finding in _shown(report, findings):
        rows += [[], *full(report, finding, text)]
        if report.view.verbose:
            rows += [[(f"  {line}", "dim")] for line in details(report, finding)]
    notes = [f"{printable(report.prefix + path)}: {text}" for text in _notes(report, findings)]
    return rows + [row for text in notes for row in ([], [(text, "dim")])]


def _notes(report: Report, findings: list[Finding]) -> list[str]:
    hidden = len(findings) - len(_shown(report, findings))
    return [say("hidden.notes", report.lang, n=hidden)] if hidden else []


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
