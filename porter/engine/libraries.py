"""Holds what fact files say about libraries that the user's files import. porter/reach/known.py reads fact files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple


class Fact(NamedTuple):
    """Why a function of a library, or the import of a module of it, does not work on an NPU."""

    library: str  # with its version
    verdict: str
    end: str  # what it ends in, such as a kernel
    chain: str  # the calls that lead there
    module: bool  # the fact is about the import of a module
    when: str = ""  # the condition under which the fact holds


@dataclass(frozen=True)
class Libraries:
    """The facts of all fact files of a run."""

    digest: str = ""  # a hash of the fact files: a cached result holds only with the same files
    names: tuple[str, ...] = ()  # of the libraries
    facts: dict[str, Fact] = field(default_factory=dict, repr=False, compare=False)

    def concern(self, data: bytes) -> bool:
        """Whether a file may import one of the libraries."""
        if not self.names:
            return False
        words = "|".join(map(re.escape, self.names))
        return bool(re.search(rf"(?:import|from)[ \t]+(?:{words})\b".encode(), data))  # re keeps what it compiled
