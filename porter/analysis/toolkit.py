"""Says which statements are about the CUDA toolkit. They mean CUDA itself, and not the accelerator in use."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.regex import lazy

if TYPE_CHECKING:
    from porter.analysis.file import File
    from porter.python.units import Unit

_TOOLKIT = lazy(rb"\bCUDA_HOME\b|\bCUDA_PATH\b|CUDAExtension|\bnvcc\b|TORCH_CUDA_ARCH_LIST|version\.cuda\b")


def builds_cuda(file: File, unit: Unit) -> bool:
    """Whether a statement is part of a build script, or mentions the toolkit; for the header of an `if`, its block counts."""
    source = file.source
    if file.path.rpartition("/")[2] == "setup.py" or _TOOLKIT.search(source.utf8, unit.start, unit.end):
        return True
    if unit.statement.__class__ is ast.If and not unit.whole:
        return bool(_TOOLKIT.search(source.utf8, unit.end, source.span(unit.statement.body[-1])[1]))
    return False
