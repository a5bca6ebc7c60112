"""All of it as one document: what JSON shows, and what text and page are made from. Times are microseconds."""

from __future__ import annotations

from collections.abc import Iterable

from porter.files.documents import Json
from porter.profiles import compared
from porter.profiles.compared import Pair
from porter.profiles.find import Run
from porter.profiles.kinds import kind_of
from porter.profiles.model import Profile, Tally
from porter.profiles.signs import Sign, name_of, signs
from porter.profiles.sums import (
    base,
    formula,
    operators,
    own_time,
    share,
    shown_profile,
    step_time,
    tallies,
    waiting_apis,
)
from porter.rulebook.words import speaker

SCHEMA = 1
MOST = 15  # rows of a table
say = speaker("profiles")


def document(runs: list[Run], version: str, lang: str) -> Json:
    value: Json = {
        "schema": SCHEMA,
        "porter": version,
        "language": lang,
        "profiles": [_side(run, lang) for run in runs],
        "compared": _compared(runs[0], runs[1]) if len(runs) > 1 else None,
        "next": [_next(sign, lang) for sign in signs(ported(runs))],
    }
    return value


def ported(runs: list[Run]) -> Run:
    """The side that advice is about: the last that ran on NPUs."""
    on_npu = [run for run in runs if shown_profile(run).device == "npu"]
    return on_npu[-1] if on_npu else runs[-1]


def _side(run: Run, lang: str) -> Json:
    profile = shown_profile(run)
    steps = profile.steps or 1
    rows = operators(profile)
    return {
        "path": run.path,
        "device": profile.device,
        "shown": name_of(profile),
        "steps": profile.steps or None,
        "cards": compared.cards_of(run),
        "made_with": profile.origin.made_with,
        "variables": profile.origin.variables,
        "read": profile.origin.read,
        "absent": profile.origin.absent,
        "notes": _notes(run, profile, lang),
        "step": {
            "time": _rounded(step_time(profile)),
            "share_of": "step" if profile.total else "kernels" if base(profile) else None,
            "parts": [
                {"part": p.key, "time": _rounded(p.time), "share": _ratio(p.share), "within": p.within or None}
                for p in formula(profile)
            ],
        },
        "kinds": _tallies(profile, tallies(rows, "kind")),
        "cores": _tallies(profile, tallies([row for row in rows if row.core and row.kind != "communication"], "core")),
        "operators": [
            {
                "name": row.name,
                "kind": row.kind,
                "core": row.core or None,
                **_tally(profile, row, row.kind),
                "shapes": row.shapes or None,
                "new_shapes": row.fresh.count / steps if row.shapes and profile.steps > 1 else None,
            }
            for row in rows[:MOST]
        ],
        "operators_left_out": max(len(rows) - MOST, 0),
        "torch": [
            {"name": name, "kind": kind_of(name), "calls": op.count / steps, "host": _rounded(op.time / steps)}
            | {"device": _rounded(op.device / steps)}
            for name, op in sorted(profile.torch.items(), key=lambda item: (-item[1].device, -item[1].time, item[0]))[
                :MOST
            ]
        ],
        "host": _host(profile),
        "communication": _communication(profile),
        "ranks": [_rank(one) for one in run.profiles] if len(run.profiles) > 1 else [],
    }


def _notes(run: Run, profile: Profile, lang: str) -> list[str]:
    notes = [say(f"note.{key}", lang, **_shown(values)) for key, values in profile.origin.notes]
    if run.left_out:
        notes.append(say("note.left-out", lang, n=len(run.left_out), name=run.left_out[0]))
    if len(run.profiles) > 1:
        notes.append(say("note.longest", lang, name=name_of(profile), n=len(run.profiles)))
        if any(one.origin.rank is None for one in run.profiles):
            notes.append(say("note.no-rank", lang))
    if profile.steps == 0:
        notes.append(say("note.no-steps", lang))
    return notes


def _shown(values: dict[str, object]) -> dict[str, object]:
    return {key: f"{value / 1000:.3f}" if isinstance(value, float) else value for key, value in values.items()}


def _host(profile: Profile) -> Json:
    waits = waiting_apis(profile)
    gaps = profile.waits
    return {
        "waits": [
            {"name": name, "calls": tally.count / (profile.steps or 1), "time": _rounded(profile.per_step(tally.time))}
            for name, tally in list(waits.items())[:MOST]
        ]
        if profile.host.apis
        else None,
        "apis": [
            {"name": name, "calls": tally.count / (profile.steps or 1), "time": _rounded(profile.per_step(tally.time))}
            for name, tally in sorted(profile.host.apis.items(), key=lambda item: (-item[1].time, item[0]))[:MOST]
        ],
        "gaps": None
        if gaps is None
        else {
            "time": _rounded(profile.per_step(gaps.time)),
            "calls": gaps.count / (profile.steps or 1),
            "most": _rounded(gaps.most),
        },
    }


def _communication(profile: Profile) -> Json | None:
    if not profile.collectives:
        return None
    steps = profile.steps or 1
    collectives = [
        {
            "name": name,
            "calls": one.count / steps,
            "time": _rounded(one.time / steps),
            "transit": _rounded(one.transit / steps),
            "wait": _rounded(one.wait / steps),
        }
        for name, one in sorted(profile.collectives.items(), key=lambda item: (-item[1].time, item[0]))[:MOST]
    ]
    links = [
        {
            "link": name,
            "size": _rounded(link.size / steps),
            "time": _rounded(1000 * link.time / steps),
            "bandwidth": _rounded(link.size / link.time) if link.time else None,
            "small": _ratio(_small(link.packets)),
        }
        for name, link in sorted(profile.links.items())
        if link.size
    ]
    return {"collectives": collectives, "links": links}


def _small(packets: dict[float, int]) -> float | None:
    from porter.profiles.signs import SMALL_PACKET

    size = sum(size * count for size, count in packets.items())
    return sum(size * count for size, count in packets.items() if size < SMALL_PACKET) / size if size else None


def _rank(profile: Profile) -> Json:
    parts = profile.parts
    waits = sum(one.wait for one in profile.collectives.values()) if profile.collectives else None
    return {
        "rank": name_of(profile),
        "steps": profile.steps or None,
        "time": _rounded(step_time(profile)),
        "computing": _rounded(profile.per_step(parts.computing)),
        "communication": _rounded(profile.per_step(parts.exposed)),
        "scheduling": _rounded(profile.per_step(parts.free)),
        "own": _rounded(own_time(profile)),
        "wait": _rounded(profile.per_step(waits)),
    }


def _compared(before: Run, after: Run) -> Json:
    one, other = shown_profile(before), shown_profile(after)
    linear = compared.linearity(before, after)
    return {
        "per": "step" if compared.per_step(one, other) else "profile",
        "kinds": _pairs(compared.kinds(one, other)),
        "operators": _pairs(compared.same_operators(one, other)),
        "torch": _pairs(compared.torch_operators(one, other)),
        "linearity": None
        if linear is None
        else {"cards": list(linear.cards), "times": [_rounded(time) for time in linear.times]}
        | {"efficiency": _ratio(linear.efficiency)},
    }


def _pairs(pairs: Iterable[Pair]) -> list[Json]:
    return [
        {
            "name": pair.name,
            "calls": [round(calls, 3) for calls in pair.calls],
            "times": [_rounded(time) for time in pair.times],
            "change": _rounded(pair.change),
        }
        for pair in list(pairs)[:MOST]
    ]


def _next(sign: Sign, lang: str) -> Json:
    values = dict(sign.values)
    key = f"{sign.key}.{values.pop('with')}" if "with" in values else sign.key
    texts = {
        name: ""
        if value is None
        else f"{100 * value:.0f} %"
        if isinstance(value, float) and name in ("wait", "small")
        else calls_text(value)
        if isinstance(value, float)
        else value
        for name, value in values.items()
    }
    return {
        "sign": sign.key,
        "time": _rounded(sign.time),
        "share": _ratio(sign.share),
        "title": say(f"next.{sign.key}", lang),
        "evidence": say(f"evidence.{key}", lang, **texts),
        "do": say(f"do.{sign.key}", lang),
        "advice": list(sign.advice),
        "codes": list(sign.codes),
        "places": [],
    }


def _tallies(profile: Profile, rows: dict[str, Tally]) -> list[Json]:
    return [{"name": name, **_tally(profile, tally, name)} for name, tally in rows.items()]


def _tally(profile: Profile, tally: Tally, kind: str) -> Json:
    """Without a step, shares are of what computes: what communicates has none."""
    return {
        "calls": round(tally.count / (profile.steps or 1), 3),
        "time": _rounded(profile.per_step(tally.time)),
        "mean": _rounded(tally.time / tally.count if tally.count else 0.0),
        "most": _rounded(tally.most),
        "share": _ratio(share(profile, tally.time)) if profile.total or kind != "communication" else None,
    }


def calls_text(calls: float) -> str:
    return f"{calls:.0f}" if calls == round(calls) else f"{calls:.1f}"


def _rounded(time: float | None) -> float | None:
    return None if time is None else round(time, 3)


def _ratio(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
