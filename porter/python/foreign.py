"""Finds code for other accelerators than NVIDIA's and Huawei's, such as Intel's and Google's. It stays as it is."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from porter.python.uses import packages_of
from porter.regex import rare
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.python.file import File
    from porter.python.source import Source

# a file that imports one of these at its head is for another accelerator, or for a server that knows only GPUs
_ELSEWHERE = hints("imported-for-another-accelerator")
_WITHIN = _ELSEWHERE - hints("never-on-an-npu-host")  # of the others, kernel_imports tells within a function
# `torch.cuda.Stream = torch.xpu.Stream`: a file that puts functions of another accelerator under the names of CUDA
_PATCHES = rare(
    rb"^[ \t]*torch\.(?:cuda|(?:Tensor|nn\.Module)\.cuda)\b[\w.]*[ \t]*=[ \t]*(torch\.(?:xpu|mlu|hpu|musa|sdaa|npu)\b)?",
    re.MULTILINE,
)
_OTHERS = (b"xpu", b"mlu", b"hpu", b"musa", b"sdaa", b"npu")  # names of other accelerators
_MANY = 3  # so many assignments to torch.cuda make up most of a file


def patches(source: Source) -> tuple[list[tuple[int, int]], bool]:
    """The ranges where a file puts functions of another accelerator into torch.cuda, and whether it does little else."""
    if source.words.isdisjoint(_OTHERS):
        return [], False
    places = [*_PATCHES.finditer(source.utf8)]
    foreign = [place.span() for place in places if place[1]]
    return foreign, bool(foreign) and len(places) >= _MANY


def imported(file: File) -> list[tuple[int, int]]:
    """If a file imports a package for another accelerator: the ranges before and behind that import, which itself may have a
    finding. A branch that imports one, `if args.ipex:`, is for that accelerator behind the import."""
    branches = []
    for link in (*file.buckets[ast.Import], *file.buckets[ast.ImportFrom]):
        above, packages = link[1][0], packages_of(link[0])
        known = {ast.Module: _ELSEWHERE, ast.If: _WITHIN}.get(above.__class__)
        if known is None or known.isdisjoint(packages):
            continue
        start, end = file.source.span(link[0])
        if above.__class__ is ast.Module:
            return [(0, start), (end, len(file.source.utf8))]
        block = above.body if link[0] in above.body else above.orelse
        branches.append((end, file.source.span(block[-1])[1]))
    return branches
