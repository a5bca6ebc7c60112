"""Asked of every file before anything else is loaded: can it concern porter at all? rulebook/opening.py has the words."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from porter.regex import lazy
from porter.resources import rules_dir
from porter.rulebook import compiled


@lru_cache(maxsize=1)
def opening() -> compiled.Section:
    """For which words files are read, by kind of file; and the `packages` that open the gate."""
    return compiled.section(rules_dir(), "gate")


class Gate:
    """A text is looked for first, its patterns only where it stands. A text without patterns opens the gate alone."""

    @cached_property
    def _searches(self) -> tuple[tuple[bytes, tuple[re.Pattern[bytes], ...]], ...]:
        known = opening()["python"].items()
        return tuple((text.encode(), tuple(lazy(p.encode()) for p in patterns)) for text, patterns in known)

    def search(self, data: bytes) -> bool:
        for text, patterns in self._searches:
            if text in data:
                if not patterns:
                    return True
                for pattern in patterns:
                    if pattern.search(data):
                        return True
        return False


GATE = Gate()
