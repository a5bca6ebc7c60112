"""Makes one finding of several that have one cause. It stands at the first place and names the others.

In one file, two kinds are folded: findings for which their rule names the same cause (`TOGETHER`), and findings that say the
same sentence in the same function. A finding that is edited or suppressed stays by itself. The stanza of a rule says `apart`
if each of its places is work of its own. For several files see porter/project/told_together.py.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from porter.engine.rule import NEEDED, TOGETHER
from porter.engine.session import Session
from porter.finding import Finding
from porter.regex import lazy
from porter.spans import Span, span_of

# keys of `Finding.values`
ALSO = "also"  # the further lines of its own file
PLACES = "places"  # its places in other files, "path:line, path:line"
FILES = "other_files"  # the first of those files, for the message
_PLACE = lazy(r"(.+?):(\d+)(?:, |\Z)", re.DOTALL)
# keys of values that are about the place alone: findings that differ in nothing else say the same sentence
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
        "image",
        NEEDED,
    }
)


def folded(findings: Iterable[Finding], session: Session, functions: Sequence[Span] = ()) -> tuple[Finding, ...]:
    """The findings of a file, sorted and folded. Every finding with an edit and every suppressed finding stays.

    `functions`: the lines of the functions of the file, sorted, none inside another.
    """
    once, spoken, out = session.rules.once, dict[Hashable, int](), list[Finding]()
    for f in sorted(_of_one_cause(sorted(set(findings)))):
        without_edit = f.status == "manual" or f.optional and not f.edit
        if without_edit and f.suppressed is None and once(f.code, f.why):
            place = spoken.setdefault((f.code, f.why, f.values), len(out))
            if place < len(out):
                out[place] = replace(out[place], stands_for=(*out[place].stands_for, *lines_of(f)))
                continue
        out.append(f)
    return tuple(sorted(_of_one_function(out, session, functions)))


def sentence(finding: Finding) -> tuple[Hashable, ...]:
    """What a finding says, apart from its place: equal for findings that may be folded."""
    values = tuple(sorted(value for value in finding.values if value[0] not in (*_OF_THE_PLACE, ALSO, PLACES, FILES)))
    return (finding.code, finding.why, finding.severity, finding.effort, values)


def may_fold(finding: Finding) -> bool:
    """Whether nothing happens at the place of a finding: it has no edit, is not suppressed, and is no opportunity."""
    return finding.status == "manual" and not finding.edit and finding.suppressed is None and not finding.optional


def is_only_told(finding: Finding) -> bool:
    """The same, but opportunities count as well, if nobody asked porter to write them."""
    return may_fold(finding) or finding.optional and not finding.edit and finding.suppressed is None


def _of_one_cause(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with one for each cause that rules name: the first, with the lines of the others."""
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
    """The findings, with one for each sentence in a function."""
    groups: dict[tuple[Hashable, ...], list[Finding]] = {}
    for f in findings:
        if may_fold(f) and not f.code.startswith("PRT0") and not session.rules.apart(f.code, f.why):
            groups.setdefault((*sentence(f), span_of(f.line, functions)), []).append(f)
        else:
            yield f
    yield from map(with_lines, groups.values())


def with_lines(findings: list[Finding]) -> Finding:
    """The first of these findings, with the lines of all."""
    first = findings[0]
    if len(findings) == 1:
        return first
    lines = dict.fromkeys(line for f in findings for line in lines_of(f) if line != first.line)
    values = tuple(value for value in first.values if value[0] != ALSO)
    return replace(first, values=(*values, (ALSO, ", ".join(map(str, lines))))) if lines else first


def lines_of(finding: Finding) -> list[int]:
    """All lines that a finding speaks of in its own file."""
    return [finding.line, *further_lines(dict(finding.values))]


def every_line(finding: Finding) -> list[int]:
    """Those, and the lines that only it knows of, as one finding of its kind is enough for a file."""
    return [*lines_of(finding), *finding.stands_for]


def further_lines(values: Mapping[str, str]) -> list[int]:
    """The lines beside its own that a finding with these values speaks of, in its own file."""
    return [int(line) for line in values[ALSO].split(", ")] if values.get(ALSO) else []


def further_places(path: str, values: Mapping[str, str]) -> list[tuple[str, int]]:
    """The places beside its own that a finding at `path` speaks of, as (file, line)."""
    return [(path, line) for line in further_lines(values)] + elsewhere(values)


def elsewhere(values: Mapping[str, str]) -> list[tuple[str, int]]:
    """The places in other files that a finding with these values speaks of, as (file, line). A path may have commas."""
    return [(path, int(line)) for path, line in _PLACE.findall(values.get(PLACES, ""))]


def paths_of(path: str, values: Mapping[str, str]) -> list[str]:
    """The file of each place of a finding: a file stands here as often as the finding has places in it."""
    return [path, *(file for file, _ in further_places(path, values))]


def by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """One finding for each place of these findings, by file."""
    places: dict[str, list[Finding]] = {}
    for place in (place for finding in findings for place in taken_apart(finding)):
        places.setdefault(place.path, []).append(place)
    return places


def taken_apart(finding: Finding) -> Iterator[Finding]:
    """One finding for each place of a folded finding. The first stands where the finding itself stands."""
    known = dict(finding.values)
    folded_keys = {ALSO, *((PLACES, FILES) if PLACES in known else ())}  # a rule may name other files by itself
    values = tuple(value for value in finding.values if value[0] not in folded_keys)
    yield replace(finding, values=values)
    for path, line in further_places(finding.path, known):
        yield replace(finding, path=path, line=line, column=1, end_line=line, end_column=1, values=values)
