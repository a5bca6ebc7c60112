"""Says whether a text of a program is about the CUDA toolkit, and not only tells a person its version, which is None beside an NPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.index import parents
from porter.python.put_out import is_put_out
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

_TOOLKIT = lazy(rb"\bCUDA_HOME\b|\bCUDA_PATH\b|CUDAExtension|\bnvcc\b|TORCH_CUDA_ARCH_LIST|version\.cuda\b")
_VERSION = b"version.cuda"


def is_about_toolkit(file: File, start: int, end: int) -> bool:
    """Whether these bytes of a file mention the toolkit, in more than `print(torch.version.cuda)`."""
    words = [found[0] for found in _TOOLKIT.finditer(file.source.utf8, start, end)]
    if set(words) != {_VERSION}:
        return bool(words)
    return len(words) > sum(start <= statement < end for statement in _told(file))


@once_for_file
def _told(file: File) -> tuple[int, ...]:
    """Where the statements begin that print the version, once for each time."""
    told = filter(is_put_out, file.meaning.mentions.of(frozenset({"torch.version.cuda"})))
    around = (next(node for node in parents(link) if isinstance(node, ast.stmt)) for link in told)
    return tuple(file.source.span(statement)[0] for statement in around)
