"""Shell scripts: parsed with tree-sitter, edited word by word."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from porter.engine.rule import Hit
from porter.errors import Unreadable
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.gpu_branches import gpu_branches
from porter.text.shells.parse import masked, parse
from porter.text.shells.script import Script

MARK, READS = "#", "script"
_ASKED = "PRT145"  # the code of a question for nvidia-smi
# of a build for CUDA, a part of it, a package on top of it
_INSTALLED = frozenset({"PRT841", "PRT842", "PRT401", "PRT406"})
_INDEX = lazy(r"download\.pytorch\.org/whl/(?:[a-z]+/)?cu\d")  # for a function of the script, which hands it to pip


def read(document: Document) -> Script:
    if "\0" in document.text:
        raise Unreadable("text", "binary", 1)
    return parse(masked(document.text))


def settled(document: Document, script: Script, hits: Iterable[Hit]) -> Iterator[Hit]:
    """What stays of all that the rules say of shell, wherever it stands: nothing, where what NPUs run stands beside it."""
    if document.path in document.session.facts.accelerators.npu_twins:
        return
    is_broken = _touching(script.broken)
    yield from unique(for_npus(script, [hit for hit in hits if not is_broken(*hit.at)]))
    for start, end in script.broken[:1]:
        yield Hit((start, end), "part", code="PRT002")


def for_npus(script: Script, hits: list[Hit]) -> Iterator[Hit]:
    """The hits without those in branches that install for CUDA, and that a machine with NPUs goes on not taking."""
    branches = [*gpu_branches(script.text)] if hits else []
    places = (match.start() for match in _INDEX.finditer(script.text)) if branches else ()
    installed = sorted((*(hit.at[0] for hit in hits if hit.code in _INSTALLED), *places)) if branches else []
    installing = [b for b in branches if bisect_left(installed, b.start) < bisect_left(installed, b.end)]
    is_left = _touching((b.start, b.end) for b in installing)  # branches lie in each other, or apart
    asked = {b.asked for b in installing} - {b.asked for b in branches if not is_left(b.start, b.start + 1)}
    is_left, is_asked = _touching((b.start, b.end) for b in installing if b.asked in asked), _touching(asked)
    for hit in hits:
        first = hit.at[0], hit.at[0] + 1
        if is_left(*first):
            continue
        if is_asked(*first):
            if hit.code != _ASKED:
                continue
            hit = replace(hit, why="installs", values=(), edits=(), safe=False)
        yield hit


def _touching(spans: Iterable[tuple[int, int]]) -> Callable[[int, int], bool]:
    """Asks whether a part of the text from a place to another one is in one of these spans."""
    ordered = sorted(spans)
    starts, reached = [start for start, _ in ordered], [*accumulate((end for _, end in ordered), max)]

    def is_touched(start: int, end: int) -> bool:
        before = bisect_left(starts, end)  # as many begin before it ends
        return before > 0 and start < reached[before - 1]

    return is_touched


def unique(hits: Iterable[Hit]) -> Iterator[Hit]:
    """A command inside another is met with either; what only a person can do is said once for the same words."""
    keys = set()
    for hit in hits:
        key = (hit.code, hit.at[0]) if hit.edits else (hit.code, hit.why, hit.values)
        if key not in keys:
            keys.add(key)
            yield hit


def same(before: Script, after: Script) -> bool:
    return before.shape == after.shape
