"""The page that ranks a fleet: no network, and no script to be read."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from porter.files.documents import Json
from porter.fleet.row import FAILED
from porter.fleet.summary import NOTHING, STAGES, best
from porter.report.html import both_texts, of_room
from porter.report.page import FIRST
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import speaker

say = speaker("fleet")

NAMED = 3  # obstacles of one repository


def page(found: Json) -> str:
    lang, totals = found["language"], found["totals"]
    context = {
        "d": found,
        "sentence": {one: headline(totals, one) for one in LANGUAGES},
        "best": best(found["obstacles"]),
        "days": span(totals["days"]),
        "span": span,
        "trend": _trend,
        "named": NAMED,
        "stages": {stage: n for n, stage in enumerate(STAGES)},
        "first": FIRST,
        "gone": ", ".join(row["name"] for row in found["gone"]),
    }
    return of_room("fleet.html.j2", say, "title", lang, context)


def headline(totals: Json, lang: str) -> str:
    counted = {key: f"{totals[key]:,}" for key in STAGES}
    first = say("headline", lang, n=f"{totals['repositories']:,}", **counted)
    rest = [say(f"headline.{key}", lang, n=counted[key]) for key in (NOTHING, FAILED) if totals[key]]
    return say("headline.comma", lang).join([first, *rest])


def library_names(found: Json, lang: str) -> str:
    names = (" ".join(filter(None, (row["library"], row["version"]))) for row in found["libraries"])
    return say("headline.comma", lang).join(names)


def span(days: Sequence[float]) -> str:
    least, most = (f"{n:,.10g}" for n in days)
    return most if least in (most, "0") else f"{least}–{most}"


def trend_parts(trend: Json | None) -> list[tuple[str, str]]:
    """The key of a text, and by how much that changed."""
    if trend is None:
        return []
    if trend["is_new"]:
        return [("trend.new", "")]
    parts = [(f"trend.{key}", f"{trend[key]:+g}") for key in ("percent", "blockers", "days") if trend[key]]
    return parts or [("trend.same", "")]


def _trend(trend: Json | None) -> Markup:
    texts = {}
    for lang in LANGUAGES:
        comma = say("headline.comma", lang)
        texts[lang] = comma.join(say(key, lang, change=change) for key, change in trend_parts(trend))
    return both_texts(texts) if trend else Markup("")
