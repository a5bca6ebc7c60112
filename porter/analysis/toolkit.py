"""Says which statements are about the CUDA toolkit, or run only where TensorRT or a CUDA kernel does. They mean CUDA itself, and not the accelerator
in use."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.behind_cuda import is_behind
from porter.python.blocks import above, once_for_file
from porter.python.uses import packages_of
from porter.regex import lazy
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.analysis.file import File
    from porter.python.units import Unit

_PACKAGES = hints("never-on-an-npu-host")
_NAMES = tuple(sorted(name.encode() for name in _PACKAGES))
_TOOLKIT = lazy(rb"\bCUDA_HOME\b|\bCUDA_PATH\b|CUDAExtension|\bnvcc\b|TORCH_CUDA_ARCH_LIST|version\.cuda\b")


def why_left(file: File, unit: Unit, leads: bool) -> str:
    """Why nothing is edited in a statement: no road `leads` from the file to torch, an import above it fails, or no NPU enters
    the function. "" where it may be edited."""
    if not leads:
        return "astray"
    return "lost" if _is_lost(file, unit) else "behind" if is_behind(file, file.source.line(unit.start)) else ""


def _is_lost(file: File, unit: Unit) -> bool:
    """Whether a statement stands behind an import that no NPU host can make, in the same block or in one around: it never runs
    there, so that nothing is gained by porting it. What a `try` or an `if` imports does not count behind it."""
    if not _names_one(file):
        return False
    link = file.scene.link_to(unit.statement)
    while link is not None and link[1] is not None:
        if above(link[1][0], link[0], _imports, _imports):
            return True
        link = link[1]
    return False


@once_for_file
def _names_one(file: File) -> bool:
    return any(name in file.source.utf8 for name in _NAMES)


def _imports(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom)) and not _PACKAGES.isdisjoint(packages_of(statement))


def builds_cuda(file: File, unit: Unit) -> bool:
    """Whether a statement is part of a build script, or mentions the toolkit; for the header of an `if`, its block counts."""
    source = file.source
    if file.path.rpartition("/")[2] == "setup.py" or _TOOLKIT.search(source.utf8, unit.start, unit.end):
        return True
    if unit.statement.__class__ is ast.If and not unit.whole:
        return bool(_TOOLKIT.search(source.utf8, unit.end, source.span(unit.statement.body[-1])[1]))
    return False
