"""Call stacks as profilers write them, the innermost frame first: `/repo/train.py(45): forward;`."""

from __future__ import annotations

from collections.abc import Iterator

from porter.regex import lazy

_FRAME = lazy(r"([^;\r\n()]{1,500})\((\d{1,7})\): ([^;\r\n]{1,200})")


def frames(stack: str) -> Iterator[tuple[str, int, str]]:
    """(file, line, function)"""
    for match in _FRAME.finditer(stack):
        yield match[1].strip(), int(match[2]), match[3].strip()
