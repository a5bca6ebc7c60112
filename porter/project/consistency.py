"""Keeps edits consistent: if one place of a value cannot be edited, none of its places is. A value is a device or a backend.

"nccl" in one place and "hccl" in another is worse than no port. Places with the same holder (python/strings/holders.py) have the
same value: a constant and the files that import it, an option with its comparisons and the scripts that pass it, a setting and
its readers. Places in files that the run leaves out count as well (project/unedited_places.py).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from porter.engine.refusals import without
from porter.finding import EDITED, FileResult, Held, Site

if TYPE_CHECKING:
    from porter.project.unedited_places import Partners

# roles of places that depend on the text of the value. A default, and what a caller gives instead, may differ
ASKED = frozenset({"used", "listed", "passed", "setting", "unknown"})
# the status of places, the weakest first: the weakest of a group decides
ORDER = (
    "refused",
    "skipped",
    "suppressed",
    "quiet",
    "read-only",
    "outside",
    "excluded",
    "unnamed",
    "manual",
    "review",
    "auto",
)
APART = frozenset({"excluded", "unnamed"})  # such a place would be edited if its file were named on the command line
PARTS = frozenset({"newer", "statement", "cell"})  # messages of PRT002 after which the rest of the file is analysed
# those about a file that no program of this project reads as it is; and where one rule failed, all places are known
UNREAD = frozenset({"template", "malformed", "rule"})
_NAMED = 8  # files that a suggested command lists; with more it is too long to read

Node = tuple[str, str]  # (file, holder)


class Place(NamedTuple):
    path: str
    site: Site


class Groups:
    """Groups of holders with the same value (union-find)."""

    def __init__(self) -> None:
        self._above: dict[Node, Node] = {}

    def top(self, node: Node) -> Node:
        while (above := self._above.get(node, node)) != node:
            self._above[node] = self._above.get(above, above)
            node = above
        return node

    def join(self, node: Node, other: Node) -> None:
        first, second = sorted((self.top(node), self.top(other)))
        self._above[second] = first


def consistent(
    results: Iterable[FileResult], partners: Partners, again: Callable[[Sequence[Held]], list[FileResult]]
) -> list[FileResult]:
    """The results without edits that have to wait for others. `again` analyses files anew in which places are held.

    The held places only become more, so the loop ends. A file that would still be edited is left as it was.
    """
    done = {result.path: result for result in results}
    waiting: dict[tuple[str, int], Held] = {}
    while places := held(done.values(), partners):
        files = {place.path for place in places}
        fresh = [place for place in places if waiting.get((place.path, place.offset), place).status != place.status]
        fresh += [place for place in places if (place.path, place.offset) not in waiting]
        waiting.update(((place.path, place.offset), place) for place in fresh)
        mine = sorted(place for place in waiting.values() if place.path in files)
        done.update((r.path, r) for r in (again(mine) if fresh else map(_left_alone, map(done.__getitem__, files))))
    return [*done.values()]


def _left_alone(result: FileResult) -> FileResult:
    """The result of a file without any edit."""
    sites = tuple(site._replace(status="manual") for site in result.sites)
    return replace(result, findings=tuple(without(result.findings, *EDITED)), auto=(), review=(), sites=sites)


def held(results: Iterable[FileResult], partners: Partners) -> tuple[Held, ...]:
    """The places whose edits have to wait for others, sorted."""
    results = tuple(results)
    with_sites = {result.path: result for result in results if result.sites}
    refused = {r.path: lines for r in results if not r.sites and (lines := _unread(r)) is not None}
    if not any(site.status in EDITED for result in with_sites.values() for site in result.sites):
        return ()
    outside = partners.of(with_sites, refused)
    locked = {path for path in with_sites if partners.is_read_only(path)}
    if not outside and not locked and all(site.status == "auto" for r in with_sites.values() for site in r.sites):
        return ()
    everyone = {**with_sites, **outside}
    places: dict[Node, list[Place]] = {}
    groups = _groups(everyone, partners)
    for path, result in sorted(everyone.items()):
        for site in result.sites:
            if node := partners.node(path, site.holder):
                places.setdefault(groups.top(node), []).append(Place(path, site))
    out: dict[tuple[str, int], Held] = {}
    for _, several in sorted(places.items()):
        for held_place in _decided(several, locked):
            known = out.get((held_place.path, held_place.offset))
            if known is None or known.status == "review":
                out[held_place.path, held_place.offset] = held_place
    return tuple(sorted(out.values()))


def _unread(result: FileResult) -> tuple[int, ...] | None:
    """The lines of the parts of a file that were not analysed; () for the whole file, None where all was analysed."""
    odd = [f for f in result.findings if f.code in ("PRT002", "PRT003")]
    if not odd or all(f.why in UNREAD for f in odd):
        return None
    return tuple(f.line for f in odd) if all(f.why in PARTS for f in odd) else ()


def _groups(results: Mapping[str, FileResult], partners: Partners) -> Groups:
    groups = Groups()
    for path, result in sorted(results.items()):
        for pair in result.ties:
            first, second = (partners.node(path, holder) for holder in pair)
            if first and second:
                groups.join(first, second)
    by_offset: dict[tuple[str, int], Node] = {}
    for path, result in sorted(results.items()):
        for site in result.sites:  # one string may be the value of several holders
            if node := partners.node(path, site.holder):
                groups.join(node, by_offset.setdefault((path, site.offset), node))
    for first, second in _fields(results, partners):
        groups.join(first, second)
    return groups


def _fields(results: Mapping[str, FileResult], partners: Partners) -> Iterator[tuple[Node, Node]]:
    """Pairs of places of an attribute, a key or an option that gets its value in one file and is read in another."""
    given: dict[str, dict[str, set[str]]] = {}  # holder -> role -> files
    read: dict[str, set[str]] = {}
    for path, result in results.items():
        for site in result.sites:
            if site.holder.startswith("field:"):
                given.setdefault(site.holder, {}).setdefault(site.role, set()).add(path)
        for holder in {h for pair in result.ties for h in pair} | {site.holder for site in result.sites}:
            if holder.startswith("field:"):
                read.setdefault(holder, set()).add(path)
    for holder, roles in sorted(given.items()):
        passed, settings, unknown = (roles.get(role, set()) for role in ("passed", "setting", "unknown"))
        options = roles.get("option", set()) | roles.get("listed", set())
        declared = options | roles.get("declared", set()) | unknown  # unknown: may do either
        readers = sorted(unknown | read[holder] - declared - passed - settings)
        for path in readers:
            related = partners.related(path, declared) if declared else ()
            yield from (((path, holder), (other, holder)) for other in (*related, *sorted(settings)))
        for path in sorted(passed):
            takers = unknown | (partners.takers(holder) & read[holder] or options)
            yield from (((path, holder), (other, holder)) for other in sorted(takers))


def _decided(places: list[Place], locked: set[str]) -> Iterator[Held]:
    """The places of one group that are held. `locked`: files that are read-only. If all files of the group are, that does not
    count: then the port is for `--out`, which writes a copy."""
    if all(place.site.status not in EDITED for place in places):
        return
    if ASKED.isdisjoint(place.site.role for place in places):
        return
    if locked.issuperset(place.path for place in places):
        locked = set()
    status = {
        place: "read-only" if place.path in locked and place.site.status in EDITED else place.site.status
        for place in places
    }
    weakest = min(places, key=lambda place: (ORDER.index(status[place]), place.path, place.site.offset))
    why = status[weakest]
    if why == "auto":
        return
    paths = sorted({place.path for place in places})
    files = (" ".join(map(shlex.quote, paths)) if len(paths) <= _NAMED else ".") if why in APART else ""
    for place in places:
        if place.site.status in EDITED and (why != "review" or place.site.status == "auto"):
            end = "review" if why == "review" else "manual"
            partner = f"{weakest.path}:{weakest.site.line}"
            yield Held(place.path, place.site.offset, end, why.replace("-", "_"), partner, files)
