"""Finds environments of conda that were exported on Windows, or on x86-64. Other systems do not have their packages."""

from __future__ import annotations

import re
from functools import lru_cache

from porter.rulebook.table import hints


def on_windows(text: str) -> re.Match[str] | None:
    """The first package in a list of conda that only Windows has; group 1 is its name. A line with `==` is one of pip."""
    return _pattern("only-on-windows", r"(?:=(?!=)|[ \t]*\r?$)").search(text)


def on_x86(text: str) -> re.Match[str] | None:
    """The same of x86-64, with the build that `conda env export` writes behind the version."""
    return _pattern("only-on-x86", r"=[\w.]+=\w").search(text)


@lru_cache(maxsize=2)
def _pattern(kind: str, rest: str) -> re.Pattern[str]:
    names = "|".join(sorted(hints(kind)))
    return re.compile(rf"^[ \t]*-[ \t]*(?:[\w.-]+::)?({names}){rest}", re.MULTILINE)
