"""Every finding as plain HTML in one language. A browser without scripts shows it. Where scripts run, paper.js makes the
same list for print."""

from __future__ import annotations

from html import escape

from porter.files.documents import Json
from porter.regex import lazy
from porter.report.excerpt import Excerpts, Row
from porter.report.links import Links
from porter.report.sanitise import line, shown
from porter.rulebook.words import speaker

phrase = speaker("page")

_CODE = lazy(r"`([^`\n]+)`")


def paper(document: Json, rows: list[list[Row]], excerpts: Excerpts, links: Links) -> str:
    """The HTML of all findings. `rows`: the excerpt of code of each finding, in the same order."""
    lang = document["language"]
    words = {
        key: phrase(key, lang)
        for key in ("blocker", "wrong", "slow", "note", "auto", "review", "manual", "optional", "suppressed")
    }
    groups: dict[str, list[tuple[Json, list[Row]]]] = {}
    for finding, code in zip(document["findings"], rows):
        groups.setdefault(finding["path"], []).append((finding, code))
    parts = [f"<p>{phrase('findings.paper', lang)}</p>"]
    for path, group in sorted(groups.items()):
        parts.append(f'<article class="paper"><h3>{escape(line(path))}</h3><ul>')
        group.sort(key=lambda item: (item[0]["line"], item[0]["column"]))
        parts += [_item(finding, code, excerpts, words, links.of_file(path)) for finding, code in group]
        parts.append("</ul></article>")
    return "\n".join(parts)


def _item(f: Json, rows: list[Row], excerpts: Excerpts, words: dict[str, str], link: str) -> str:
    status = words["optional" if f.get("optional") else f["status"]]
    hidden = f" [{words['suppressed']}]" if f["suppressed"] is not None else ""
    # a row is (tag, line number, index into the pool of lines, ...); the tag * marks the line of the finding itself
    shown_rows = [(" " if tag == "*" else tag, index) for tag, _, index, *_ in rows if tag != " "]
    code = "\n".join(f"{tag} {excerpts.pool[index][0]}" for tag, index in shown_rows)
    where = f"{f['line']}:{f['column']}"
    if link:
        where = f'<a href="{escape(link.replace("{line}", str(f["line"])))}" rel="noreferrer">{where}</a>'
    head = f'<li id="f-{escape(f["fingerprint"])}">{where}'
    code_name, severity = f["code"], f["severity"]
    weight = f'<b class="sev-{severity}">{words[severity]}</b> {status} <a href="#rule-{code_name}">{code_name}</a>'
    return f"{head} {weight} {spelled(f['message'])}{hidden}" + (f"<pre>{escape(code)}</pre></li>" if code else "</li>")


def spelled(text: str) -> str:
    """A message as HTML: what stands in backticks becomes code."""
    return _CODE.sub(r"<code>\1</code>", escape(shown(text)))
