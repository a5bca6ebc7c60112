"""The report as a comment on a pull request: what matters first, and never longer than a comment may be."""

from __future__ import annotations

import re

from porter.files.documents import Json
from porter.finding import SEVERITIES, STATUSES
from porter.regex import lazy
from porter.report import progress
from porter.report.findings import REFUSED
from porter.report.numbers import count_read, edits, left_for_you
from porter.report.page import headline, is_open, project, readiness, state
from porter.report.sanitise import line
from porter.report.sarif import ranked
from porter.report.work import sentence
from porter.rulebook.words import speaker

phrase = speaker("page")

LIMIT = 60_000  # characters; a comment may have 65,536
WORDS = {
    "shown": ("{shown} of {all} findings, the most important first.", "共 {all} 条，先列最重要的 {shown} 条。"),
    "all": ("All {all} findings.", "全部 {all} 条。"),
    "refused": ("Not parsed or refused: {n}", "未解析或被拒绝：{n} 个"),
}
_SPECIAL = lazy(r"([\\`*_{}\[\]<>()#+!|~$@&-])")


def render(document: Json) -> str:
    lang = document["language"]
    n = 0 if lang == "en" else 1
    parts = [f"### {headline(document, lang)}\n"]
    parts += [*_overview(document, lang), ""]
    findings = ranked([f for f in document["findings"] if is_open(f)])
    if not findings:
        return "\n".join(parts).rstrip("\n") + "\n"
    parts += [*_table(document, lang), ""]
    head = "\n".join(parts)
    room = LIMIT - len(head) - 400
    rows = []
    for f in findings:
        row = _row(f, lang)
        if (room := room - len(row) - 1) < 0:
            break
        rows.append(row)
    summary = WORDS["all" if len(rows) == len(findings) else "shown"][n].format(all=len(findings), shown=len(rows))
    names = [phrase(key, lang) for key in ("js.severity", "js.status", "place", "what")]
    table = ["| " + " | ".join(names) + " |", "|---|---|---|---|", *rows]
    return "\n".join([head, f"<details><summary>{summary}</summary>", "", *table, "", "</details>", ""])


def _overview(document: Json, lang: str) -> list[str]:
    way, target, ready = document["route"], document["target"], readiness(document)
    colon = "：" if lang == "zh" else ": "
    about = " ".join(map(code, filter(None, project(document).values())))
    rows = [f"- **{phrase('project', lang)}**{colon}{about}"] if about else []
    rows += [f"- **{phrase('route', lang)}**{colon}{text(way['title'][lang])}"] if way else []
    if way and way["style"] != target["style"]:
        rows.append(f"- {phrase('style.counted', lang, style=way['style'], counted=target['style'])}")
    if made := document.get("progress"):
        rows.append(f"- **{phrase('progress', lang)}**{colon}{text(progress.sentence(made, lang))}")
    if ready["places"]:
        counts = phrase("readiness.bar", lang, **{key: ready[key] for key in ("places", "auto", "review", "manual")})
        rows.append(f"- **{phrase('readiness', lang)}**{colon}{ready['percent']} %. {counts}")
    numbers = count_read(f for f in document["findings"] if is_open(f) and not f.get("optional"))
    if said := edits(numbers, lang):
        rows.append(f"- **{phrase('edits', lang)}**{colon}{said}")
    rows.append(f"- **{phrase('left', lang)}**{colon}{left_for_you(numbers, lang)}")
    if work := document.get("effort"):
        whats = [item["what"] for item in work["items"] if item["minutes"][1]]
        rows.append(
            f"- **{phrase('effort', lang)}**{colon}{sentence(work['minutes'], work['aside']['minutes'], whats, lang)}"
        )
    rows.append(
        f"- **{phrase('target', lang)}**{colon}torch_npu {target['torch_npu']}, {target['soc']}, {target['style']}"
    )
    refused = {f["path"] for f in document["findings"] if f["code"] in REFUSED}
    return rows + ([f"- **{WORDS['refused'][lang == 'zh'].format(n=len(refused))}**"] if refused else [])


def _table(document: Json, lang: str) -> list[str]:
    counts = document["summary"]["findings"]
    names = ["", *(phrase(status, lang) for status in STATUSES), phrase("total", lang)]
    rows = ["| " + " | ".join(names) + " |", "|---|" + "--:|" * 4]
    for severity in SEVERITIES:
        row = [counts[severity][status] for status in STATUSES]
        rows.append(f"| {phrase(severity, lang)} | " + " | ".join(map(str, [*row, sum(row)])) + " |")
    return rows


def _row(f: Json, lang: str) -> str:
    place = code(f"{f['path']}:{f['line']}")
    return f"| {phrase(f['severity'], lang)} | {phrase(state(f), lang)} | {place} | {f['code']} {text(f['message'])} |"


def text(raw: str) -> str:
    """Plain text: nothing of it is markup, a mention or a link; `x` stays code."""
    parts = re.split(r"`([^`]+)`", line(raw))
    return "".join(code(part) if n % 2 else _SPECIAL.sub(r"\\\1", part) for n, part in enumerate(parts))


def code(raw: str) -> str:
    raw = line(raw)
    if "`" not in raw and "|" not in raw:
        return f"`{raw}`"
    return _SPECIAL.sub(r"\\\1", raw)
