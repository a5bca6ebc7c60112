"""Two sides, item by item: what is equal, what differs, what only one says; the likeliest culprit first."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.checklist.expand import UNKNOWN
from porter.checklist.rules import checklist
from porter.checklist.schema import CHAPTERS
from porter.checklist.setting import Setting
from porter.checklist.side import SAID, Fact, Side, needed
from porter.checklist.values import NO, canonical, plain
from porter.rulebook.table import Stanza

MATTERS = 40  # of a hundred: below it only rounding, noise or speed differs
EQUAL, RENAMED, DIFFERENT, MISSING, UNTOLD, SILENT, PATH = (
    "equal", "renamed", "different", "missing", "unknown", "silent", "path"
)  # fmt: skip
_UNMET = 5  # the weight of what has no effect here, as a loss scale in bfloat16
_ALONE = 0.5  # of the weight: what only one side says, and no default is known of


@dataclass(frozen=True)
class Row:
    item: str
    state: str
    score: int
    one: Fact | None
    other: Fact | None
    recommended: bool = False  # a guide recommends another value than a side has

    @property
    def matters(self) -> bool:
        return self.state in (DIFFERENT, MISSING) and self.score >= MATTERS


@dataclass
class Comparison:
    sides: tuple[Side, Side]
    rows: list[Row] = field(default_factory=list)
    others: list[tuple[str, Setting | None, Setting | None]] = field(default_factory=list)  # keys that no item knows
    aside: int = 0  # keys that differ and are paths, names, outputs

    @property
    def culprits(self) -> list[Row]:
        return [row for row in self.rows if row.matters]


def compare(one: Side, other: Side) -> Comparison:
    made = Comparison((one, other))
    states = {name: _row(name, item, one, other) for name, item in checklist().items.items()}
    known = {name: row for name, row in states.items() if row is not None}
    rows = [_eased(row, known) for row in known.values()]
    order = list(checklist().items)
    shown = [row for row in rows if not (checklist().items[row.item].get("quiet") and row.state != DIFFERENT)]
    made.rows = sorted(shown, key=lambda row: (-row.score, order.index(row.item)))
    _unknown_keys(made)
    return made


def _row(name: str, item: Stanza, one: Side, other: Side) -> Row | None:
    facts = (one.facts.get(name), other.facts.get(name))
    stated = [fact for fact in facts if fact is not None]
    if not _is_told(item, stated) or not (needed(item, one) or needed(item, other)):
        return None
    first, second = facts
    recommended = any(_is_other(name, item, fact) for fact in stated)
    if item["value"] == "path":
        alike = first is not None and second is not None and first.value == second.value
        return Row(name, EQUAL if alike else PATH, 0, first, second)
    if first is None or second is None:
        silent = one if first is None else other
        if item["chapter"] not in silent.chapters:
            return Row(name, SILENT, 0, first, second)
        told = stated[0].value
        if UNKNOWN in told:
            return Row(name, UNTOLD, 0, first, second)
        score = _UNMET if told in NO else round(item["weight"] * _ALONE)
        return Row(name, MISSING, _fit(item, score, one, other), first, second, recommended)
    if UNKNOWN in first.value + second.value:
        return Row(name, UNTOLD, 0, first, second)
    if first.value != second.value:
        return Row(name, DIFFERENT, _fit(item, item["weight"], one, other), first, second, recommended)
    return Row(name, RENAMED if _is_renamed(first, second) else EQUAL, 0, first, second, recommended)


def _is_told(item: Stanza, facts: list[Fact]) -> bool:
    """Whether a file says it; or, of what all else ends in, whether both sides come to something."""
    return any(fact.how == SAID for fact in facts) or bool(item.get("result")) and len(facts) == 2


def _fit(item: Stanza, score: int, one: Side, other: Side) -> int:
    """Less, where what an item changes does not happen on either side."""
    if "only" not in item:
        return score
    name, _, value = item["only"].partition("=")
    facts = [side.facts.get(name) for side in (one, other)]
    met = any(fact is None or fact.value == value for fact in facts)
    return score if met else min(score, _UNMET)


def _eased(row: Row, rows: dict[str, Row]) -> Row:
    """Less, where another item says that the sum is the same."""
    eased = checklist().items[row.item].get("eased")
    if not eased or row.state not in (DIFFERENT, MISSING):
        return row
    by = rows.get(eased["by"])
    settled = by is not None and (by.state in (EQUAL, RENAMED) or not eased["weight"] and by.state == DIFFERENT)
    return Row(row.item, row.state, min(row.score, eased["weight"]), row.one, row.other, row.recommended) if settled else row


def _is_other(name: str, item: Stanza, fact: Fact) -> bool:
    return "recommended" in item and UNKNOWN not in fact.value and fact.value != canonical(name, item["recommended"]["value"], ())


def _is_renamed(one: Fact, other: Fact) -> bool:
    if one.how != SAID or other.how != SAID or one.setting is None or other.setting is None:
        return False
    return one.setting.path[-1] != other.setting.path[-1] or one.shown.strip("\"'") != other.shown.strip("\"'")


def _unknown_keys(made: Comparison) -> None:
    one, other = (side.others for side in made.sides)
    aside = checklist().aside
    for key in sorted(one.keys() | other.keys()):
        first, second = one.get(key), other.get(key)
        if first and second and plain(first.value) == plain(second.value):
            continue
        if aside.fullmatch(key) or aside.fullmatch(key.rpartition(".")[2]):
            made.aside += 1
        else:
            made.others.append((key, first, second))


def chapters(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Rows by chapter, in the order of the guides."""
    by = {chapter: [row for row in rows if checklist().items[row.item]["chapter"] == chapter] for chapter in CHAPTERS}
    return [(chapter, rows) for chapter, rows in by.items() if rows]
