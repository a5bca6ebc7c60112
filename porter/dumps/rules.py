"""rules/dumps as functions: what an operator or a module is, by its name."""

from __future__ import annotations

import re
from functools import lru_cache

from porter.resources import rules_dir
from porter.rulebook import compiled
from porter.rulebook.table import Stanza

BUILDER = "porter.dumps.schema"


@lru_cache(maxsize=1)
def _stanzas() -> dict[str, list[Stanza]]:
    return compiled.section(rules_dir() / "dumps", "stanzas", BUILDER)


@lru_cache(maxsize=1)
def _kinds() -> list[tuple[str, re.Pattern[str], str]]:
    return [(row["name"], re.compile("|".join(row["patterns"])), row.get("only", "")) for row in _stanzas()["kind"]]


@lru_cache(maxsize=1 << 12)
def kinds(prefix: str, operator: str) -> frozenset[str]:
    """Of a call; `prefix` is what stands before its name: Functional, Tensor, Distributed, Module, ..."""
    name = operator.lower().strip("_")
    return frozenset(
        kind for kind, pattern, only in _kinds() if (not only or only == prefix) and pattern.fullmatch(name)
    )


@lru_cache(maxsize=1)
def _same() -> dict[str, str]:
    return {old: new for row in _stanzas()["same"] for old, new in row["names"]}


@lru_cache(maxsize=1 << 12)
def operation(operator: str) -> str:
    """The spelling that both sides of a comparison are brought to."""
    name = operator.lower().strip("_")
    return _same().get(name, name)
