"""Environments of conda that were frozen on Windows: no other system has their packages."""

from __future__ import annotations

import re
from functools import lru_cache

from porter.rulebook.table import hints


def found(text: str) -> re.Match[str] | None:
    """The first item of a list of conda's that only Windows has; its group is the name. pip's lists have `==`."""
    return _pattern().search(text)


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    names = "|".join(sorted(hints("only-on-windows")))
    return re.compile(rf"^[ \t]*-[ \t]*(?:[\w.-]+::)?({names})(?:=(?!=)|[ \t]*\r?$)", re.MULTILINE)
