"""Environment variables that settings set: `env: {CUDA_VISIBLE_DEVICES: "0,1"}`, `- NCCL_DEBUG=INFO`, name and value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

from porter.engine.facts import Variables
from porter.engine.rule import Hit, named
from porter.python.strings.environ import UNKNOWN
from porter.regex import lazy
from porter.rulebook.table import Tables, hint
from porter.rulebook.variable_values import answer, is_list, is_ordered, is_taken, to_megabytes
from porter.text.settings.entries import ITEM, Entry, Settings

_NAME = lazy(r"[A-Z][A-Z0-9_]+$")
_SET = lazy(r"([A-Z][A-Z0-9_]+)=([^\r\n]*)")
_ENVIRONMENT = hint("key-of-an-environment")
Span: TypeAlias = tuple[int, int]


class Finder(Protocol):
    """What looks at the settings: device_settings.py."""

    settings: Settings
    tables: Tables
    also_npu: bool  # the file chooses between GPUs and NPUs
    variables: Variables

    @property
    def style(self) -> Writes: ...


class Writes(Protocol):
    """A style, as far as variables ask it."""

    @property
    def one_world(self) -> bool: ...


def look(finder: Finder, entry: Entry) -> Iterator[Hit]:
    """Called by device_settings.py for each entry that nothing else spoke of."""
    above = [part for part in entry.path[:-1] if part != ITEM]
    key = entry.path[-1] if entry.path else ""
    is_certain = bool(above) and _ENVIRONMENT.search(above[-1]) is not None
    if _NAME.match(key):
        yield from _variable(finder, entry, key, entry.key, entry.value, entry if entry.exact else None, is_certain)
    elif key == ITEM and (match := _SET.fullmatch(entry.value)) and entry.exact:
        if is_certain or _ENVIRONMENT.search(entry.name):
            name = (entry.start, entry.start + len(match[1]))
            value = (entry.start + match.start(2), entry.end)
            yield from _variable(finder, entry, match[1], name, match[2], value, True)
    elif key == "name" and is_certain and _NAME.match(entry.value) and entry.exact:
        other = next((e for e in finder.settings.named(entry.owner).get("value", ()) if e.name == "value"), None)
        text = other.value if other else None
        yield from _variable(finder, entry, entry.value, (entry.start, entry.end), text, other, True)


def _variable(
    finder: Finder,
    entry: Entry,
    name: str,
    span: Span | None,
    value: str | None,
    where: Entry | Span | None,
    is_certain: bool,
) -> Iterator[Hit]:
    """`is_certain`: the entry stands among environment variables. `span`: the name, which an edit renames. `value`: its
    text as written; `where`: the place of that text. A Hit without `safe` is for review."""
    row = finder.tables.variables.get(name)
    location = span or (entry.start, entry.end)
    if row is None:
        if is_certain and UNKNOWN.match(name):
            yield Hit(location, "unknown", code="PRT803", values=named(old=name))
        return
    weight: dict[str, Any] = {"severity": row.severity, "effort": row.effort}
    if row.to is None:
        yield Hit(
            location,
            answer(row, value),
            code=row.code,
            values=(*named(old=name, new=""), *finder.variables.reader(name)),
            **weight,
        )
        return
    if _has(finder, entry, row.to):
        return
    edits = ((*span, row.to),) if span and finder.style.one_world else ()
    values = named(old=name, new=row.to)
    if row.value == "bytes-to-mb":
        number, place = to_megabytes(value), _place(where)
        if number is None or place is None:
            yield Hit(location, "computed", code=row.code, values=values)
        elif not is_taken(row, number):
            yield Hit(location, "less", code=row.code, values=(*values, ("converted", number)))
        else:
            yield Hit(
                location,
                row.why,
                code=row.code,
                values=values,
                edits=(*edits, (*place, number)) if edits else (),
                **weight,
            )
        return
    if is_list(row) and value is not None and not is_ordered(value):
        values = named(old=name, new=row.to, value=value)
        yield Hit(location, "order", code="PRT801", values=values, edits=edits)
        return
    if not is_taken(row, value):
        yield Hit(location, row.why, code=row.code, values=values, **weight)
        return
    safe = row.fix == "safe" and is_certain and not finder.also_npu
    yield Hit(location, row.why, code=row.code, values=values, edits=edits, safe=safe and bool(edits), **weight)


def _place(where: Entry | Span | None) -> Span | None:
    if isinstance(where, Entry):
        return (where.start, where.end) if where.exact else None
    return where


def _has(finder: Finder, entry: Entry, name: str) -> bool:
    """Whether the variable for NPUs is set beside it already."""
    return any(other is not entry for other in finder.settings.named(entry.owner).get(name, ()))
