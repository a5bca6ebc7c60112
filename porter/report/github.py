"""Annotations for GitHub Actions: commands on stdout, the most important first."""

from __future__ import annotations

from porter.files.documents import Json
from porter.report.page import is_open
from porter.report.sanitise import line
from porter.report.sarif import ranked

MOST = 50  # as many as one run shows
KINDS = {"blocker": "error", "wrong": "error", "slow": "warning", "note": "notice"}
REST = {
    "en": "{n} more findings have no annotation of their own; the report has them all.",
    "zh": "另有 {n} 条未单独标注，完整内容见报告。",
}


def render(document: Json) -> str:
    lang = document["language"]
    findings = ranked([f for f in document["findings"] if is_open(f)])
    titles = {rule["code"]: rule["title"][lang] for rule in document["rules"]}
    rows = [_annotation(f, titles[f["code"]]) for f in findings[:MOST]]
    if len(findings) > MOST:
        rows.append("::notice title=porter::" + _text(REST[lang].format(n=len(findings) - MOST)))
    return "".join(row + "\n" for row in rows) or "\n"


def _annotation(f: Json, title: str) -> str:
    places = {"file": f["path"], "line": f["line"], "col": f["column"]}
    if f["end_line"] >= f["line"]:
        places["endLine"] = f["end_line"]
        if f["end_line"] == f["line"] and f["end_column"] > f["column"]:
            places["endColumn"] = f["end_column"]
    places["title"] = f"{f['code']} {title}"
    fields = ",".join(f"{key}={_field(str(value))}" for key, value in places.items())
    return f"::{KINDS[f['severity']]} {fields}::{_text(f['message'])}"


def _text(text: str) -> str:
    """A line that starts with :: is a command, so nothing from a repository may begin one."""
    return line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
