"""Logs of trainings that were never run, as `porter instrument --loss-log` writes them: a curve, and what a test changes of it."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from porter.compare.pair import Pair
from porter.compare.read import read
from porter.compare.tree import judge
from porter.compare.verdict import Verdict

NAMES = ("embed.weight", "block.attn.weight", "block.mlp.weight", "head.weight")
ADAM = {"lr": 0.001, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01, "parameters": 4}


def curve(n: int = 40, seed: int = 5) -> list[float]:
    """Falls, and swings with its batches."""
    chance = random.Random(seed)
    return [0.5 + 2 * math.exp(-3 * step / n) + 0.05 * chance.random() for step in range(n)]


def records(
    losses: list[float] | None = None,
    rank: int = 0,
    batches: int | None = None,
    data: str = "d",
    weights: dict[str, Any] | None = None,
    norms: dict[str, float] | None = None,
    marks: dict[str, float] | None = None,
    optimiser: dict[str, Any] | None = None,
    name: str = "AdamW",
    modules: dict[str, Any] | None = None,
    header: dict[str, Any] | None = None,
    start: int = 1,
    without: tuple[str, ...] = (),
    updates: list[float] | None = None,
    **series: list[Any],
) -> list[dict[str, Any]]:
    losses = curve() if losses is None else losses
    chance = random.Random(rank)
    made: list[dict[str, Any]] = [
        {
            "kind": "run",
            "format": 1,
            "rank": rank,
            "ranks": 1,
            "device": "cpu",
            "torch": "2.7.1",
            "seed": 1,
            **(header or {}),
        },
        {
            "kind": "weights",
            "parameters": {
                n: {"norm": 1.5 + i, "shape": [4, 4], "dtype": "float32", **(weights or {}).get(n, {})}
                for i, n in enumerate(NAMES)
            },
        },
        {"kind": "optimizer", "name": name, "groups": [{**ADAM, **(optimiser or {})}]},
        {"kind": "modules", "training": True, "dropout": {}, **(modules or {})},
    ]
    for at, loss in enumerate(losses):
        step = start + at
        if batches is None or at < batches:
            mark = f"{hash_of(f'{data} {rank} {at}')}"
            made.append(
                {
                    "kind": "batch",
                    "step": step,
                    "inputs": [{"path": "0.ids", "shape": [8], "dtype": "int64", "hash": mark}],
                }
            )
        row: dict[str, Any] = {"step": step, "loss": loss, "lr": 0.001, "grad_norm": 2 + chance.random() / 10}
        row |= {key: values[at] for key, values in series.items() if values[at] is not None}
        made.append({"kind": "step", **row})
        if updates and at < len(updates):
            made.append({"kind": "update", "step": step, "grad_norm": updates[at], "values": 64})
        if at == 0:
            gradients = {n: (norms or {}).get(n, 0.1 * (i + 1)) for i, n in enumerate(NAMES)}
            made.append({"kind": "norms", "step": step, "gradients": gradients})
            if marks is not None:
                made[-1]["marks"] = {n: 0.05 for n in NAMES} | marks
    made.append({"kind": "end", "steps": len(losses)})
    return [record for record in made if record["kind"] not in without]


def hash_of(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def written(path: Path, made: list[dict[str, Any]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in made), encoding="utf-8")
    return str(path)


def judged(
    folder: Path, one: list[dict[str, Any]], other: list[dict[str, Any]], again: list[dict[str, Any]] | None = None
) -> Verdict:
    """A baseline, a candidate and perhaps a rerun, through files, as the command reads them."""
    names = [written(folder / f"{n}.jsonl", made) for n, made in enumerate((one, other, again or [])) if made]
    return judge(Pair(*(read(name) for name in names)))


def keys(verdict: Verdict) -> list[str]:
    return [fact.key for fact in verdict.evidence]
