"""Finds demos: loops in `if __name__ == "__main__"` that only try a class out, on the CPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.index import Link, ancestors
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.training.protocols import File

# a file that moves tensors to a device has one of these words, or it imports a package that is not in _PLAIN
_MOVES = lazy(rb"(?i)cuda|device|npu\b|\.to\(|set_default|accelerat|fabric|lightning|trainer|deepspeed|ignite|horovod")
_PLAIN = frozenset(
    {"torch", "torchvision", "numpy", "math", "random", "time", "argparse", "os", "sys", "__future__", "typing"}
)


def stays_on_cpu(file: File, link: Link) -> bool:
    """Whether a place stands in such a block, and the file names no device."""
    inside = any(above[0].__class__ is ast.If and _is_main(above[0].test) for above in ancestors(link))
    if not inside or file.source.says(_MOVES):
        return False
    imported = {full.partition(".")[0] for bound in file.names.imports.values() for full, _ in bound}
    return imported <= _PLAIN


def _is_main(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or getattr(test.left, "id", "") != "__name__":
        return False
    return bool(constant(test.comparators[0]) == "__main__")
