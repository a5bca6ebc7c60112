"""What fact files say of the libraries that a file imports: porter/reach/known.py reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple


class Fact(NamedTuple):
    """Why a function, or the import of a module, cannot do its work."""

    library: str  # with its version
    verdict: str
    end: str
    chain: str
    module: bool
    when: str = ""  # only where this holds


@dataclass(frozen=True)
class Libraries:
    digest: str = ""  # of the files: results that were made with others do not count
    names: tuple[str, ...] = ()
    facts: dict[str, Fact] = field(default_factory=dict, repr=False, compare=False)

    def concern(self, data: bytes) -> bool:
        """Whether a file may import one of the libraries."""
        if not self.names:
            return False
        words = "|".join(map(re.escape, self.names))
        return bool(re.search(rf"(?:import|from)[ \t]+(?:{words})\b".encode(), data))  # re keeps what it compiled
