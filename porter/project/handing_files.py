"""Finds files that hand a value on and have none themselves: `start(BACKEND)` between the file that sets BACKEND and the one that
compares what `start` gets. Their ties join what would else be two values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from porter.files.kinds import PYTHON, kind_of
from porter.finding import EDITED, FileResult

Node = tuple[str, str]  # (file, holder)
# gives the ties in a file that begin at names with these last words
Follow = Callable[[str, bytes, tuple[str, ...]], FileResult]


class Partners(Protocol):
    """What is asked of project/unedited_places.py."""

    @property
    def files(self) -> Iterable[str]: ...
    @property
    def unseen(self) -> frozenset[str]: ...

    def node(self, path: str, holder: str) -> Node | None: ...
    def data(self, path: str) -> bytes | None: ...
    def look(self, path: str) -> FileResult | None: ...
    def imported(self, path: str, data: bytes) -> set[str]: ...


class _Ends(NamedTuple):
    """Places of values, as other files know them."""

    homes: dict[str, set[str]]  # the names of constants, functions, classes and fields, by the file that has them
    fields: set[str]  # attributes, keys and options, which any file may have

    @property
    def words(self) -> set[str]:
        return self.fields.union(*self.homes.values())

    def add(self, partners: Partners, path: str, result: FileResult, counts: Callable[[str], bool]) -> None:
        """`counts`: of the status of a place."""
        for site in result.sites:
            home, holder = counts(site.status) and partners.node(path, site.holder) or ("", "")
            kind, _, name = holder.partition(":")
            if home and kind in ("own", "field"):
                self.homes.setdefault(home, set()).add(name.partition("(")[0])
                self.fields.update([name] if kind == "field" else ())


def handing(
    partners: Partners, results: Mapping[str, FileResult], others: Mapping[str, FileResult], follow: Follow
) -> dict[str, FileResult]:
    """What stands between values that are edited in `results` and places that are not, or only for review: files with ties, and
    files that the run leaves out and that only such a file leads to."""
    edited, left, found = _Ends({}, set()), _Ends({}, set()), dict[str, FileResult]()
    known = {**results, **others}
    for path, result in known.items():
        if path in results:
            edited.add(partners, path, result, lambda status: status in EDITED)
        left.add(partners, path, result, _is_left)
    if not edited.homes or not (left.homes or partners.unseen):
        return found
    mentions, leads = _pattern(edited.words), _pattern(left.words)
    for path in partners.files:
        data = partners.data(path) if kind_of(path) == PYTHON else None
        if data is None or not mentions.search(data) or not (partners.unseen or leads.search(data)):
            continue
        imported = partners.imported(path, data)
        given = edited.fields.union(*(edited.homes[home] for home in imported & edited.homes.keys()))
        for home in sorted(imported & partners.unseen - known.keys()) if given else ():
            if (looked := partners.look(home)) and looked.sites:
                known[home] = found[home] = looked
                left.add(partners, home, looked, _is_left)
        taken = set[str]().union(*(left.homes[home] for home in imported & left.homes.keys()))
        if given and taken and _pattern(given).search(data) and _pattern(taken).search(data):
            more = follow(path, data, tuple(sorted(given | taken)))
            own = known.get(path, more)
            found[path] = replace(own, ties=tuple(sorted({*own.ties, *more.ties})))
    return found


def _is_left(status: str) -> bool:
    return status != "auto"


def _pattern(words: Iterable[str]) -> re.Pattern[bytes]:
    return re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(word).encode() for word in sorted(words)))
