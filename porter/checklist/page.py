"""A comparison as one page that needs no network: the verdict, each difference, and all items chapter by chapter."""

from __future__ import annotations

from collections.abc import Callable

from porter.checklist import show
from porter.checklist.judge import EQUAL, RENAMED, Comparison
from porter.checklist.schema import CHAPTERS
from porter.files.documents import Json
from porter.report.html import by_language, of_room
from porter.rulebook.table import LANGUAGES

Texts = dict[str, str]


def page(made: Comparison, lang: str) -> str:
    found = {one: show.document(made, one) for one in LANGUAGES}
    main = found[lang]
    culprits, minor = show.parted(main)
    positions = {row["item"]: at for at, row in enumerate(main["rows"])}

    def row(one: Json) -> Json:
        return _row([found[language]["rows"][positions[one["item"]]] for language in LANGUAGES])

    by_chapter = [(chapter, [row(r) for r in main["rows"] if r["chapter"] == chapter]) for chapter in CHAPTERS]
    context = {
        "sentence": {one: found[one]["sentence"] for one in LANGUAGES},
        "culprits": [row(one) for one in culprits],
        "minor": [row(one) for one in minor],
        "advised": [row(one) for one in main["rows"] if one["recommended"] and one["state"] in (EQUAL, RENAMED)],
        "chapters": [(chapter, rows) for chapter, rows in by_chapter if rows],
        "equal": _each(found, show.equal_text),
        "others": main["others"],
        "aside": main["aside"],
        "heads": by_language([[text for side in found[one]["sides"] for text in show.heads(side, one)] for one in LANGUAGES]),
        "notes": by_language([[note for side in found[one]["sides"] for note in side["notes"]] for one in LANGUAGES]),
        "sources": by_language([[f"{s['title']}: {s['reference']}" for s in found[one]["sources"]] for one in LANGUAGES]),
    }  # fmt: skip
    return of_room("checklist.html.j2", show.say, "page.title", lang, context)


def _each(found: dict[str, Json], text: Callable[[Json, str], str]) -> Texts:
    return {one: text(found[one], one) for one in LANGUAGES}


def _row(rows: list[Json]) -> Json:
    """The same row in each language, as one whose texts are in all of them."""
    pairs = list(zip(LANGUAGES, rows))
    return {
        **rows[0],
        "title": {lang: row["title"] for lang, row in pairs},
        "changes": {lang: row["changes"] for lang, row in pairs},
        "recommended": {lang: row["recommended"] for lang, row in pairs} if rows[0]["recommended"] else None,
        "where": [{lang: show.where(row[role], lang) for lang, row in pairs} for role in show.ROLES],
        "values": ["-" if rows[0][role] is None else rows[0][role]["value"] for role in show.ROLES],
    }
