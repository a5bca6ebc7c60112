"""Finds environments that a script or a page makes with a Python for which the target's torch has no wheel: `conda create python=3.7`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from porter.regex import lazy
from porter.target import first_python
from porter.versions import release

Span = tuple[int, int]

_MADE = lazy(r"\b(?:conda|mamba|micromamba)[ \t]+(?:create|install)\b[^\n#]{0,200}?[ \t\"'](python==?(\d+\.\d+)[\d.]*)")


def old_pythons(text: str, torch: Sequence[int]) -> Iterator[tuple[Span, str]]:
    """Where each stands, and its version as it is written there."""
    for match in _MADE.finditer(text) if "python=" in text else ():
        start = text.rfind("\n", 0, match.start()) + 1
        if "#" not in text[start : match.start()] and release(match[2], 2) < first_python(torch):
            yield match.span(1), match[1].partition("=")[2].lstrip("=")
