"""The result of a verified run, for a person and for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from porter.verify.compare import STEPS, Comparison, Curve
from porter.verify.install import Device
from porter.verify.launch import Outcome
from porter.verify.records import Operator
from porter.verify.words import say

FORMAT = 1
_ROWS, _CURVES = 8, 20


@dataclass(frozen=True, slots=True)
class Result:
    device: Device
    devices: int
    ported: Outcome
    original: Outcome | None = None
    comparison: Comparison | None = None
    known: tuple[str, ...] = ()  # what porter had said of the places where the port stopped

    @property
    def verdict(self) -> str:
        """equal | close | smoke | apart | silent | port | original"""
        if not self.ported.ran:
            return "port"
        if self.original is None:
            return "smoke"
        return self.comparison.verdict if self.original.ran and self.comparison else "original"

    @property
    def verified(self) -> bool:
        return self.verdict in ("equal", "close", "smoke")


def text(result: Result, lang: str) -> Iterator[str]:
    device = result.device
    yield say("device", lang, torch=device.torch, torch_npu=device.torch_npu, devices=result.devices)
    legs = [("original", result.original), ("ported", result.ported)]
    for name, outcome in legs:
        if outcome is not None:
            how, detail = outcome.how_it_ended()
            ended = say(f"ended.{how}", lang, detail=detail)
            yield f"{say(f'leg.{name}', lang)}: {ended}, {say('steps', lang)}: {outcome.records.steps}"
            yield from _errors(outcome, lang)
    if result.known:
        yield "  " + say("known", lang)
        yield from (f"    {line}" for line in result.known)
    if result.comparison is not None and result.original is not None and result.original.ran and result.ported.ran:
        yield from _comparison(result.comparison, lang)
    yield from _operators(result.ported, lang)
    yield ""
    yield say(f"verdict.{result.verdict}", lang)
    yield say("proves", lang, torch_npu=device.torch_npu)


def _errors(outcome: Outcome, lang: str) -> Iterator[str]:
    if outcome.ran:
        return
    for error in outcome.records.errors:
        rank = say("error.rank", lang, rank=error.rank) if error.rank else ""
        key = "error" if error.where else "error.nowhere"
        first = (error.text.splitlines() or [""])[0]
        yield "  " + rank + say(key, lang, kind=error.kind, where=error.where, text=first)
    stuck = outcome.records.stuck if outcome.code is None else []
    for number, where in stuck:
        yield "  " + (say("error.rank", lang, rank=number) if number else "") + say("stuck", lang, where=where)
    if not outcome.records.errors and not stuck:
        yield "  " + say("output", lang)
        yield from (f"    {line}" for line in outcome.tail.splitlines()[-12:])


def _comparison(comparison: Comparison, lang: str) -> Iterator[str]:
    if comparison.exchanged:
        names = ", ".join(comparison.exchanged)
        yield say("exchanged", lang, names=names, tolerance=comparison.tolerance, steps=STEPS)
    if comparison.curves:
        head = tuple(say(key, lang) for key in ("series", "points", "same", "furthest"))
        silent = {curve.name for curve in [c for c in comparison.curves if c.agrees][_CURVES:]}
        rows = [head, *(_row(curve) for curve in comparison.curves if curve.name not in silent)]
        if silent:
            rows.append((say("series.more", lang, n=len(silent)), "", "", ""))
        if comparison.saved[1]:
            rows.append((say("saved", lang), str(comparison.saved[1]), str(comparison.saved[0]), ""))
        yield ""
        yield from table(rows)
    for curve in comparison.curves:
        if not curve.agrees:
            yield _parting(curve, lang)
    if comparison.saved[2]:
        yield say("parts.saved", lang, names=", ".join(comparison.saved[2][:_ROWS]))


def _row(curve: Curve) -> tuple[str, ...]:
    points = f"{len(curve.original)}" if len(curve.original) == len(curve.ported) else (
        f"{len(curve.original)} / {len(curve.ported)}"
    )  # fmt: skip
    return curve.name, points, str(curve.equal), f"{curve.furthest:.2g}" if curve.furthest else "0"


def _parting(curve: Curve, lang: str) -> str:
    at = curve.parts_at or 0
    if at >= min(len(curve.original), len(curve.ported)):
        return say("parts.count", lang, name=curve.name, original=len(curve.original), ported=len(curve.ported))
    one, other = curve.original[at], curve.ported[at]
    key = "parts" if curve.name.startswith(("loss", "grad_norm")) else "parts.value"
    return say(
        key, lang, name=curve.name, step=at + 1, original=f"{one.value:.9g}", original_where=one.where or "-",
        ported=f"{other.value:.9g}", ported_where=other.where or "-",
    )  # fmt: skip


def _operators(outcome: Outcome, lang: str) -> Iterator[str]:
    operators = outcome.records.operators
    chosen = {
        "fallback": [o for o in operators if o.kind == "cpu_fallback"],
        "sync": [o for o in operators if o.synchronises and o.in_steps and o.where],
        "shapes": [o for o in operators if o.late_shapes and o.where],
    }
    for key, found in chosen.items():
        if not found:
            continue
        found.sort(key=lambda o: (-(o.calls if key == "fallback" else o.in_steps), o.where, o.name))
        yield ""
        yield say(f"operators.{key}", lang)
        for operator in found[:_ROWS]:
            where = operator.where or say("operators.inside", lang)
            if key == "shapes":
                example = operator.late_shapes[0]
                yield say(
                    "operators.row.shapes",
                    lang,
                    where=where,
                    name=operator.name,
                    shapes=operator.shapes,
                    example=example,
                )
            else:
                calls = operator.calls if key == "fallback" else operator.in_steps
                yield say("operators.row", lang, where=where, name=operator.name, calls=calls)
        if len(found) > _ROWS:
            yield say("operators.more", lang, n=len(found) - _ROWS)


def table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths)).rstrip()


def _width(text: str) -> int:
    return sum(2 if ord(c) > 0x2E80 else 1 for c in text)


def as_json(result: Result) -> str:
    return json.dumps(_data(result), indent=2, ensure_ascii=False, allow_nan=True) + "\n"


def _data(result: Result) -> dict:
    comparison = result.comparison
    return {
        "format": FORMAT,
        "verdict": result.verdict,
        "verified": result.verified,
        "torch": result.device.torch,
        "torch_npu": result.device.torch_npu,
        "devices": result.devices,
        "original": _leg(result.original) if result.original else None,
        "ported": _leg(result.ported),
        "known": list(result.known),
        "exchanged_operators": list(comparison.exchanged) if comparison else [],
        "tolerance": comparison.tolerance if comparison else 0,
        "curves": [_curve(curve) for curve in comparison.curves] if comparison else [],
        "saved_tensors": dict(zip(("equal", "all", "different"), comparison.saved)) if comparison else {},
    }


def _leg(outcome: Outcome) -> dict:
    how, detail = outcome.how_it_ended()
    return {
        "ended": how,
        "detail": detail,
        "steps": outcome.records.steps,
        "stuck": [{"rank": rank, "where": where} for rank, where in outcome.records.stuck]
        if outcome.code is None
        else [],
        "errors": [{"rank": e.rank, "type": e.kind, "text": e.text, "where": e.where} for e in outcome.records.errors],
        "operators": [_operator(operator) for operator in outcome.records.operators],
    }


def _operator(operator: Operator) -> dict:
    return {
        "name": operator.name,
        "where": operator.where,
        "class": operator.kind,
        "host_synchronisation": operator.synchronises,
        "calls": operator.calls,
        "calls_in_steps": operator.in_steps,
        "dtype": operator.dtype,
        "shapes": operator.shapes,
        "late_shapes": list(operator.late_shapes),
    }


def _curve(curve: Curve) -> dict:
    return {
        "name": curve.name,
        "original": [point.value for point in curve.original],
        "ported": [point.value for point in curve.ported],
        "bit_equal": curve.equal,
        "largest_relative_difference": curve.furthest,
        "parts_at": curve.parts_at,
    }
