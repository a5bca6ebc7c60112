"""A comparison as one page that needs no network: the verdict, and the curves of both runs.

The curves are lines of SVG, as those of a verified run in the report are: no script draws them, so that the page prints, and porter
has one way to draw. A library of charts would weigh more than all the rest of the page. The script of the page only switches the
language.
"""

from __future__ import annotations

from porter.compare.long import allowed
from porter.compare.pair import Pair, relative
from porter.compare.show import document, nexts, sentence, speed_text, tolerance_text
from porter.compare.verdict import Verdict, shown
from porter.files.documents import Json
from porter.logs.records import GRADIENT, LOSS, RATE, SCALE
from porter.report.chart import HIGH, WIDE, polyline, scale, thinned
from porter.report.html import by_language, of_room
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import speaker

say = speaker("compare")

_CHARTS = ((LOSS, "losses"), ("apart", "apart"), (GRADIENT, "grad_norm"), (RATE, "lr"), (SCALE, "scale"))


def page(pair: Pair, verdict: Verdict, found: Json) -> str:
    lang = found["language"]
    about = found["repository"] or {}
    documents = {one: document(pair, verdict, one, about.get("places"), about.get("root", "")) for one in LANGUAGES}

    def each(key: str) -> list[dict[str, str]]:
        return by_language([fact["text"] for fact in d[key]] for d in documents.values())

    context = {
        "f": found,
        "sentence": {one: sentence(verdict, one) for one in LANGUAGES},
        "evidence": each("evidence"),
        "notes": each("notes"),
        "nexts": by_language(nexts(verdict, one) for one in LANGUAGES),
        "charts": [made_one for kind, key in _CHARTS if (made_one := _chart(pair, kind, key))],
        "speed": {one: speed_text(found, one) for one in LANGUAGES},
        "tolerance": {one: tolerance_text(found, one) for one in LANGUAGES},
    }
    return of_room("compare.html.j2", say, "page.title", lang, context)


def _chart(pair: Pair, kind: str, key: str) -> Json | None:
    if kind == "apart":
        loss = pair.loss
        points = [(s, relative(a, b, pair.floor)) for s, a, b in zip(loss.steps, loss.one, loss.other)]
        lines = {"candidate": thinned(points)}
    else:
        one, other = pair.series(kind, pair.ranks[0])
        sides = {"baseline": one, "candidate": other}
        if kind == LOSS and pair.rerun is not None:
            sides["rerun"] = pair.rerun.first.loss
        lines = {role: thinned([*zip(side.steps, side.values)]) for role, side in sides.items() if len(side)}
    lines = {role: line for role, line in lines.items() if line}
    if not lines or max(map(len, lines.values())) < 2:
        return None
    band = _band(pair, kind)
    within = scale([*lines.values(), *([band] if band else [])])
    first, last, low, high = within
    return {
        "key": f"page.{key}", "wide": WIDE, "high": HIGH, "first": f"{first:.12g}", "last": f"{last:.12g}", "low": shown(low), "top": shown(high),
        "lines": [{"role": role, "points": polyline(line, within)} for role, line in lines.items()],
        "band": polyline(band, within),
    }  # fmt: skip


def _band(pair: Pair, kind: str) -> list[tuple[float, float]]:
    """The outline of the band in which a candidate differs by noise alone: twice that between the baseline and its rerun. It lies
    around the loss of the baseline, and from zero on in the chart of the distance; the other charts have none."""
    limits = allowed(pair) if kind in (LOSS, "apart") else []
    if kind == LOSS:
        upper, lower = ([(step, mean + sign * limit) for step, mean, limit in limits] for sign in (1, -1))
    else:
        upper = [(step, limit / max(abs(mean), pair.floor, 1e-300)) for step, mean, limit in limits]
        lower = [(step, 0.0) for step, _, _ in limits]
    return [*upper, *reversed(lower)]
