"""The chapter of the report about a verified run, from what `porter verify --output` wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from porter.files.documents import Json
from porter.report.chart import HIGH, WIDE, polyline, scale, thinned
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import speaker
from porter.verify.show import Pieces, pieces, unexplained

say = speaker("verify")


def chapter(run: Json) -> Json:
    """Every text in both languages, in the order in which the page shows them."""
    by_language = {lang: pieces(run, lang) for lang in LANGUAGES}

    def both(get: Callable[[Pieces], str]) -> dict[str, str]:
        return {lang: get(by_language[lang]) for lang in LANGUAGES}

    def each(get: Callable[[Pieces], Iterable[str]]) -> list[dict[str, str]]:
        return [dict(zip(LANGUAGES, texts)) for texts in zip(*(get(by_language[lang]) for lang in LANGUAGES))]

    def leg(n: int) -> Json:
        return {"ended": both(lambda p: p.legs[n][0]), "failure": each(lambda p: p.legs[n][1])}

    def row(n: int) -> list[dict[str, str]]:
        return each(lambda p: p.table[n])

    first = by_language[LANGUAGES[0]]
    operators = {
        lang: [*by_language[lang].operators, *unexplained(run.get("unexplained", []), lang)] for lang in LANGUAGES
    }
    return {
        "verdict": both(lambda p: p.verdict),
        "verified": bool(run.get("verified")),
        "device": both(lambda p: p.device),
        "legs": [leg(n) for n in range(len(first.legs))],
        "known": first.known,
        "known_title": {lang: say("known", lang) for lang in LANGUAGES},
        "exchanged": both(lambda p: p.exchanged) if first.exchanged else None,
        "table": [row(n) for n in range(len(first.table))],
        "partings": each(lambda p: p.partings),
        "operators": [
            {"title": dict(zip(LANGUAGES, titles)), "rows": [dict(zip(LANGUAGES, texts)) for texts in zip(*rows)]}
            for titles, rows in (zip(*several) for several in zip(*operators.values()))
        ],
        "notes": each(lambda p: p.notes),
        "edited": both(lambda p: p.edited) if first.edited else None,
        "proves": both(lambda p: p.proves),
        "chart": _chart(run["curves"]),
        "names": {name: {lang: say(f"leg.{name}", lang) for lang in LANGUAGES} for name in ("original", "ported")},
    }


def _chart(curves: list[Json]) -> Json | None:
    """The loss that parts after the fewest values, or else the first one, of both runs."""
    losses = [curve for curve in curves if "loss" in curve["name"].lower() and len(curve["original"]) > 1]
    if not losses:
        return None
    curve = min(losses, key=lambda c: (c["parts_at"] is None, c["parts_at"] or 0, not c["name"].startswith("loss")))
    lines = {name: thinned([*enumerate(curve[name])]) for name in ("original", "ported")}
    if not any(lines.values()):
        return None
    longest = max(len(curve["original"]), len(curve["ported"])) - 1
    _, _, low, high = scale([*lines.values()])
    drawn = {name: polyline(line, (0, longest, low, high)) for name, line in lines.items()}
    parts = curve["parts_at"]
    parting_x = None if parts is None else f"{WIDE * min(parts, longest) / longest:.1f}"
    return {
        "name": curve["name"],
        "wide": WIDE,
        "high": HIGH,
        "low": f"{low:.4g}",
        "top": f"{high:.4g}",
        "at": parting_x,
        **drawn,
    }
