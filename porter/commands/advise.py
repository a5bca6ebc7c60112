"""`porter advise`: what matters for precision and speed once the port runs."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from porter.advice.rank import COMMON, HERE, LESS
from porter.commands.job import prepare
from porter.commands.output import show_bytes
from porter.commands.view import report_of
from porter.errors import check_choice
from porter.exits import OK
from porter.files.documents import Json
from porter.files.errors import printable
from porter.report.advice import advice, of_standing
from porter.report.console import target_line
from porter.report.markdown import code, text
from porter.report.model import Report
from porter.report.sanitise import as_json
from porter.rulebook.words import speaker
from porter.terminal import Line, show

say, phrase = speaker("report"), speaker("page")

FORMATS = ("text", "json", "markdown")
CHAPTERS = ("precision", "performance")
FOLDED = (LESS, COMMON)
WIDE = 100


def advise(paths: Sequence[str], format: str | None, all: bool = False, **given: Any) -> int:
    name = format or "text"
    check_choice("--format", name, FORMATS)
    job = prepare(paths, **given)
    report = report_of(job, job.run())
    rows = advice(report)
    if all:
        rows = [row | {"standing": HERE} for row in rows]
    if name == "text":
        show(lines(report, rows), sys.stdout)
    elif name == "json":
        show_bytes(as_json({"advice": rows}))
    else:
        show_bytes(markdown(report, rows))
    return OK


def lines(report: Report, rows: list[Json]) -> list[Line]:
    lang = report.lang
    output: list[Line] = [[(target_line(report), "dim")]]
    for chapter in CHAPTERS:
        of_chapter = [row for row in of_standing(rows, HERE) if row["chapter"] == chapter]
        if of_chapter:
            head = phrase(chapter, lang) + _colon(lang) + phrase(f"{chapter}.lead", lang)
            output += [[], [(head, "bold underline")]]
        for n, row in enumerate(of_chapter, 1):
            hint = f" ({phrase('advice.hint', lang)})" if row["grade"] == "I" else ""
            output += [[], [(f"{n:>2}. {row['title'][lang]}{hint}", "bold")]]
            output += [[(f"    {line}", "")] for line in _wrapped(row["text"][lang], lang)]
            output += [[(f"      {line}".rstrip(), "green")] for line in (row["snippet"] or "").splitlines()]
            output += [[(f"    {line}", "dim")] for line in (_places(report, row), _evidence_text(row, lang))]
    for folded in _folded(rows, lang):
        output += [[], *([(line, "")] for line in _wrapped(folded, lang))]
    if any(row["standing"] != HERE for row in rows):
        output += [[], [(say("advice.all", lang), "dim")]]
    return output if rows else [*output, [(phrase("advice.none", lang), "")]]


def _folded(rows: list[Json], lang: str) -> list[str]:
    """What is not shown in full: what is worth less here, and what is said of every training run, by name and title."""
    comma = "；" if lang == "zh" else "; "
    return [
        phrase(f"advice.{standing}", lang)
        + _colon(lang)
        + comma.join(f"{row['title'][lang]} [{row['id']}]" for row in folded)
        for standing in FOLDED
        if (folded := of_standing(rows, standing))
    ]


def _colon(lang: str) -> str:
    return "：" if lang == "zh" else ": "


def _wrapped(text: str, lang: str) -> list[str]:
    """Chinese has no spaces to break at: the terminal breaks it."""
    return [text] if lang == "zh" else textwrap.wrap(text, WIDE - 4, break_on_hyphens=False)


def _places(report: Report, row: Json) -> str:
    lang = report.lang
    parts = [printable(report.prefix + p["place"]) + (f" ({p['what']})" if p["what"] else "") for p in row["places"]]
    if row["count"] > len(parts):
        parts.append(phrase("advice.more", lang, n=row["count"] - len(parts)))
    return phrase("place", lang) + _colon(lang) + ", ".join(parts)


def _evidence_text(row: Json, lang: str) -> str:
    comma = "；" if lang == "zh" else "; "
    known = say("advice.known", lang, names=comma.join(e["title"][lang] for e in row["evidence"]))
    return known + (say("advice.see", lang, codes=", ".join(row["see"])) if row["see"] else "")


def markdown(report: Report, rows: list[Json]) -> str:
    lang, parts = report.lang, []
    for chapter in CHAPTERS:
        of_chapter = [row for row in of_standing(rows, HERE) if row["chapter"] == chapter]
        if of_chapter:
            parts += [f"## {phrase(chapter, lang)}", phrase(f"{chapter}.lead", lang)]
        for n, row in enumerate(of_chapter, 1):
            parts += [f"### {n}. {text(row['title'][lang])}", text(row["text"][lang])]
            parts += [f"```\n{row['snippet']}\n```"] if row["snippet"] else []
            places = [
                code(report.prefix + p["place"]) + (f" {text(p['what'])}" if p["what"] else "") for p in row["places"]
            ]
            if row["count"] > len(places):
                places.append(phrase("advice.more", lang, n=row["count"] - len(places)))
            parts.append(", ".join(places) + "  \n" + text(_evidence_text(row, lang)))
    parts += [text(folded) for folded in _folded(rows, lang)]
    return "\n\n".join(parts or [phrase("advice.none", lang)]) + "\n"
