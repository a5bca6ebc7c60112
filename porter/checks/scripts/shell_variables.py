"""Environment variables in shell: the rows and the values of the Python rules, and one answer for a whole script.

A script that sets the new name and reads the old one would be worse than no port: either every place of a variable is
edited without a look, or none is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from porter.checks.scripts.gpu_containers import gpu_containers
from porter.checks.scripts.variable_places import TOKEN, Place, places_of, stays_inside
from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy, rare
from porter.rulebook.table import Tables, Variable
from porter.rulebook.variable_values import answer, is_list, is_ordered, is_taken, to_megabytes
from porter.spans import span_of
from porter.text.document import Document
from porter.text.shells.programs import gpus_alone, made_here, of_other_frameworks
from porter.text.shells.script import Script, Word

_UNKNOWN = lazy(r"(?:TORCH_NCCL|PYTORCH_CUDA|NCCL)_(?!VER)[A-Z0-9_]+$")
_SHOWN = 8  # names in a message
_CHOOSES = frozenset({"ASCEND_RT_VISIBLE_DEVICES"})
_ENDS = lazy(r"(?<!\\)\n|[;|&]")  # of a command
_SHELLS = (".sh", ".bash", ".slurm", ".sbatch")  # other scripts hand on all that they set, or are read for it
_ALL_EXPORTED = rare(r"\bset[ \t]+-\w*a|\ballexport\b")


class ShellVariables(TextRule):
    code = "PRT801"
    reads = "script"

    def __init__(self, tables: Tables) -> None:
        self.codes = tuple(sorted({"PRT801", "PRT803", *(row.code for row in tables.variables.values())}))

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        return _look(document, script, script.may_edit(document))


def _look(document: Document, script: Script, safe: bool) -> Iterator[Hit]:
    rows = document.session.rules.tables.variables
    by_name: dict[str, list[Place]] = {}
    for name, place in places_of(script):
        if name in rows or _UNKNOWN.match(name):
            by_name.setdefault(name, []).append(place)
    made, (containers, cards) = made_here(script), gpu_containers(script)
    alone = gpus_alone(script)
    others = dict(document.session.facts.variables.foreign).get(document.path)
    written = {m[0] for start, end in script.heredocs for m in TOKEN.finditer(script.text[start:end])}
    unknown: list[tuple[Place, str]] = []
    own = document.path.endswith(_SHELLS) and not _ALL_EXPORTED.search(script.text)
    for name, places in sorted(by_name.items()):
        places = sorted(set(places), key=lambda place: place.start)
        row = rows.get(name)
        if made:  # it is CUDA's, and linked with NCCL: nothing else reads these variables here
            if name == min(by_name):
                told = named(line=str(document.place(made[0][0])[0]), old=name, program=made[0][1])
                yield Hit((places[0].start, places[0].end), "made", code="PRT801", values=told)
            continue
        if own and (row is None or row.to is None) and all(map(stays_inside, places)):
            continue  # no program sees it, on GPUs as well
        if row is None:
            first = next((p for p in places if p.exported or p.role == "set"), None)
            if first:
                unknown.append((first, name))
        elif row.to is None:
            given = [p for p in places if p.role == "set"] or places
            first = next((p for p in given if answer(row, _given(p)) == row.why), given[0])
            values = (("new", ""), ("old", name), *document.session.facts.variables.reader(name))
            yield Hit(
                (first.start, first.end),
                answer(row, _given(first)),
                code=row.code,
                values=values,
                severity=row.severity,
                effort=row.effort,
            )
        elif not re.search(rf"(?<!\w){row.to}=", script.text):  # else it is ported already
            if alone and row.to in _CHOOSES and (kept := _kept(script, places, alone)):
                offset, program = kept[1]
                told = named(line=str(document.place(offset)[0]), new=row.to, old=name, program=program)
                yield Hit((kept[0].start, kept[0].end), "alone", code="PRT801", values=told)
                continue
            if row.to in _CHOOSES and (foreign := others or _of_others(script, places)):
                yield Hit((places[0].start, places[0].end), "of-another", values=named(library=foreign, old=name))
                continue
            choice = next((p for p in places if span_of(p.start, cards)), None) if row.to in _CHOOSES else None
            if choice:
                yield Hit((choice.start, choice.end), "container", code="PRT801", values=named(new=row.to, old=name))
                continue
            inside = name in written or any(span_of(p.start, containers) for p in places)
            hits = _renamed(name, row, places, safe and not inside)
            yield from _beside(script, hits, row, places) if document.session.target.style == "portable" else hits
    yield from _unknown(unknown)


def _unknown(places: list[tuple[Place, str]]) -> Iterator[Hit]:
    """They come in blocks, which stand or go together."""
    if len(places) == 1:
        ((place, name),) = places
        yield Hit((place.start, place.end), "unknown", code="PRT803", values=(("old", name),))
    elif places:
        first = min(places, key=lambda pair: pair[0].start)[0]
        shown = ", ".join(name for _, name in places[:_SHOWN]) + (", ..." if places[_SHOWN:] else "")
        values = named(count=str(len(places)), old=shown)
        yield Hit((first.start, first.end), "several", code="PRT803", values=values)


def _kept(script: Script, places: list[Place], alone: list[tuple[int, str]]) -> tuple[Place, tuple[int, str]] | None:
    """The place that gives a variable to a program for GPUs alone, and that program; a prefix is its own command's."""
    starts = [offset for offset, _ in alone]
    ends = [match.start() for match in _ENDS.finditer(script.text)]
    for place in places:
        if place.role != "set":
            continue
        if not place.prefix:
            return place, alone[0]
        first, until = bisect_left(starts, place.end), bisect_left(ends, place.end)
        if first < len(starts) and (until == len(ends) or starts[first] < ends[until]):
            return place, alone[first]
    return None


def _of_others(script: Script, places: list[Place]) -> str:
    """The program of another framework, where each place gives the variable to one, and to nothing else."""
    programs = of_other_frameworks(script) if all(place.prefix for place in places) else []
    kept = [_kept(script, [place], programs) for place in places] if programs else []
    return next((found[1][1] for found in kept if found), "") if all(kept) else ""


def _renamed(name: str, row: Variable, places: list[Place], safe: bool) -> Iterator[Hit]:
    if row.value == "bytes-to-mb":
        yield from _converted(name, row, places)
        return
    values = (("new", row.to or ""), ("old", name))
    refused = next((place for place in places if not is_taken(row, _given(place))), None)
    if refused:  # `all` devices, a time-out that is too long: no place of it is renamed
        yield Hit((refused.start, refused.end), row.why, code=row.code, values=values)
        return
    wrong = {place: v for place in places if is_list(row) and (v := _given(place)) and not is_ordered(v)}
    certain = safe and row.fix == "safe" and not wrong and all(place.role != "text" for place in places)
    for place in places:
        edits = tuple((offset, offset + len(name), row.to or "") for offset in sorted({place.start, *place.labels}))
        if place in wrong:
            order_values = (*values, ("value", wrong[place]))
            yield Hit((place.start, place.end), "order", code="PRT801", values=order_values, edits=edits)
            continue
        weight: dict[str, Any] = {"severity": row.severity, "effort": row.effort}
        yield Hit((place.start, place.end), row.why, code=row.code, values=values, edits=edits, safe=certain, **weight)


def _beside(script: Script, hits: Iterable[Hit], row: Variable, places: list[Place]) -> Iterator[Hit]:
    """Where the variable is set, exported or taken away, the other one behind it, with the same value: both kinds of device
    find theirs."""
    by_start, new = {place.start: place for place in reversed(places)}, row.to or ""
    for hit in hits:
        place = by_start[hit.at[0]]
        if place.role == "read":
            continue  # it has the same value
        value = place.value if place.role == "set" else None
        is_plain = value is None or not (set(value.text) & set("`\n") or "$(" in value.text)
        fits = hit.edits and row.value != "bytes-to-mb" and is_plain and (value or place.role == "named")
        if not fits or not place.joint:
            yield replace(hit, edits=(), safe=False)
            continue
        name = script.text[place.start : place.end]
        sign = "+=" if value and script.text[place.end : value.start] == "+=" else "="
        twin = f"{new}{sign}{value.text.replace(name, new)}" if value else new
        end = value.end if value else place.end
        yield replace(hit, edits=((end, end, place.joint + twin),))


def _given(place: Place) -> str | None:
    return place.value.value if place.value else None


def _converted(name: str, row: Variable, places: list[Place]) -> Iterator[Hit]:
    """Bytes to MB, where every place says how many: a number, or one that stands in where none is given."""
    values = (("new", row.to or ""), ("old", name))
    numbers = [(p, number) for p in places if (number := to_megabytes(_given(p)))]
    if less := next((pair for pair in numbers if not is_taken(row, pair[1])), None):
        place, number = less
        yield Hit((place.start, place.end), "less", code=row.code, values=(*values, ("converted", number)))
        return
    inner = [p.start for p in places if p.role == "read" and to_megabytes(_given(p))]  # sorted, as `places` are
    edits = []
    for place in places:
        number = to_megabytes(_given(place))
        through = place.role == "set" and place.value is not None and _holds(place.value, inner, len(name))
        if not number and not through and place.role != "named":
            yield Hit((place.start, place.end), "computed", code=row.code, values=values)
            return
        changed = [(place.start, place.end, row.to or "")]
        if number and (old := place.value):
            given = old.value or ""
            # quotes around all of it stay, those around a part go
            changed.append((old.start, old.end, old.text.replace(given, number) if given in old.text else number))
        edits.append((place, tuple(changed)))
    for place, written in edits:
        yield Hit((place.start, place.end), row.why, code=row.code, values=values, edits=written)


def _holds(value: Word, starts: list[int], length: int) -> bool:
    """Whether a name of this length stands in a value, behind its first character, that begins at one of these places."""
    index = bisect_right(starts, value.start)
    return index < len(starts) and starts[index] + length <= value.end
