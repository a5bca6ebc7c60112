"""How much the properties draw."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100  # what hypothesis draws where nobody says how much


def examples(many: int) -> int:
    """So many, or the part of them that the profile asks for."""
    return max(1, many * settings().max_examples // USUAL)
