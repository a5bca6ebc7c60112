"""Two sides, item by item: what is equal, what differs, what only one says; the likeliest culprit first."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from porter.checklist.expand import UNKNOWN
from porter.checklist.rules import checklist
from porter.checklist.schema import CHAPTERS
from porter.checklist.setting import Setting
from porter.checklist.side import SAID, Fact, Side, is_said_otherwise, needed
from porter.checklist.values import NO, canonical, plain
from porter.regex import lazy
from porter.rulebook.table import Stanza

_ON_HUB = lazy(r"[A-Za-z][\w-]*/[\w.-]+")
MATTERS = 40  # of a hundred: below it only rounding, noise or speed differs
EQUAL, RENAMED, DIFFERENT, MISSING, UNTOLD, SILENT, PATH = (
    "equal", "renamed", "different", "missing", "unknown", "silent", "path"
)  # fmt: skip
_UNMET = 5  # the weight of what has no effect here, as a loss scale in bfloat16
_UNSAID = frozenset({"", "none", "null", "false", "~", "[]", "{}"})
_TOLD = 30  # the most that the parts weigh where their sum differs, which is told
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
    shown = [row for row in rows if not _is_basis(row)]
    made.rows = sorted(shown, key=lambda row: (-row.score, order.index(row.item)))
    _unknown_keys(made)
    return made


def _is_basis(row: Row) -> bool:
    """What tells nothing by itself: other items follow from it, or have settled it."""
    if row.state != DIFFERENT and checklist().items[row.item].get("quiet"):
        return True
    return not row.score and row.state in (DIFFERENT, MISSING)


def _row(name: str, item: Stanza, one: Side, other: Side) -> Row | None:
    facts = (one.facts.get(name), other.facts.get(name))
    stated = [fact for fact in facts if fact is not None]
    if not _is_told(item, stated) or not (needed(item, one) or needed(item, other)):
        return None
    first, second = facts
    recommended = any(_is_other(name, item, fact) for fact in stated)
    if item["value"] in ("path", "model"):
        return _places(name, item, first, second)
    if first is None or second is None:
        silent = one if first is None else other
        if item["chapter"] not in silent.chapters:
            return Row(name, SILENT, 0, first, second)
        if is_said_otherwise(item, silent):
            both = any(n in one.facts and n in other.facts for n in item["instead"])
            return None if both else Row(name, UNTOLD, 0, first, second)
        told = stated[0].value
        if UNKNOWN in told:
            return Row(name, UNTOLD, 0, first, second)
        if not _is_met(item, one, other):
            return None
        score = _UNMET if told in NO else item.get("alone", round(item["weight"] * _ALONE))
        return Row(name, MISSING, score, first, second, recommended)
    if UNKNOWN in first.value + second.value:
        return Row(name, UNTOLD, 0, first, second)
    if first.value != second.value:
        score = item["weight"] if _is_met(item, one, other) else min(item["weight"], _UNMET)
        return Row(name, DIFFERENT, score, first, second, recommended)
    return Row(name, RENAMED if _is_renamed(first, second) else EQUAL, 0, first, second, recommended)


def _is_told(item: Stanza, facts: list[Fact]) -> bool:
    """Whether a file says it; or, of what all else ends in, whether both sides come to something."""
    return any(fact.how == SAID for fact in facts) or bool(item.get("result")) and len(facts) == 2


def _is_met(item: Stanza, one: Side, other: Side) -> bool:
    """Whether what an item changes can happen on one of the sides, as far as is known."""
    if "only" not in item:
        return True
    name, _, value = item["only"].partition("=")
    facts = [side.facts.get(name) for side in (one, other)]
    return any(fact is None or fact.value == value for fact in facts)


def _places(name: str, item: Stanza, one: Fact | None, other: Fact | None) -> Row:
    """Of two paths nobody knows whether they hold the same. Two names of models on a hub are two models."""
    values = [fact.value for fact in (one, other) if fact is not None]
    if len(values) == 2 and values[0] == values[1]:
        return Row(name, EQUAL, 0, one, other)
    is_named = len(values) == 2 and item["value"] == "model" and all(map(_ON_HUB.fullmatch, values))
    return Row(name, DIFFERENT, item["weight"], one, other) if is_named else Row(name, PATH, 0, one, other)


def _eased(row: Row, rows: dict[str, Row]) -> Row:
    """Less, where another item says that the sum is the same."""
    eased = checklist().items[row.item].get("eased")
    if not eased or row.state not in (DIFFERENT, MISSING):
        return row
    states = {rows[name].state for name in eased["by"] if name in rows}
    if states & {EQUAL, RENAMED}:
        return replace(row, score=min(row.score, eased["weight"]))
    return replace(row, score=min(row.score, _TOLD if eased["weight"] else 0)) if DIFFERENT in states else row


def _is_other(name: str, item: Stanza, fact: Fact) -> bool:
    return (
        "recommended" in item
        and UNKNOWN not in fact.value
        and fact.value != canonical(name, item["recommended"]["value"], ())
    )


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
        told = first or second
        if not (first and second) and told and plain(told.value) in _UNSAID:
            continue  # a log prints what nobody has set, too
        if aside.fullmatch(key) or aside.fullmatch(key.rpartition(".")[2]):
            made.aside += 1
        else:
            made.others.append((key, first, second))


def chapters(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Rows by chapter, in the order of the guides."""
    by = {chapter: [row for row in rows if checklist().items[row.item]["chapter"] == chapter] for chapter in CHAPTERS}
    return [(chapter, rows) for chapter, rows in by.items() if rows]
