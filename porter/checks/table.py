"""What rules/*.toml says, as plain data: which names move where, which strings are devices, which variables change.

Prose is kept apart (`prose`): an analysis without findings never reads it. Both come compiled from a cache.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from porter.checks import compiled
from porter.errors import UserError
from porter.resources import rules_dir

LANGUAGES = ("en", "zh")


class RuleError(UserError):
    """A file under rules/ says something the schema does not know. Names the file and the stanza."""


class Move(NamedTuple):
    """One dotted name of the CUDA side."""

    code: str
    tail: str | None  # below the target's namespace ("amp.autocast"); None where there is no counterpart
    fix: str | None  # safe | review; None where there is nothing to write
    severity: str
    effort: str
    why: str  # key of the message


class Variable(NamedTuple):
    """One environment variable."""

    code: str
    to: str | None
    value: str  # keep | bytes-to-mb
    fix: str | None
    severity: str
    effort: str
    why: str


class Sink(NamedTuple):
    """Where a string is a device or a backend."""

    kind: str
    calls: tuple[str, ...]
    methods: tuple[str, ...]
    position: int | None
    keywords: tuple[str, ...]


class Parameter(NamedTuple):
    """Arguments that are called something else on the other side."""

    code: str
    rename: dict[str, str]
    remove: tuple[str, ...]
    fix: str | None
    severity: str
    effort: str
    why: str
    positional: int | None  # how many positional arguments mean the same on both sides; None where all do


class Tables(NamedTuple):
    rules: dict[str, dict]  # code -> slug, severity, effort, messages {why: (severity, effort)}
    moves: dict[str, Move]
    variables: dict[str, Variable]
    sinks: list[Sink]
    parameters: dict[str, Parameter]


@lru_cache(maxsize=4)
def load(directory: Path | None = None) -> Tables:
    data = compiled.section(directory or rules_dir(), "tables")
    return Tables(
        data["rules"],
        {name: Move._make(row) for name, row in data["moves"].items()},
        {name: Variable._make(row) for name, row in data["variables"].items()},
        [Sink._make(row) for row in data["sinks"]],
        {name: Parameter._make(row) for name, row in data["parameters"].items()},
    )


@lru_cache(maxsize=4)
def prose(directory: Path | None = None) -> dict:
    """Everything a person reads: {"rules": {code: {...}}, "examples": {name: [before, after]}}."""
    return compiled.section(directory or rules_dir(), "prose")
