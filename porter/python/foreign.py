"""Finds code for other accelerators than NVIDIA's and Huawei's, such as Intel's and Google's. It stays as it is."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from porter.python.uses import packages_of
from porter.regex import lazy
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.python.file import File
    from porter.python.source import Source

# a file that imports one of these at its head is for another accelerator, or for a server that knows only GPUs
_ELSEWHERE = hints("imported-for-another-accelerator")
# `torch.cuda.Stream = torch.xpu.Stream`: a file that puts functions of another accelerator under the names of CUDA
_PATCHES = lazy(
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
    """If a file imports a package for another accelerator: the ranges before and behind that import. The import itself may
    have a finding."""
    for link in (*file.buckets[ast.Import], *file.buckets[ast.ImportFrom]):
        if link[1][0].__class__ is ast.Module and not _ELSEWHERE.isdisjoint(packages_of(link[0])):
            start, end = file.source.span(link[0])
            return [(0, start), (end, len(file.source.utf8))]
    return []
