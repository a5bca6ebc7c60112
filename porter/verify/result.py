"""The result of a verified run, and the same as data: what `--format json` and `--output` write, and the report reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from porter.files import documents
from porter.files.documents import Json
from porter.verify.compare import Comparison, Curve
from porter.verify.culprit import Culprit
from porter.verify.did import Parting
from porter.verify.install import Device
from porter.verify.launch import Outcome
from porter.verify.records import Operator
from porter.verify.sensitivity import Sensitivity
from porter.verify.sensitivity import data as sensitivity_data

FORMAT = 2
_TAIL = 12  # lines of output, where nothing else says how a run ended
_PARTS = {
    "verdict": str, "torch": str, "torch_npu": str, "devices": int, "ported": dict, "known": list,
    "exchanged_operators": list, "curves": list, "saved_tensors": dict,
}  # fmt: skip
_NOT_RUN: Json = {
    "ended": "not-run",
    "detail": "",
    "steps": 0,
    "stuck": [],
    "errors": [],
    "output": [],
    "operators": [],
}


@dataclass(frozen=True, slots=True)
class Result:
    device: Device
    devices: int
    ported: Outcome | None  # None: it was not run, as the original did not come to the device
    original: Outcome | None = None
    comparison: Comparison | None = None
    known: tuple[str, ...] = ()  # what porter had said of the places where the port stopped
    culprit: Culprit | None = None
    edited: int = 0  # statements of the port that differ from the original's
    missed: tuple[str, ...] = ()  # those of them that did not run: what is verified says nothing of them
    unfelt: tuple[str, ...] = ()  # those of a port by hand that ran, are more than renamed, and made no difference
    partings: tuple[Parting, ...] = ()  # the first things that a port which is at fault does otherwise
    sensitivity: Sensitivity | None = None
    notes: tuple[str, ...] = ()  # what else a reader needs: edits that were left out, another target, the cause

    @property
    def verdict(self) -> str:
        """equal | close | smoke | apart | silent | port | original"""
        if self.original is not None and not self.original.ran:
            return "original"
        if self.ported is None or not self.ported.ran:
            return "port"
        return self.comparison.verdict if self.comparison else "smoke"

    @property
    def verified(self) -> bool:
        return self.verdict in ("equal", "close", "smoke")


def as_json(result: Result) -> str:
    return json.dumps(data(result), indent=2, ensure_ascii=False, allow_nan=True) + "\n"


def read(name: str) -> Json:
    """What `porter verify --output` wrote."""
    return documents.read(name, "porter verify --output verify.json", ("format", FORMAT), _PARTS)


def data(result: Result) -> Json:
    comparison = result.comparison
    return {
        "format": FORMAT,
        "verdict": result.verdict,
        "verified": result.verified,
        "torch": result.device.torch,
        "torch_npu": result.device.torch_npu,
        "devices": result.devices,
        "original": _leg(result.original) if result.original else None,
        "ported": _leg(result.ported) if result.ported else _NOT_RUN,
        "culprit": result.culprit._asdict() if result.culprit else None,
        "known": list(result.known),
        "edited_statements": {
            "all": result.edited,
            "not_run": list(result.missed),
            "unfelt": list(result.unfelt),
        },
        "notes": list(result.notes),
        "exchanged_operators": list(comparison.exchanged) if comparison else [],
        "tolerance": comparison.tolerance if comparison else 0,
        "curves": [_curve(curve) for curve in comparison.curves] if comparison else [],
        "saved_tensors": dict(zip(("equal", "all", "different"), comparison.saved)) if comparison else {},
        "first_differences": [asdict(parting) for parting in result.partings],
        "sensitivity": sensitivity_data(result.sensitivity) if result.sensitivity else None,
    }


def _leg(outcome: Outcome) -> Json:
    how, detail = outcome.how_it_ended()
    return {
        "ended": how,
        "detail": detail,
        "steps": outcome.records.steps,
        "stuck": [{"rank": rank, "where": where} for rank, where in outcome.records.stuck]
        if outcome.code is None
        else [],
        "errors": [{"rank": e.rank, "type": e.kind, "text": e.text, "where": e.where} for e in outcome.records.errors],
        "output": [] if outcome.ran else outcome.tail.splitlines()[-_TAIL:],
        "operators": [_operator(operator) for operator in outcome.records.operators],
    }


def _operator(operator: Operator) -> Json:
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


def _curve(curve: Curve) -> Json:
    return {
        "name": curve.name,
        "original": [point.value for point in curve.original],
        "ported": [point.value for point in curve.ported],
        "bit_equal": curve.equal,
        "largest_relative_difference": curve.furthest,
        "parts_at": curve.parts_at,
        "parts_where": _places(curve),
    }


def _places(curve: Curve) -> list[str]:
    """The lines of the original and of the port, where both have the value at which they part."""
    at = curve.parts_at
    if at is None or at >= min(len(curve.original), len(curve.ported)):
        return []
    return [curve.original[at].where, curve.ported[at].where]
