"""The names of rules/gone.toml, as the tables have them."""

from __future__ import annotations

from porter.rulebook.table import Tables


def gone(tables: Tables) -> dict[str, tuple[tuple[str, str], ...]]:
    """By the name: who took it since when, the package, and what takes its place."""
    return {name.partition(":")[2]: row for name, row in tables.pins.items() if name.startswith("gone:")}


def is_told(name: str, tables: Tables) -> bool:
    """Whether the name, or what it is a member of, is one of them."""
    return not {f"gone:{name}", f"gone:{name.rpartition('.')[0]}"}.isdisjoint(tables.pins)
