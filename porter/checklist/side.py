"""One side: of every item of the checklist, what its files say, what follows from that, and what the library takes by default."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from porter.checklist.expand import UNKNOWN
from porter.checklist.rules import Spelling, checklist
from porter.checklist.setting import Setting, Source
from porter.checklist.values import NO, canonical, number, plain, said
from porter.rulebook.table import Stanza

_RANKS = {"log": 2, "script": 1}  # what a run printed counts more than what it was started with, that more than a file
_ROUNDS = 6
SAID, DERIVED, DEFAULT = "said", "derived", "default"


@dataclass(frozen=True, slots=True)
class Fact:
    """`how`: said by a file, derived from other items (`of`), or a default (`of` a kind of file)."""

    value: str
    shown: str
    how: str
    setting: Setting | None = None
    source: Source | None = None
    of: str = ""


@dataclass
class Side:
    name: str
    sources: list[Source]
    facts: dict[str, Fact] = field(default_factory=dict)
    others: dict[str, Setting] = field(default_factory=dict)  # keys that no item knows
    notes: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    @property
    def dialects(self) -> tuple[str, ...]:
        """In the order of the rules: the first that has a default gives it."""
        known = {name for source in self.sources for name in source.dialects}
        return tuple(dialect["name"] for dialect in checklist().dialects if dialect["name"] in known)

    @property
    def whole(self) -> frozenset[str]:
        """The kinds of files of which there is a whole one, so that what they leave out has its default."""
        return frozenset(name for source in self.sources if not _is_fragment(source) for name in source.dialects)

    @property
    def chapters(self) -> frozenset[str]:
        """What they speak of."""
        return frozenset(
            c for dialect in checklist().dialects if dialect["name"] in self.whole for c in dialect["chapters"]
        )


def side(name: str, sources: list[Source]) -> Side:
    made = Side(name, sources)
    for source in sorted(sources, key=lambda source: _RANKS.get(source.kind, 0)):
        made.notes += [(key, {"file": source.name, **values}) for key, values in source.notes]
        _take(made, source)
    _tokens(made)
    for _ in range(_ROUNDS):
        before = len(made.facts)
        _derived(made)
        _defaults(made)
        if len(made.facts) == before:
            break
    return made


def _take(made: Side, source: Source) -> None:
    own: dict[str, Fact] = {}
    tables: dict[str, list[tuple[str, Setting]]] = {}
    for setting in source.settings:
        spellings = [*spelled(setting.path, source.dialects)]
        for spelling in spellings:
            item = checklist().items[spelling.item]
            if item["value"] == "table":
                continue
            value = said(item, spelling, setting.value, source.dialects)
            if value is not None:
                is_plain = not (
                    spelling.opposite or spelling.counts or spelling.at is not None or item["value"] == "present"
                )
                shown = (spelling.value or setting.value.replace(UNKNOWN, "")) if is_plain else value
                own[spelling.item] = Fact(value, shown, SAID, setting, source)
        for table in _tables(setting.path):
            tables.setdefault(table, []).append((setting.path[-2], setting))
            spellings.append(Spelling(table, "", False, False, None, False, None))
        if not spellings:
            made.others[".".join(bare(setting.path))] = setting
    for name, rows in tables.items():
        text = ", ".join(f"{key} {setting.value}" for key, setting in sorted(rows, key=lambda row: row[0].zfill(12)))
        own[name] = Fact(text, text, SAID, rows[0][1], source)
    for name, fact in own.items():
        earlier = made.facts.get(name)
        if earlier and earlier.source and earlier.value != fact.value and UNKNOWN not in earlier.value + fact.value:
            if checklist().items[name]["value"] not in ("path", "table"):
                made.notes.append(
                    ("twice", {"item": name, "one": place(earlier), "other": place(fact), "value": fact.shown})
                )
        if UNKNOWN not in fact.value or earlier is None:
            made.facts[name] = fact


def spelled(path: tuple[str, ...], dialects: tuple[str, ...]) -> Iterator[Spelling]:
    """The items that a key speaks of: by its last words, the most that some item names; for one word alone, only where
    nothing else stands before it than names that say nothing."""
    known = checklist().names
    for length in range(len(path), 0, -1):
        if length == 1 and len(bare(path)) > 1:
            return
        rows = known.get(".".join(path[-length:]), ())
        found = [row for row in rows if not row.dialect or row.dialect in dialects]
        if found:
            yield from found
            return


def bare(path: tuple[str, ...]) -> tuple[str, ...]:
    """Without the names in front that say nothing."""
    at = 0
    while at < len(path) - 1 and path[at] in checklist().inside:
        at += 1
    return path[at:]


def _tables(path: tuple[str, ...]) -> Iterator[str]:
    if len(path) > 2 and path[-1] == "content":
        for row in checklist().names.get(path[-3], ()):
            if checklist().items[row.item]["value"] == "table":
                yield row.item


def _tokens(made: Side) -> None:
    """The id of a special token that only its text is given of."""
    table = made.facts.get("added-tokens")
    if table is None or table.source is None:
        return
    ids = {s.value: s.path[-2] for source in made.sources for s in source.settings if any(_tables(s.path))}
    for kind in ("bos", "eos", "pad"):
        token = made.facts.get(f"{kind}-token")
        if token and token.value in ids and f"{kind}-id" not in made.facts:
            number_of = ids[token.value]
            made.facts[f"{kind}-id"] = Fact(number_of, number_of, DERIVED, of=f"{kind}-token")


def _defaults(made: Side) -> None:
    for name, item in checklist().items.items():
        if name in made.facts or not needed(item, made) or is_said_otherwise(item, made):
            continue
        for dialect in made.dialects:
            value = item.get("default", {}).get(dialect)
            if value is None or dialect not in made.whole:
                continue
            if value.startswith("@"):
                other = made.facts.get(value[1:])
                if other is not None and UNKNOWN not in other.value:
                    made.facts[name] = Fact(other.value, other.shown, DEFAULT, of=dialect)
            else:
                made.facts[name] = Fact(canonical(name, value, (dialect,)) or value, value, DEFAULT, of=dialect)
            break


def _is_fragment(source: Source) -> bool:
    """Of a script that starts nothing, others give the rest."""
    return any(key == "fragment" for key, _ in source.notes)


def needed(item: Stanza, made: Side) -> bool:
    """Whether what an item is about is there at all: experts, LoRA."""
    fact = made.facts.get(item.get("needs", ""))
    return "needs" not in item or fact is not None and fact.value not in NO


def is_said_otherwise(item: Stanza, made: Side) -> bool:
    """Steps where epochs are given, and the like."""
    return any(name in made.facts and made.facts[name].how != DEFAULT for name in item.get("instead", ()))


def _derived(made: Side) -> None:
    for name, terms, unless in checklist().derived:
        if name in made.facts or unless and _holds(made, unless):
            continue
        result = _calculated(made, terms)
        if result is None or result <= 0:
            continue
        if name == "warmup-steps":
            result = float(math.ceil(result - 1e-6))
        if name in ("train-steps", "decay-steps"):  # the last samples make no whole batch
            result = float(math.floor(result + 1e-6))
        if name != "warmup-fraction" and abs(result - round(result)) > 1e-6:
            continue
        shown = plain(f"{result:.6g}" if name == "warmup-fraction" else str(round(result)))
        made.facts[name] = Fact(shown, shown, DERIVED, of=" ".join(terms))


def _holds(made: Side, condition: str) -> bool:
    """`item=value`; also where nobody says what the item is."""
    name, _, value = condition.partition("=")
    fact = made.facts.get(name)
    return fact is None or fact.value == value


def _calculated(made: Side, terms: list[str]) -> float | None:
    result = 1.0
    for at in range(0, len(terms), 2):
        name = terms[at].rstrip("?")
        fact = made.facts.get(name)
        value = number(fact.value) if fact else 1.0 if terms[at].endswith("?") else None
        if value is None or not math.isfinite(value) or not value:
            return None
        result = result / value if at and terms[at - 1] == "/" else result * value
    return result


def place(fact: Fact) -> str:
    """file:line of what a file says."""
    if fact.source is None or fact.setting is None:
        return ""
    return f"{fact.source.name}:{fact.setting.line}" if fact.setting.line else fact.source.name
