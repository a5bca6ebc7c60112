"""Advice on precision and speed, as the reports hold it; rules/advice says when which piece is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.files.documents import Json

if TYPE_CHECKING:
    from porter.advice.rank import Advice
    from porter.report.model import Report

LANGUAGES = ("en", "zh")


def advice(report: Report) -> list[Json]:
    """Precision before performance, each with what is worth most here first; every text in both languages."""
    if report.scan.scripts is None:
        return []
    from porter.advice import load
    from porter.advice.rank import advise
    from porter.advice.world import gather

    # what the baseline knows is there all the same
    findings = (f for f in report.findings.all if f.suppressed is None)
    world = gather(report.scan.files, findings, report.scan.scripts(), report.target.soc)
    sources = {source["name"]: source for source in load.advice()["source"]}
    return [_row(given, sources) for given in advise(world, (report.scan.launcher,))]


def _row(given: Advice, sources: dict[str, Json]) -> Json:
    row = given.row
    return {
        "id": row["id"],
        "chapter": row["chapter"],
        "standing": given.standing,
        "title": {lang: given.text("title", lang) for lang in LANGUAGES},
        "text": {lang: given.text("text", lang) for lang in LANGUAGES},
        "places": [{"place": f"{p.path}:{p.line}", "what": p.label} for p in given.places],
        "count": given.number,
        "snippet": given.snippet() or None,
        "see": list(row.get("see", ())),
        "grade": row["grade"],
        "evidence": [
            {"title": sources[name]["title"], "reference": sources[name].get("reference")} for name in row["evidence"]
        ],
    }


def of_standing(rows: list[Json], standing: str) -> list[Json]:
    """Reports of earlier versions say of nothing how it stands: all of it was shown."""
    return [row for row in rows if row.get("standing", "here") == standing]
