"""Shell scripts: parsed with tree-sitter, edited word by word."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from porter.engine.rule import Hit
from porter.errors import Unreadable
from porter.text.document import Document
from porter.text.shells.gpu_branches import GpuBranch, gpu_branches
from porter.text.shells.parse import masked, parse
from porter.text.shells.script import Script

MARK, READS = "#", "script"
_ASKED = "PRT145"  # the code of a question for nvidia-smi
_INSTALLED = frozenset(
    {"PRT841", "PRT842", "PRT401", "PRT406"}
)  # of a build for CUDA, a part of it, a package on top of it


def read(document: Document) -> Script:
    if "\0" in document.text:
        raise Unreadable("text", "binary", 1)
    return parse(masked(document.text))


def settled(document: Document, script: Script, hits: Iterable[Hit]) -> Iterator[Hit]:
    """What stays of all that the rules say of shell, wherever it stands: nothing, where what NPUs run stands beside it."""
    if document.path in document.session.facts.accelerators.npu_twins:
        return
    broken = _broken(script)
    yield from unique(for_npus(script, [hit for hit in hits if not broken(hit)]))
    for start, end in script.broken[:1]:
        yield Hit((start, end), "part", code="PRT002")


def for_npus(script: Script, hits: list[Hit]) -> Iterator[Hit]:
    """The hits without those in branches that install for CUDA, and that a machine with NPUs goes on not taking."""
    branches = [*gpu_branches(script.text)] if hits else []
    installing = [b for b in branches if any(hit.code in _INSTALLED and b.start <= hit.at[0] < b.end for hit in hits)]
    asked = {branch.asked for branch in installing}
    asked -= {branch.asked for branch in branches if not any(_holds(outer, branch) for outer in installing)}
    left = [branch for branch in installing if branch.asked in asked]
    for hit in hits:
        if any(branch.start <= hit.at[0] < branch.end for branch in left):
            continue
        if any(start <= hit.at[0] < end for start, end in asked):
            if hit.code != _ASKED:
                continue
            hit = replace(hit, why="installs", values=(), edits=(), safe=False)
        yield hit


def _holds(outer: GpuBranch, inner: GpuBranch) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _broken(script: Script) -> Callable[[Hit], bool]:
    starts, reached = [start for start, _ in script.broken], [*accumulate((end for _, end in script.broken), max)]

    def is_broken(hit: Hit) -> bool:
        before = bisect_left(starts, hit.at[1])  # as many begin before it ends
        return before > 0 and hit.at[0] < reached[before - 1]

    return is_broken


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
