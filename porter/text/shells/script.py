"""Shell as rules see it: the commands and the variables of those parts of a script that hold a word porter knows.

The parsers in `text/` make it. The rules in `checks/scripts` read it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from porter.text.document import Document


@dataclass(frozen=True, slots=True)
class Word:
    start: int
    end: int
    text: str  # as written

    @property
    def value(self) -> str | None:
        """Without quotes; None where it is computed, has a backslash, or has quotes elsewhere than around all of it or around its
        end: "a"b. Globs, `~` and braces stay as they are written: `*.py`."""
        return _value(self.text)

    @property
    def name(self) -> str:
        """Of a program."""
        return (self.value or "").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Command:
    start: int
    end: int
    words: tuple[Word, ...]
    around: tuple[str, ...]  # types of the nodes it stands in, outermost first
    condition: bool  # what decides an `if`, a `while`, an `&&`
    reach: int = 0  # of a condition: where what it decides ends


@dataclass(frozen=True, slots=True)
class Name:
    """One place where a variable is set or read."""

    start: int
    end: int
    name: str
    role: str  # set | read | named: in `unset`, `for`, or declared without a value
    value: Word | None = None  # what it is set to, or stands in for it
    exported: bool = False
    prefix: bool = False  # set for one command: `NAME=1 python train.py`
    joint: str = ""  # what stands before a second name or assignment behind it: " " or "; "; "" where none may follow


@dataclass(frozen=True, slots=True)
class Text:
    """A string that no command runs: what a variable holds, or an argument."""

    word: Word
    command: str  # its name; "" where it is the value of a variable, or stands in no command


@dataclass
class Script:
    text: str  # what was parsed
    commands: list[Command] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    # lines that the grammar cannot read and that hold a word porter knows
    broken: list[tuple[int, int]] = field(default_factory=list)
    heredocs: list[tuple[int, int]] = field(default_factory=list)
    images: list[tuple[int, int, str]] = field(default_factory=list)  # of a Dockerfile
    shape: dict[str, int] = field(default_factory=dict)  # what an edit must not change
    ran: set[int] = field(default_factory=set)  # where strings begin that were parsed as shell themselves
    damaged: int = 0  # the first line that the grammar does not understand; 0 where it understands all
    safe: bool = True  # edits may be made without a look

    def may_edit(self, document: Document) -> bool:
        return self.safe and not document.session.facts.accelerators.also_npu(document.path)

    @cached_property
    def ends(self) -> list[int]:
        return [*(m.start() for m in re.finditer("\n", self.text)), len(self.text)]

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """From where the first of these lines begins to where the last ends."""
        first, last = bisect_left(self.ends, start), bisect_left(self.ends, end)
        return self.ends[first - 1] + 1 if first else 0, self.ends[last]


@lru_cache(maxsize=4096)
def _value(text: str) -> str | None:
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1 and "'" not in text[1:-1]:
        return text[1:-1]
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1 and '"' not in text[1:-1]:
        text = text[1:-1]
        return None if re.search(r"[$`\\]", text) else text
    quoted = re.fullmatch(r"([^\s\"'$`\\]*)([\"'])([^\"'$`\\]*)\2", text)
    if quoted:
        return quoted[1] + quoted[3]
    return None if re.search(r"[\"'$`\\(]", text) else text
