"""How much of what can be tried without end is tried: all of it in CI, a part on a desk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")
USUAL = 100  # what hypothesis draws where nobody says how much
WHOLE = os.environ.get("PORTER_REQUIRE") == "all"


def examples(many: int) -> int:
    """So many, or the part of them that the profile asks for."""
    return max(1, many * settings().max_examples // USUAL)


def share(rows: Sequence[T], of: int, first: int = 0) -> Sequence[T]:
    """One of so many, beginning with the first, of rows that are all alike."""
    return rows if WHOLE else rows[first::of]
