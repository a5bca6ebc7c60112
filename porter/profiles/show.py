"""Sections as text for a terminal, and as a fragment of a page."""

from __future__ import annotations

from html import escape

from porter.files.documents import Json
from porter.profiles.side import Section
from porter.profiles.view import sections
from porter.terminal import Line, columns, pad


def lines(document: Json, lang: str) -> list[Line]:
    rows: list[Line] = []
    for section in sections(document, lang):
        if rows:
            rows.append([])
        if section.title:
            rows.append([(section.title, "bold")])
        rows += _table(section)
        rows += [[(note, "")] for note in section.notes]
    return rows


def fragment(document: Json, lang: str) -> str:
    """HTML without styles of its own: a section each, and in it a table and paragraphs."""
    parts = []
    for section in sections(document, lang):
        title = f"<h3>{escape(section.title)}</h3>" if section.title else ""
        table = _html(section) if section.rows else ""
        notes = "".join(f"<p>{escape(note.strip())}</p>" for note in section.notes)
        parts.append(f'<section class="profile">{title}{table}{notes}</section>\n')
    return "".join(parts)


def page(document: Json, lang: str) -> str:
    """The fragment as a page of its own."""
    style = (
        "body{font:15px/1.5 sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}table{border-collapse:collapse}"
        "td,th{padding:.1rem .8rem;text-align:right}td:first-child,th:first-child{text-align:left;white-space:pre-wrap}"
        "thead th{border-bottom:1px solid}"
    )
    title = escape(next(iter(document["profiles"]))["path"])
    return (
        f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style></head>\n<body>\n{fragment(document, lang)}</body></html>\n"
    )


def _table(section: Section) -> list[Line]:
    if not section.rows:
        return []
    widths = [max(columns(row[at]) for row in (section.header, *section.rows)) for at in range(len(section.header))]
    table = [[("  " + _row(section.header, widths), "dim")]]
    return table + [[("  " + _row(row, widths), "")] for row in section.rows]


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(pad(cell, width, at > 0) for at, (cell, width) in enumerate(zip(cells, widths)))


def _html(section: Section) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in section.header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in section.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
