"""What tries something out and never leaves the CPU: a loop in `if __name__ == "__main__"`, a function of a test."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.files.paths import is_test
from porter.python.evidence import constant
from porter.python.index import Link, ancestors, owner_of
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene, File

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


def is_tried_on_cpu(scene: AnyScene, link: Link) -> bool:
    """Whether a function of a test is called by nothing but functions that name no device: who imports a test?"""
    function = scene.function(link)
    if function is None or owner_of(function) or not is_test(scene.file.path):
        return False
    uses = scene.names.spelled(function[0].name)
    return bool(uses) and all(_names_no_device(scene, use) for use in uses)


def _names_no_device(scene: AnyScene, use: Link) -> bool:
    caller, call = scene.function(use), use[1][0]
    if caller is None or not isinstance(call, ast.Call) or use[0] is not call.func:
        return False
    end = scene.file.source.span(caller[0])[1]
    above = min((d.lineno for d in caller[0].decorator_list), default=caller[0].lineno)
    start = scene.file.source.starts[above - 1]
    utf8: bytes = scene.file.source.utf8
    return _MOVES.search(utf8, start, end) is None


def _is_main(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or getattr(test.left, "id", "") != "__name__":
        return False
    return bool(constant(test.comparators[0]) == "__main__")
