"""Asked of every file before anything else is loaded: can it concern porter at all? rulebook/opening.py has the words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TypeAlias

from porter.resources import rules_dir
from porter.rulebook import compiled

Search: TypeAlias = "Callable[[bytes], re.Match[bytes] | None]"


@lru_cache(maxsize=1)
def opening() -> compiled.Section:
    """For which words files are read, by kind of file; and the `packages` that open the gate."""
    return compiled.section(rules_dir(), "gate")


class Gate:
    """A text is looked for first, its patterns only where it stands. A text without patterns opens the gate alone."""

    @cached_property
    def _searches(self) -> tuple[tuple[bytes, tuple[Search, ...]], ...]:
        known = opening()["python"].items()
        return tuple(
            (text.encode(), tuple(re.compile(p.encode()).search for p in patterns)) for text, patterns in known
        )

    def search(self, data: bytes) -> bool:
        for text, searches in self._searches:
            if text in data:
                if not searches:
                    return True
                for search in searches:
                    if search(data):
                        return True
        return False


GATE = Gate()
