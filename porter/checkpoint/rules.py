"""rules/checkpoint as functions: what a global is to who loads it, and what a name is called elsewhere."""

from __future__ import annotations

import re
from functools import lru_cache

from porter.regex import lazy
from porter.resources import rules_dir
from porter.rulebook import compiled
from porter.rulebook.table import Stanza

BUILDER = "porter.checkpoint.schema"


@lru_cache(maxsize=1)
def stanzas() -> dict[str, list[Stanza]]:
    return compiled.section(rules_dir() / "checkpoint", "stanzas", BUILDER)


@lru_cache(maxsize=4)
def _any(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{name})" for row in stanzas()[kind] for name in row["names"]))


@lru_cache(maxsize=1 << 12)
def verdict(path: str) -> str:
    """Of a global: `allowed` by torch.load(weights_only=True), `refused` by it, or `runs`: it does what its author likes."""
    if _any("allowed").fullmatch(path):
        return "allowed"
    return "runs" if _any("runs").fullmatch(path) else "refused"


def unread(instructions: set[str]) -> list[str]:
    """Instructions of pickles that torch.load(weights_only=True) does not know."""
    known = {name for row in stanzas()["instructions"] for name in row["names"]}
    return sorted(instructions - known)


@lru_cache(maxsize=1)
def _renames() -> list[tuple[re.Pattern[str], str]]:
    wrappers = "|".join(name for row in stanzas()["wrapper"] for name in row["names"])
    first = [(re.compile(rf"(^|\.)(?:(?:{wrappers})\.)+"), r"\1")]
    return first + [(re.compile(old), new) for row in stanzas()["rename"] for old, new in row["names"]]


@lru_cache(maxsize=1 << 16)
def canonical(name: str) -> str:
    """The spelling that both sides of a comparison are brought to."""
    for pattern, new in _renames():
        name = pattern.sub(new, name)
    return name


@lru_cache(maxsize=1)
def _aside() -> re.Pattern[str]:
    return re.compile("|".join(row["pattern"] for row in stanzas()["aside"]))


def is_aside(name: str) -> bool:
    """No weight: the state of an optimiser, random numbers, counters."""
    return bool(_aside().search(name))


def section(names: list[str]) -> str:
    """The key of a saved dictionary below which its weights stand, with the dot; empty where they stand at its top."""
    weights = [name for name in names if not is_aside(name)]
    for key in stanzas()["section"][0]["weights"]:
        if weights and all(name.startswith(f"{key}.") for name in weights):
            return f"{key}."
    return ""


def joins() -> list[tuple[re.Pattern[str], list[str], bool]]:
    return [(lazy(row["whole"]), row["parts"], row.get("groups", False)) for row in stanzas()["joined"]]


def is_without(name: str, framework: str) -> bool:
    rows = stanzas()["without"]
    return any(row["of"] == framework and re.search(row["pattern"], name) for row in rows)


def axis_of(name: str) -> int | None:
    """Along which ranks of tensor parallelism hold parts of it; None: each has all."""
    name = canonical(name)
    return next((row["axis"] for row in stanzas()["sharded"] if re.search(row["pattern"], name)), None)
