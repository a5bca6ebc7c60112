"""A class that tries itself out where its file is run: a loop in `if __name__ == "__main__"` that never leaves the CPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.index import Link, ancestors
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.training.protocols import File

# who moves anything says one of them, and who has somebody else move it imports more than torch and a few others
_MOVES = lazy(rb"(?i)cuda|device|npu\b|\.to\(|set_default|accelerat|fabric|lightning|trainer|deepspeed|ignite|horovod")
_PLAIN = frozenset(
    {"torch", "torchvision", "numpy", "math", "random", "time", "argparse", "os", "sys", "__future__", "typing"}
)


def stays_on_cpu(file: File, link: Link) -> bool:
    """Whether a node stands in such a block, and nothing in the file names a device."""
    inside = any(above[0].__class__ is ast.If and _is_main(above[0].test) for above in ancestors(link))
    if not inside or file.source.says(_MOVES):
        return False
    imported = {full.partition(".")[0] for bound in file.names.imports.values() for full, _ in bound}
    return imported <= _PLAIN


def _is_main(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or getattr(test.left, "id", "") != "__name__":
        return False
    return bool(constant(test.comparators[0]) == "__main__")
