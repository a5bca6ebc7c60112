"""Results and facts as values that `marshal` writes, and back.

What it reads was written by porter, and lies in a folder that is the user's alone: `cache.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from porter.engine import checkpoints, facts, launch, native_code
from porter.engine.facts import Facts
from porter.finding import Change, FileResult, Finding, Site

Plain: TypeAlias = tuple[Any, ...]  # of what marshal writes
_RECORDS = {  # the classes of facts, and those that facts are made of
    kind.__name__: kind
    for module in (facts, checkpoints, launch, native_code)
    for kind in vars(module).values()
    if isinstance(kind, type) and kind.__module__.startswith("porter.engine.")
}


def row_of(result: FileResult) -> Plain:
    return (
        result.path, _rows(result.findings), _plain(result.auto), _plain(result.review), result.lines, result.parsed,
        result.digest, result.apis, result.observed, tuple(map(tuple, result.sites)), result.ties, _rows(result.inventory),
    )  # fmt: skip


def result_of(row: Plain) -> FileResult:
    path, findings, auto, review, lines, parsed, digest, apis, observed, sites, ties, inventory = row
    return FileResult(
        path, tuple(map(_finding, findings)), _changes(auto), _changes(review), lines, parsed, digest, apis, observed,
        tuple(Site(*site) for site in sites), ties, tuple(map(_finding, inventory)),
    )  # fmt: skip


def _rows(findings: Iterable[Finding]) -> list[Plain]:
    return [
        (
            f.path, f.line, f.column, f.code, f.why, f.values, f.end_line, f.end_column, f.severity, f.status, f.effort,
            _plain(f.edit), f.suppressed, f.optional, f.stands_for,
        )
        for f in findings
    ]  # fmt: skip


def _finding(row: Plain) -> Finding:
    given: Plain = (*row[:11], _changes(row[11]), *row[12:])
    return Finding(*given)


def _plain(changes: Iterable[Change]) -> Plain:
    return tuple((c.start, c.end, c.new) for c in changes)


def _changes(rows: Iterable[Plain]) -> tuple[Change, ...]:
    return tuple(Change(*row) for row in rows)


def facts_row(known: Facts) -> list[Any]:
    """A record is a list: its name, then its fields. Facts themselves hold none."""
    row: list[Any] = _record(known)
    return row


def _record(value: Any) -> Any:
    if isinstance(value, tuple):
        name = type(value).__name__
        return tuple(map(_record, value)) if name == "tuple" else [name, *map(_record, value)]
    if is_dataclass(value):
        return [type(value).__name__, *(_record(getattr(value, field.name)) for field in fields(value))]
    return value


def facts_of(row: list[Any]) -> Facts:
    known: Facts = _recorded(row)
    return known


def _recorded(row: Any) -> Any:
    if isinstance(row, list):
        return _RECORDS[row[0]](*map(_recorded, row[1:]))
    return tuple(map(_recorded, row)) if isinstance(row, tuple) else row
