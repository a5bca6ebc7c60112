"""Finds environments of conda that were exported on Windows. Other systems do not have their packages."""

from __future__ import annotations

import re
from functools import lru_cache

from porter.rulebook.table import hints


def found(text: str) -> re.Match[str] | None:
    """The first package in a list of conda that only Windows has; group 1 is its name. A line with `==` is one of pip."""
    return _pattern().search(text)


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    names = "|".join(sorted(hints("only-on-windows")))
    return re.compile(rf"^[ \t]*-[ \t]*(?:[\w.-]+::)?({names})(?:=(?!=)|[ \t]*\r?$)", re.MULTILINE)
