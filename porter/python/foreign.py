"""Code for another accelerator than NVIDIA's and Huawei's, which stays as it is: Intel's, Google's, Triton's server."""

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

# a file that cannot start without one of these is for another accelerator, or for a server that knows none but GPUs
_ELSEWHERE = hints("imported-for-another-accelerator")
# `torch.cuda.Stream = torch.xpu.Stream`: what CUDA's name stands for on another accelerator, or on an NPU by hand
_PATCHES = lazy(
    rb"^[ \t]*torch\.(?:cuda|(?:Tensor|nn\.Module)\.cuda)\b[\w.]*[ \t]*=[ \t]*(torch\.(?:xpu|mlu|hpu|musa|sdaa|npu)\b)?",
    re.MULTILINE,
)
_OTHERS = (b"xpu", b"mlu", b"hpu", b"musa", b"sdaa", b"npu")
_MANY = 3


def patches(source: Source) -> tuple[list[tuple[int, int]], bool]:
    """Where the file gives torch.cuda the functions of another accelerator, and whether it does little else."""
    if source.words.isdisjoint(_OTHERS):
        return [], False
    places = [*_PATCHES.finditer(source.utf8)]
    foreign = [place.span() for place in places if place[1]]
    return foreign, bool(foreign) and len(places) >= _MANY


def imported(file: File) -> list[tuple[int, int]]:
    """All but the import that says so, which has a finding where a rule knows the package."""
    for link in (*file.buckets[ast.Import], *file.buckets[ast.ImportFrom]):
        if link[1][0].__class__ is ast.Module and not _ELSEWHERE.isdisjoint(packages_of(link[0])):
            start, end = file.source.span(link[0])
            return [(0, start), (end, len(file.source.utf8))]
    return []
