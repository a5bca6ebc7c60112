"""A comparison for people and for programs: one document, of which the text and the page are views."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from porter import __version__
from porter.compare.pair import Pair
from porter.compare.run import Run
from porter.compare.series import HUGE
from porter.compare.verdict import CODES, Fact, Verdict, shown
from porter.files.documents import Json
from porter.files.errors import printable
from porter.logs.records import SECONDS, SPEED
from porter.report.sanitise import line
from porter.rulebook.words import speaker, words

if TYPE_CHECKING:
    from porter.terminal import Line

say = speaker("compare")

SCHEMA = 1
STYLES = {"difference": "bold red", "none": "bold green", "unsure": "bold yellow"}
PLACES = 5
# what a launch script or a configuration may have at fault
_CONFIGURED = frozenset({"data", "weights", "randomness", "forward", "scaling", "optimiser", "schedule"})
_WARM = 10  # steps that compile and fill caches


def document(pair: Pair, verdict: Verdict, lang: str, places: Sequence[Json] | None = None, root: str = "") -> Json:
    """`places`: what porter's analysis of the repository finds; None where none was named."""
    codes = tuple(code for stage in verdict.asks for code in CODES[stage])
    of_stage = [place for place in places or () if place["code"].startswith(codes)] if codes else []
    runs = [
        ("baseline", pair.baseline),
        ("candidate", pair.candidate),
        *([("rerun", pair.rerun)] if pair.rerun else []),
    ]
    return {
        "schema": SCHEMA,
        "porter": __version__,
        "language": lang,
        "outcome": verdict.outcome,
        "stage": verdict.stage or None,
        "suspects": list(verdict.suspects),
        "pattern": verdict.pattern or None,
        "reason": verdict.reason,
        "sentence": sentence(verdict, lang),
        "evidence": [_fact(fact, lang) for fact in verdict.evidence],
        "next": nexts(verdict, lang),
        "repository": None if places is None else {"root": root, "codes": list(codes), "places": of_stage},
        "throughput": _throughput(pair),
        "tolerance": {"precision": pair.tolerance.precision or None, "loss": pair.tolerance.loss, "norm": pair.tolerance.norm},
        "runs": [_run(role, run) for role, run in runs],
        "notes": [_fact(fact, lang) for fact in pair.notes] + [_fact(f, lang) for role, run in runs for f in _notes(role, run, lang)],
    }  # fmt: skip


def sentence(verdict: Verdict, lang: str) -> str:
    stage = say(f"stage.{verdict.stage}", lang) if verdict.stage else ""
    return say(f"why.{verdict.reason}", lang, **{"stage": stage, **verdict.values})


def nexts(verdict: Verdict, lang: str) -> list[str]:
    stages = verdict.asks if verdict.outcome != "none" else ()
    first = [say("next.configuration", lang)] if _CONFIGURED & {*stages} else []
    return first + [
        text for stage in stages for key, text in words("compare", lang).items() if key.startswith(f"next.{stage}.")
    ]


def lines(found: Json, lang: str) -> list[Line]:
    rows: list[Line] = [[(_head(run, lang), "dim")] for run in found["runs"]]
    rows += [[], verdict_line(say("verdict", lang), found)]
    if found["suspects"]:
        stages = ", ".join(say(f"stage.{stage}", lang) for stage in found["suspects"])
        rows.append([("  " + say("suspects", lang, stages=stages), "")])
    for key, texts in (("evidence", [fact["text"] for fact in found["evidence"]]), ("next", found["next"])):
        rows += listed(say(key, lang), texts)
    rows += _places(found, lang)
    rows.append([])
    if speed := speed_text(found, lang):
        rows.append([(speed, "")])
    rows.append([(tolerance_text(found, lang), "dim")])
    return rows + [[(line(fact["text"]), "dim")] for fact in found["notes"]]


def verdict_line(title: str, found: Json) -> Line:
    return [(title, ""), (line(found["sentence"]), STYLES[found["outcome"]])]


def listed(title: str, texts: list[str]) -> list[Line]:
    return [[], [(title, "bold")], *([("  " + line(text), "")] for text in texts)] if texts else []


def place_line(place: Json) -> Line:
    return [(f"  {line(place['path'])}:{place['line']}: {place['code']} {line(place['message'])}", "")]


def speed_text(found: Json, lang: str) -> str:
    """Empty where a run does not say how fast it was."""
    if (speed := found["throughput"]) is None:
        return ""
    one, other = shown(speed["baseline"]), shown(speed["candidate"])
    unit = say(f"unit.{speed['unit']}", lang)
    return say("speed", lang, one=one, other=other, unit=unit, ratio=f"{100 * speed['ratio']:.3g} %")


def tolerance_text(found: Json, lang: str) -> str:
    about = found["tolerance"]
    precision = about["precision"] or say("tolerance.unknown", lang)
    return say("tolerance", lang, loss=f"{about['loss']:g}", norm=f"{about['norm']:g}", precision=precision)


def _places(found: Json, lang: str) -> list[Line]:
    about = found["repository"]
    if about is None or not about["codes"]:
        return []
    root, places = printable(about["root"]), about["places"]
    if not places:
        return [[], [(say("places.none", lang, root=root), "")]]
    rows: list[Line] = [[], [(say("places", lang, root=root), "bold")]]
    for place in places[:PLACES]:
        rows.append(place_line(place))
    if len(places) > PLACES:
        codes = ",".join(sorted({place["code"] for place in places}))
        rows.append([("  " + say("places.more", lang, n=len(places) - PLACES, codes=codes), "dim")])
    return rows


def _head(run: Json, lang: str) -> str:
    text = say(
        "run",
        lang,
        role=say(run["role"], lang),
        name=printable(run["name"]),
        format=run["format"],
        steps=f"{run['steps']:,}",
    )
    if run["steps"]:
        text += say("run.span", lang, first=run["first"], last=run["last"])
    return text + (say("run.ranks", lang, n=run["ranks"]) if run["ranks"] > 1 else "")


def _run(role: str, run: Run) -> Json:
    loss = run.first.loss
    first, last = (loss.steps[0], loss.steps[-1]) if len(loss) else (None, None)
    return {
        "role": role, "name": run.name, "format": run.format, "device": run.device or None, "ranks": len(run.ranks),
        "steps": loss.seen, "first": first, "last": last,
    }  # fmt: skip


def _fact(fact: Fact, lang: str) -> Json:
    return {
        "key": fact.key,
        "values": {k: v for k, v in fact.values.items() if k != "role"},
        "text": say(fact.key, lang, **fact.values),
    }


def _notes(role: str, run: Run, lang: str) -> list[Fact]:
    notes = [Fact(f"note.{key}", {"role": say(role, lang), **values}) for key, values in run.notes]
    if run.is_own and not all(rank.ended for _, rank in run.each()):
        notes.append(Fact("note.unfinished", {"role": say(role, lang)}))
    return notes


def _throughput(pair: Pair) -> Json | None:
    for kind, unit in ((SPEED, "samples"), (SECONDS, "steps")):
        sides = [[v for v in run.first.series[kind].values[_WARM:] if 0 < v < HUGE] if kind in run.first.series else []
                 for run in (pair.baseline, pair.candidate)]  # fmt: skip
        if all(sides):
            one, other = (median(side) if kind == SPEED else 1 / median(side) for side in sides)
            return {"unit": unit, "baseline": one, "candidate": other, "ratio": other / one}
    return None
