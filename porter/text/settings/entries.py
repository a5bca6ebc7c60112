"""What a settings file says, whatever its format: one entry for every value, with the keys that lead to it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from porter.text.document import Document

ITEM = "*"  # in a path: an item of a list
ADDED = "torch-npu"  # the one entry that an edit may bring in: number -1
MOST = 5000  # nobody writes more settings into one file by hand


@dataclass(slots=True)
class Entry:
    """`start:end` is what is between the quotes, and the value itself where there are none."""

    path: tuple[str, ...]
    value: str
    start: int
    end: int
    quoted: bool = False
    exact: bool = True  # the text between start and end is the value: no escapes, no folded lines
    key: tuple[int, int] | None = None  # of the last key, without its quotes
    owner: int = 0  # the mapping or list that it stands in
    tag: str = ""

    @property
    def name(self) -> str:
        """The key that says what an item of a list is."""
        return next((part for part in reversed(self.path) if part != ITEM), "")

    @property
    def true(self) -> bool:
        return not self.quoted and self.value.lower() in ("true", "yes", "on")


_start = attrgetter("start")


@dataclass
class Settings:
    entries: list[Entry] = field(default_factory=list)
    edited: set[int] = field(default_factory=set)  # numbers of entries with an edit
    whole: bool = True  # False: data, of which nothing is told
    _named: dict[int, dict[str, list[Entry]]] = field(default_factory=dict)

    def among(self, owner: int) -> list[Entry]:
        """All that stand in one mapping or list."""
        return self._owners.get(owner, [])

    def named(self, owner: int) -> dict[str, list[Entry]]:
        """The same by what each is called, holds, or sets as in `name=value`."""
        if owner not in self._named:
            by_name: dict[str, list[Entry]] = {}
            for entry in self.among(owner):
                key = entry.path[-1] if entry.path else ""
                for name in {key, entry.value, entry.value.partition("=")[0]}:
                    by_name.setdefault(name, []).append(entry)
            self._named[owner] = by_name
        return self._named[owner]

    def before(self, entry: Entry) -> Entry | None:
        """What stands before an entry in the same mapping or list."""
        near = self.among(entry.owner)
        index = bisect_left(near, entry.start, key=_start)
        return near[index - 1] if index and near[index - 1].end <= entry.start else None

    @cached_property
    def _owners(self) -> dict[int, list[Entry]]:
        owners: dict[int, list[Entry]] = {}
        for entry in sorted(self.entries, key=_start):
            owners.setdefault(entry.owner, []).append(entry)
        return owners


def same(before: Settings, after: Settings) -> bool:
    """Whether nothing but what was edited is different for a parser."""
    olds, entries = [*enumerate(before.entries)], after.entries
    if -1 in before.edited:  # what was there under the same name, as a keyword of the project may be, has to stay
        olds = [(number, entry) for number, entry in olds if not _is_added(entry)]
        entries = [entry for entry in entries if not _is_added(entry)]
        if len(after.entries) - len(entries) < len(before.entries) - len(olds):
            return False
    if len(olds) != len(entries):
        return False
    for (number, old), new in zip(olds, entries):
        if number in before.edited:
            if len(old.path) != len(new.path) or old.quoted != new.quoted:
                return False
        elif (old.path, old.value, old.quoted, old.tag) != (new.path, new.value, new.quoted, new.tag):
            return False
    return True


def _is_added(entry: Entry) -> bool:
    return entry.value.startswith(ADDED) or entry.path[-1:] == (ADDED,)


class Builder:
    """What readers hand their values to."""

    def __init__(self, text: str):
        self.text, self.settings = text, Settings()

    def add(
        self,
        path: Iterable[str],
        value: str,
        start: int,
        end: int,
        *,
        key: tuple[int, int] | None = None,
        owner: int = 0,
        quoted: bool = False,
        tag: str = "",
    ) -> None:
        exact = self.text[start:end] == value
        self.settings.entries.append(Entry(tuple(path), value, start, end, quoted, exact, key, owner, tag))


Reader = Callable[[Document], Settings]
