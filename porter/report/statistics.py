"""How often each rule has something to say: a table for people, the same as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.files.documents import Json
from porter.finding import SEVERITIES, STATUSES, Finding
from porter.report.sanitise import as_json
from porter.rulebook.words import speaker
from porter.terminal import STYLES, Line, columns, pad, wrapped

say = speaker("report")

if TYPE_CHECKING:
    from porter.report.model import Report

COUNTS = ("places", *STATUSES, "optional")


def rules(report: Report) -> list[Json]:
    """Every rule with an open finding, the most frequent first; opportunities have no status."""
    by_code: dict[str, list[Finding]] = {}
    for finding in report.findings.open:
        by_code.setdefault(finding.code, []).append(finding)
    rows = (_rule(report, code, found) for code, found in by_code.items())
    return sorted(rows, key=lambda row: (-row["places"], row["code"]))


def _rule(report: Report, code: str, found: list[Finding]) -> Json:
    text = report.texts.rule(code)
    optional = sum(finding.optional for finding in found)
    return {
        "code": code,
        "slug": text.slug,
        "severity": min((finding.severity for finding in found), key=SEVERITIES.index),  # the worst of its places
        "title": text.title,
        "places": len(found),
        **{status: sum(f.status == status and not f.optional for f in found) for status in STATUSES},
        "optional": optional,
        "files": len({finding.path for finding in found}),
    }


def as_document(report: Report) -> str:
    return as_json({"schema": 1, "rules": rules(report)})


def lines(report: Report) -> list[Line]:
    found, lang = rules(report), report.lang
    if not found:
        return [[(say("statistics.none", lang), "bold")]]
    sums = {key: sum(row[key] for row in found) for key in COUNTS}
    keys = [key for key in COUNTS if key != "optional" or sums[key]]
    names = {severity: say(severity, lang) for severity in SEVERITIES}
    head = [say(f"statistics.{key}" if key == "places" else key, lang) for key in keys]
    counts = [[str(row[key]) if row[key] else "-" for key in keys] for row in (*found, sums)]
    wides = [max(columns(cell) for cell in column) for column in zip(head, *counts)]
    last = [say(f"statistics.{key}", lang) for key in ("severity", "code", "rule")]
    wide = max(map(columns, (*names.values(), last[0], say("total", lang))))

    def row(cells: list[str], severity: str, style: str, *more: str) -> Line:
        line = [("  ".join(pad(cell, space, True) for cell, space in zip(cells, wides)) + "  ", "")]
        return [*line, (pad(severity, wide, False) + "  ", style), *((text, "") for text in more)]

    first = "".join(text for text, _ in row(head, last[0], "", f"{pad(last[1], 6, False)}  {last[2]}"))
    rows: list[Line] = [[(first, "dim")]]
    room = report.view.width - sum(wides) - 2 * len(wides) - wide - 2
    for rule, cells in zip(found, counts):
        text = wrapped(f"{rule['code']}  {rule['title'][lang]}", room, 1)[0]
        rows.append(row(cells, names[rule["severity"]], STYLES[rule["severity"]], text))
    return [*rows, row(counts[-1], say("total", lang), "bold")]
