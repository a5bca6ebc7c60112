"""What a verified run says to a person, from its data: in pieces, for the terminal and for a page of the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from porter.files.documents import Json
from porter.rulebook.words import speaker
from porter.verify import sensitivity_show
from porter.verify.aligned import aligned
from porter.verify.compare import STEPS
from porter.verify.culprit import LIMIT, UNSTEADY

say = speaker("verify")

_ROWS, _CURVES = 8, 20


@dataclass(frozen=True, slots=True)
class Pieces:
    device: str
    legs: tuple[tuple[str, tuple[str, ...]], ...]  # how each run ended, and what it said if it failed
    known: tuple[str, ...]
    notes: tuple[str, ...]
    edited: str  # how many of the edited statements ran
    exchanged: str
    table: tuple[tuple[str, ...], ...]  # a head, and a row for each series
    partings: tuple[str, ...]
    operators: tuple[tuple[str, tuple[str, ...]], ...]
    verdict: str
    proves: str


def pieces(data: Json, lang: str) -> Pieces:
    device = {"torch": data["torch"], "torch_npu": data["torch_npu"], "devices": data["devices"]}
    legs = [(name, data[name]) for name in ("original", "ported") if data.get(name)]
    return Pieces(
        say("device", lang, **device),
        tuple((_ended(name, leg, lang), tuple(_failure(leg, lang))) for name, leg in legs),
        tuple(data["known"]),
        tuple(data.get("notes", ())),
        _edited(data, lang),
        _exchanged(data, lang),
        tuple(_table(data, lang)),
        (*_partings(data, lang), *_differences(data, lang)),
        tuple(_operators(data["ported"]["operators"], lang)),
        _verdict(data, lang),
        say("proves", lang, torch_npu=data["torch_npu"]),
    )


def text(data: Json, lang: str) -> Iterator[str]:
    said = pieces(data, lang)
    yield said.device
    for ended, failure in said.legs:
        yield ended
        yield from (f"  {line}" for line in failure)
    if said.known:
        yield "  " + say("known", lang)
        yield from (f"    {line}" for line in said.known)
    if said.exchanged:
        yield said.exchanged
    if said.table:
        yield ""
        yield from aligned(said.table)
    yield from said.partings
    for title, rows in said.operators:
        yield ""
        yield title
        yield from (f"  {row}" for row in rows)
    yield ""
    yield said.verdict
    yield from filter(None, (*said.notes, said.edited))
    if data["verified"]:
        yield said.proves
    if data.get("sensitivity"):
        yield from sensitivity_show.lines(data["sensitivity"], lang)


def _verdict(data: Json, lang: str) -> str:
    blamed = data.get("culprit")
    if blamed and blamed["beside"] in (UNSTEADY, LIMIT):
        return say(f"culprit.{blamed['beside']}", lang)
    alone = blamed and blamed["name"] == "port" and not data["original"]
    if not blamed or alone or data["verdict"] in ("apart", "silent"):
        return say(f"verdict.{data['verdict']}", lang)
    what = say("culprit.what", lang, what=blamed["what"]) if blamed["what"] else ""
    side = "of-original" if data["verdict"] == "original" else "of-port"
    key = blamed["name"] if blamed["name"] in ("port", "original") else f"{blamed['name']}.{side}"
    said = say(f"culprit.{key}", lang, what=what)
    return said + " " + say(f"culprit.{blamed['beside']}", lang) if blamed["beside"] else said


def _ended(name: str, leg: Json, lang: str) -> str:
    ended = say(f"ended.{leg['ended']}", lang, detail=leg["detail"])
    if leg["ended"] == "not-run":
        return f"{say(f'leg.{name}', lang)}: {ended}"
    return f"{say(f'leg.{name}', lang)}: {ended}, {say('steps', lang)}: {leg['steps']}"


def _failure(leg: Json, lang: str) -> Iterator[str]:
    if leg["ended"] in ("ended", "not-run"):
        return

    def of(rank: int) -> str:
        return say("error.rank", lang, rank=rank) if rank else ""

    errors = [error for error in leg["errors"] if error["type"] not in ("SignalException", "ChildFailedError")]
    for error in errors:
        key = "error" if error["where"] else "error.nowhere"
        first = (error["text"].splitlines() or [""])[0]
        yield of(error["rank"]) + say(key, lang, kind=error["type"], where=error["where"], text=first)
    for stuck in leg["stuck"]:
        yield of(stuck["rank"]) + say("stuck", lang, where=stuck["where"])
    if not errors and not leg["stuck"]:
        yield say("output", lang)
        yield from (f"  {line}" for line in leg["output"])


def _exchanged(data: Json, lang: str) -> str:
    names = ", ".join(data["exchanged_operators"])
    return say("exchanged", lang, names=names, tolerance=data["tolerance"], steps=STEPS) if names else ""


def _edited(data: Json, lang: str) -> str:
    edited = data.get("edited_statements", {})
    if not edited.get("all") or data["ported"]["ended"] == "not-run":
        return ""
    missed = edited["not_run"]
    said = say("edited", lang, ran=edited["all"] - len(missed), all=edited["all"])
    for key, places in (("edited.unfelt", edited.get("unfelt", [])), ("edited.missed", missed)):
        if places:
            more = say("edited.more", lang, n=len(places) - _ROWS) if len(places) > _ROWS else ""
            said += say(key, lang, places=", ".join(places[:_ROWS]) + more)
    return said


def _table(data: Json, lang: str) -> Iterator[tuple[str, ...]]:
    curves = data["curves"]
    if not curves:
        return
    yield tuple(say(key, lang) for key in ("series", "points", "same", "furthest"))
    silent = [curve["name"] for curve in curves if curve["parts_at"] is None][_CURVES:]
    yield from (_row(curve) for curve in curves if curve["name"] not in silent)
    if silent:
        yield say("series.more", lang, n=len(silent)), "", "", ""
    saved = data["saved_tensors"]
    if saved.get("all"):
        yield say("saved", lang), str(saved["all"]), str(saved["equal"]), ""


def _row(curve: Json) -> tuple[str, ...]:
    original, ported = len(curve["original"]), len(curve["ported"])
    points = f"{original}" if original == ported else f"{original} / {ported}"
    furthest = curve["largest_relative_difference"]
    return curve["name"], points, str(curve["bit_equal"]), f"{furthest:.2g}" if furthest else "0"


def _partings(data: Json, lang: str) -> Iterator[str]:
    for curve in data["curves"]:
        if curve["parts_at"] is not None:
            yield _parting(curve, lang)
    if different := data["saved_tensors"].get("different"):
        yield say("parts.saved", lang, names=", ".join(different[:_ROWS]))


def _parting(curve: Json, lang: str) -> str:
    name, at = curve["name"], curve["parts_at"]
    if not curve["parts_where"]:
        counts = {"original": len(curve["original"]), "ported": len(curve["ported"])}
        return say("parts.count", lang, name=name, **counts)
    one, other = curve["parts_where"]
    return say(
        "parts" if name.startswith(("loss", "grad_norm")) else "parts.value", lang, name=name, step=at + 1,
        original=f"{curve['original'][at]:.9g}", original_where=one or "-",
        ported=f"{curve['ported'][at]:.9g}", ported_where=other or "-",
    )  # fmt: skip


def _differences(data: Json, lang: str) -> Iterator[str]:
    """What the port does otherwise, first things first."""
    found = data.get("first_differences", [])
    if found:
        yield say("differs.first" if len(found) == 1 else "differs.firsts", lang)
    for parting in found:
        yield "  " + say(f"differs.{parting['kind']}", lang, **{k: v or "-" for k, v in parting.items() if k != "kind"})


def _operators(operators: list[Json], lang: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    chosen = {
        "fallback": [o for o in operators if o["class"] == "cpu_fallback"],
        "sync": [o for o in operators if o["host_synchronisation"] and o["calls_in_steps"] and o["where"]],
        "shapes": [o for o in operators if o["late_shapes"] and o["where"]],
    }
    for key, found in chosen.items():
        calls = "calls" if key == "fallback" else "calls_in_steps"
        found.sort(key=lambda o: (-o[calls], o["where"], o["name"]))
        rows = [_operator(operator, key, calls, lang) for operator in found[:_ROWS]]
        if len(found) > _ROWS:
            rows.append(say("operators.more", lang, n=len(found) - _ROWS))
        if rows:
            yield say(f"operators.{key}", lang), tuple(rows)


def unexplained(operators: list[Json], lang: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Late shapes at places that no finding speaks of."""
    rows = [_operator(operator, "shapes", "", lang) for operator in operators[:_ROWS]]
    if len(operators) > _ROWS:
        rows.append(say("operators.more", lang, n=len(operators) - _ROWS))
    if rows:
        yield say("operators.unexplained", lang), tuple(rows)


def _operator(operator: Json, key: str, calls: str, lang: str) -> str:
    where, name = operator["where"] or say("operators.inside", lang), operator["name"]
    if key == "shapes":
        example = operator["late_shapes"][0]
        return say(
            "operators.row.shapes", lang, where=where, name=name, shapes=operator["shapes"], example=example
        )  # fmt: skip
    return say("operators.row", lang, where=where, name=name, calls=operator[calls])
