"""Which way this repository should take, and in which steps; decided from rules/route.toml and plan.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from porter.files.documents import Json
from porter.files.paths import SIDE

if TYPE_CHECKING:
    from porter.project.route_signals import Signal
    from porter.report.model import Report

LIKELY = ("pretrain", "train", "finetune", "main", "run")  # words in the name of a script that trains
# words in the name of one that does something else
OTHERWISE = frozenset(
    "eval evaluate evaluation test generate generation infer inference predict demo convert export".split()
)
NONE = "your_training.py"


def route(report: Report) -> Json:
    """The route, its evidence, and other routes that also hold for a part of the repository."""
    counts = {signal.name: signal for signal in report.signals}
    held = [
        (row, condition)
        for row in report.texts.named("routes").values()
        if (condition := _holds(report, row, counts)) is not None
    ]
    if not held:  # nothing was read: a run over no file at all
        return {}
    held.sort(key=lambda item: (item[0]["tier"], -_files(item[1].get("signal"), counts), item[0]["name"]))
    row, condition = held[0]
    shown_signals = ("torch", condition.get("signal"))
    also = [(r, c) for r, c in held[1:] if r["tier"] < 9 and "signal" in c and c["signal"] not in shown_signals]
    return {
        **_route_document(row),
        "head": row.get("head"),
        "style": row.get("style", report.target.style),
        "snippet": row.get("snippet"),
        "source": row["evidence"],
        "evidence": _evidence(report, condition, counts),
        "also": [_route_document(r) | {"evidence": _evidence(report, c, counts)} for r, c in also],
    }


def _route_document(row: Json) -> Json:
    return {key: row.get(key) for key in ("name", "title", "text", "reference")}


def _files(signal: str | None, counts: Mapping[str, Signal]) -> int:
    return counts[signal].files if signal is not None and signal in counts else 0


def _holds(report: Report, row: Json, counts: Mapping[str, Signal]) -> Json | None:
    """The condition that holds, None where none does."""
    if row.get("edited", bool(report.scan.edited)) != bool(report.scan.edited):
        return None
    if "own" in row and row["own"] not in report.scan.paths:
        return None
    if "places" in row and (report.findings.readiness[1] > row["places"] or report.findings.unseen):
        return None
    if "stops" in row:  # where all that is found of these codes has another way, they do not decide
        found = [f for f in report.findings.open if f.code in row["stops"]]
        if found and not any(f.severity == "blocker" for f in found):
            return None
    torch = _files("torch", counts)
    condition: Json
    for condition in row["when"]:
        if "without" in condition:
            if condition["without"] not in counts and report.scan.files:
                return condition
        elif (files := _files(condition.get("signal"), counts)) >= condition.get("least", 1) and files >= condition.get(
            "share", 0
        ) * torch:
            return condition
    return None


def _evidence(report: Report, condition: Json, counts: Mapping[str, Signal]) -> list[Json]:
    name: str = condition["signal" if "signal" in condition else "without"]
    signal = counts.get(name)
    return [
        {
            "signal": name,
            "title": report.texts.named("signals")[name]["title"],
            "files": _files(name, counts),
            "of": _files("torch", counts),
            "places": list(signal.places) if signal else [],
        }
    ]


def plan(report: Report, way: Json) -> list[Json]:
    if not way:
        return []
    style = way["style"]
    values = {
        "torch_npu": report.target.torch_npu,
        "torch": ".".join(map(str, report.target.torch)),
        "path": ".",
        "style": "" if style == "rename" else f" --style {style}",
        "entry": _entry(report.gathered.entries) or NONE,
    }
    return [
        {
            "name": step["name"],
            "title": step["title"],
            "text": step["text"],
            "commands": [command.format_map(values) for command in step["command"]],
        }
        for step in report.texts.named("steps").values()
        if way["name"] in step.get("only", (way["name"],)) and way["name"] not in step.get("but", ())
    ]


def _entry(entries: tuple[str, ...]) -> str | None:
    """The script that most likely trains; its name is put into commands, so an odd one is not taken."""
    import re
    import shlex

    def likely(path: str) -> tuple[bool, bool, bool, int, int, int, int]:
        words = [word for word in re.split(r"[\W_]+", path.rpartition("/")[2].removesuffix(".py").lower()) if word]
        preference = next((n for n, word in enumerate(LIKELY) if word in words), len(LIKELY))
        unlikely, side = preference == len(LIKELY), SIDE.search(path) is not None
        deep = path.count("/") // 2  # a project that another one brought along lies in folders of its own
        return (unlikely, side, not OTHERWISE.isdisjoint(words), deep, len(words), preference, entries.index(path))

    names = [path for path in entries if path.isprintable() and shlex.quote(path) == path]
    return min(names, key=likely, default=None)
