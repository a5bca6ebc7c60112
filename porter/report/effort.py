"""What the port costs, cause by cause: one kernel, one package, one pattern of a rule is one item with a range of minutes.

rules/effort.toml holds the assumptions. Every open finding that costs something is a place of one item, so that the costs of the
findings and those of the items add up to the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from porter.engine.together import paths_of
from porter.finding import SEVERITIES, Finding, rank
from porter.report.causes import called_kernel, is_aside, left, own_first
from porter.report.findings import REFUSED
from porter.report.functions import Functions
from porter.rulebook import table
from porter.rulebook.effort import CHECKED, HOURS, Range, amount
from porter.versions import canonical

if TYPE_CHECKING:
    from porter.report.model import Report
    from porter.rulebook.texts import PackageText

NOTHING: Range = (0, 0)
WHATS = ("kernel", "package", "other", "edits", "unread", "checks")  # what an item is, in the order of a report
_KERNELS, _PACKAGES, _BUILD = "kernel-written", "package-written", "build"  # assumptions that name their codes


class Item(NamedTuple):
    what: str  # of WHATS
    kind: str  # which assumption
    subject: str  # a kernel, a package, an API; "" where the rule says all
    places: tuple[Finding, ...]  # the most telling first; none of what is checked once the port runs
    cost: Range  # of training code
    aside: Range  # of tests, demos, docs and tools

    @property
    def rank(self) -> tuple[bool, int, int, int, tuple[int, str, int, int, str]]:
        """Training code before the rest, and what costs most first."""
        first = rank(self.places[0]) if self.places else (len(SEVERITIES), "", 0, 0, self.kind)
        return (self.cost == NOTHING, -self.cost[1], -self.aside[1], WHATS.index(self.what), first)


class Effort:
    def __init__(self, report: Report):
        self._report = report
        self._rows = report.texts.named("efforts")
        self._tables = table.load()
        self.of: dict[Finding, Range] = {}  # what a finding adds to its item

    @cached_property
    def rates(self) -> dict[str, tuple[Range, Range]]:
        """What the first place of an item and each further one cost, the project's word before rules/effort.toml."""
        rates = {
            name: (amount(row["first"]), amount(row.get("further", "0 minutes"))) for name, row in self._rows.items()
        }
        for rate in self._report.scan.rates:
            first, further = rates[rate.name]
            rates[rate.name] = (rate.first or first, rate.further or further)
        return {name: (first or NOTHING, further or NOTHING) for name, (first, further) in rates.items()}

    @cached_property
    def items(self) -> tuple[Item, ...]:
        due = self._report.findings.due
        edits = [
            ("automatic", [f for f in due if f.status == "auto"]),
            *(("review", group) for group in _by_message(f for f in due if f.status == "review")),
        ]
        unread = [f for f in due if f.code in REFUSED and f in self._report.findings.unseen]
        items = [*self._by_hand(), *(self._item("edits", kind, group, "") for kind, group in edits if group)]
        items += [self._item("unread", "unread", unread, "")] if unread else []
        return tuple(sorted((*items, *self._checks(items)), key=lambda item: item.rank))

    @cached_property
    def cost(self) -> Range:
        return added(item.cost for item in self.items)

    @cached_property
    def aside(self) -> Range:
        return added(item.aside for item in self.items)

    def _by_hand(self) -> list[Item]:
        manual = sorted((f for found in left(self._report.findings.due).values() for f in found), key=own_first)
        kernels = {path for f in manual if (path := self._kernel(f))}
        functions = Functions(self._report.scan.data)
        spots: dict[tuple[str, str, int], tuple[str, ...]] = {}
        groups: dict[tuple[str, ...], list[Finding]] = {}
        for f in manual:
            file = self._kernel(f) or (f.path if f.path in kernels else called_kernel(f))
            if file in kernels:
                key: tuple[str, ...] = ("kernel", file)
            elif package := self._package(f):
                key = ("package", package)
            else:
                key = ("other", f.code, f.why, canonical(self._report.texts.subject(f)))
                if start := functions.around(f.path, f.line):
                    key = spots.setdefault((f.code, f.path, start), key)
            groups.setdefault(key, []).append(f)
        return [self._of_hand(key, found) for key, found in groups.items()]

    def _of_hand(self, key: tuple[str, ...], found: list[Finding]) -> Item:
        kind = max((self._kind(f) for f in found), key=lambda name: (self.rates[name][0][::-1], name))
        subject = key[1] if key[0] == "package" else self._report.texts.subject(found[0])
        return self._item(key[0], kind, found, subject)

    def _kernel(self, f: Finding) -> str:
        """The source of the kernel that a finding is about, "" of another finding."""
        if f.code not in self._rows[_KERNELS]["codes"] or f.effort != "rewrite":
            return ""
        return called_kernel(f) or f.path

    def _package(self, f: Finding) -> str:
        if f.code not in self._rows[_PACKAGES]["codes"]:
            return ""
        known = self._about(f)
        top = (known.name if known else self._named(f)).partition(".")[0]
        about = self._report.texts.package(top)
        return about.row.names[0] if about else canonical(top)

    def _named(self, f: Finding) -> str:
        return self._report.texts.subject(f).partition(",")[0].strip()

    def _about(self, f: Finding) -> PackageText | None:
        """What is known of the package that a finding names, or of the one that this belongs to."""
        name, package = self._named(f), self._report.texts.package
        return package(name) or package(name.partition(".")[0])

    def _kind(self, f: Finding) -> str:
        """Which assumption holds for a finding by itself. What names its replacement is never written anew."""
        if f.effort != "rewrite":
            return f.effort
        if f.code in self._rows[_KERNELS]["codes"]:
            replaced = any(kernel.replacement for kernel in self._tables.kernels if kernel.why == f.why)
            return "kernel-replaced" if replaced else _KERNELS
        if f.code in self._rows[_PACKAGES]["codes"]:
            about = self._about(f)
            replaced = about is not None and (bool(about.row.replacement) or about.row.status == "plugin")
            return "package-replaced" if replaced else _PACKAGES
        return _BUILD if f.code in self._rows[_BUILD]["codes"] else "rewrite"

    def _item(self, what: str, kind: str, found: list[Finding], subject: str) -> Item:
        first, further = self.rates[kind]
        by_file = kind in ("automatic", "unread")
        seen: set[str] = set()
        places = tuple(sorted(found, key=own_first))
        own: list[Range] = []
        aside: list[Range] = []
        for f in places:
            costs: list[Range] = []
            for path in paths_of(f.path, dict(f.values)):  # with those that it speaks of beside its own
                mark = path if by_file else ""
                costs.append(further if mark in seen else first)
                (aside if is_aside(path) else own).append(costs[-1])
                seen.add(mark)
            self.of[f] = added(costs)
        return Item(what, kind, subject, places, added(own), added(aside))

    def _checks(self, items: list[Item]) -> list[Item]:
        """What shows whether a port is right: of one that changes training code."""
        if all(item.cost == NOTHING for item in items):
            return []
        return [Item("checks", name, "", (), self.rates[name][0], NOTHING) for name in CHECKED]


def _by_message(findings: Iterable[Finding]) -> list[list[Finding]]:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for f in findings:
        groups.setdefault((f.code, f.why), []).append(f)
    return list(groups.values())


def added(ranges: Iterable[Range]) -> Range:
    least = most = 0
    for low, high in ranges:
        least, most = least + low, most + high
    return (least, most)


def days(minutes: Range) -> tuple[float, float]:
    """As a person says it: to the nearest half day, from ten on to the nearest day; what costs anything is never none."""
    halves = [(4 * n // (60 * HOURS) + 1) // 2 / 2 for n in minutes]
    least, most = (half if half < 10 else float((2 * n // (60 * HOURS) + 1) // 2) for half, n in zip(halves, minutes))
    return (least, max(most, 0.5) if minutes[1] else most)
