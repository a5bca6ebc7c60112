"""The rows of rules/settings.toml by the keys that they speak of."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from porter.engine.session import RuleSet
from porter.rulebook.table import Setting

SettingRow: TypeAlias = tuple[int, Setting, re.Pattern[str]]  # in the order of the table


def word(key: str) -> str:
    """A key as the rules spell it."""
    return key.lower().lstrip("-").replace("-", "_")


@lru_cache(maxsize=4)
def rows_of(rules: RuleSet) -> tuple[dict[str, list[SettingRow]], list[SettingRow]]:
    """By key; and those for any key, or for any that is named like a device."""
    named: dict[str, list[SettingRow]] = {}
    wild: list[SettingRow] = []
    for number, row in enumerate(rules.tables.settings):
        numbered_row = (number, row, re.compile(row.value))
        for key in row.keys:
            named.setdefault(key, []).append(numbered_row)
        if not row.keys or "*" in row.keys:
            wild.append(numbered_row)
    return named, wild
