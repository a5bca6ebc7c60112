"""One cause is one finding: the first place speaks, and names the others.

What is folded: findings of a file whose rules name one cause (`TOGETHER`), and those that say the same sentence in the same
function. What is edited or suppressed stands by itself. A rule whose places are work of their own, whatever they have in
common, says `apart` in its stanza. Across files see porter/project/told_together.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from porter.engine.rule import TOGETHER
from porter.engine.session import Session
from porter.finding import Finding
from porter.spans import Span, span_of

ALSO = "also"  # of `Finding.values`: the further lines of which it speaks
PLACES = "places"  # and its places in other files, "path:line, path:line"
FILES = "other_files"  # the first of those files, for the message
# what a message says of its own place alone
_OF_THE_PLACE = frozenset(
    {
        "called",
        "into",
        "reached",
        "lines",
        "loop",
        "served_by",
        "calls",
        "users",
        "importers",
        "bystanders",
        "bystander_files",
        "option",
    }
)


def folded(findings: Iterable[Finding], session: Session, functions: Sequence[Span] = ()) -> tuple[Finding, ...]:
    """Sorted, without the repetitions of what is said once for a file or a function; each edit and each suppressed place
    stays. `functions`: sorted, none inside another."""
    once, keys, out = session.rules.once, set(), []
    for f in sorted(_of_one_cause(sorted(set(findings)))):
        without_edit = f.status == "manual" or f.optional and not f.edit
        if without_edit and f.suppressed is None and once(f.code, f.why):
            if (f.code, f.why, f.values) in keys:
                continue
            keys.add((f.code, f.why, f.values))
        out.append(f)
    return tuple(sorted(_of_one_function(out, session, functions)))


def sentence(finding: Finding) -> tuple[Hashable, ...]:
    """What it says, wherever it stands."""
    values = tuple(sorted(value for value in finding.values if value[0] not in (*_OF_THE_PLACE, ALSO, PLACES, FILES)))
    return (finding.code, finding.why, finding.severity, finding.effort, values)


def may_fold(finding: Finding) -> bool:
    """Whether there is nothing at the place itself but what is said of it."""
    return finding.status == "manual" and not finding.edit and finding.suppressed is None and not finding.optional


def is_only_told(finding: Finding) -> bool:
    """The same, opportunities included that nobody asked porter to write."""
    return may_fold(finding) or finding.optional and not finding.edit and finding.suppressed is None


def _of_one_cause(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Of those that have one cause, by their rules, the first with the lines of the others."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for f in findings:
        cause = dict(f.values).get(TOGETHER)
        if cause is None:
            yield f
            continue
        f = replace(f, values=tuple(value for value in f.values if value[0] != TOGETHER))
        if f.status != "manual" or f.suppressed is not None:
            yield f
        else:
            groups.setdefault((f.code, cause), []).append(f)
    yield from map(with_lines, groups.values())


def _of_one_function(findings: Iterable[Finding], session: Session, functions: Sequence[Span]) -> Iterator[Finding]:
    groups: dict[tuple[Hashable, ...], list[Finding]] = {}
    for f in findings:
        if may_fold(f) and not f.code.startswith("PRT0") and not session.rules.apart(f.code, f.why):
            groups.setdefault((*sentence(f), span_of(f.line, functions)), []).append(f)
        else:
            yield f
    yield from map(with_lines, groups.values())


def with_lines(findings: list[Finding]) -> Finding:
    """The first of several, with the lines of all."""
    first = findings[0]
    if len(findings) == 1:
        return first
    lines = dict.fromkeys(line for f in findings for line in lines_of(f) if line != first.line)
    values = tuple(value for value in first.values if value[0] != ALSO)
    return replace(first, values=(*values, (ALSO, ", ".join(map(str, lines))))) if lines else first


def lines_of(finding: Finding) -> list[int]:
    """All lines of its own file that one finding speaks of."""
    return [finding.line, *further_lines(dict(finding.values))]


def further_lines(values: Mapping[str, str]) -> list[int]:
    """Of its own file."""
    return [int(line) for line in _listed(values, ALSO)]


def further_places(path: str, values: Mapping[str, str]) -> list[tuple[str, int]]:
    """The places of a finding of a file beside its own one, as file and line."""
    elsewhere = (place.rpartition(":") for place in _listed(values, PLACES))
    return [(path, line) for line in further_lines(values)] + [(other, int(line)) for other, _, line in elsewhere]


def paths_of(path: str, values: Mapping[str, str]) -> list[str]:
    """The files of all places of a finding, as often as it has places there."""
    return [path, *(file for file, _ in further_places(path, values))]


def _listed(values: Mapping[str, str], key: str) -> list[str]:
    return values[key].split(", ") if values.get(key) else []


def by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Each place of theirs as a finding of its own, by the file that it stands in."""
    places: dict[str, list[Finding]] = {}
    for place in (place for finding in findings for place in taken_apart(finding)):
        places.setdefault(place.path, []).append(place)
    return places


def taken_apart(finding: Finding) -> Iterator[Finding]:
    """One for each place, as if no other had its cause: the first is where the finding itself stands."""
    known = dict(finding.values)
    folded_keys = {ALSO, *((PLACES, FILES) if PLACES in known else ())}  # a rule may name other files by itself
    values = tuple(value for value in finding.values if value[0] not in folded_keys)
    yield replace(finding, values=values)
    for path, line in further_places(finding.path, known):
        yield replace(finding, path=path, line=line, column=1, end_line=line, end_column=1, values=values)
