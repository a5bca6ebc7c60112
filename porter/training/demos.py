"""Finds demos: loops in `if __name__ == "__main__"` that only try a class out, on the CPU; and scripts that name no device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.evidence import asks_for_main, call_name, constant, imported_packages, starts_alone
from porter.python.index import Link, ancestors
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.training.protocols import File

# a file that moves tensors to a device has one of these words, or it imports a package that is not in _PLAIN
_MOVES = lazy(rb"(?i)cuda|device|npu\b|\.to\(|set_default|accelerat|fabric|lightning|trainer|deepspeed|ignite|horovod")
# a word of a script that has its model on a device, or hands it to what puts it there
_PLACES = lazy(
    rb"(?i)cuda|device|gpu|npu\b|\bmps\b|xla|\.to\(|set_default|accelerat|fabric|lightning|deepspeed|ignite|horovod|dataparallel"
)
_FEW = 3  # rounds of a loop that trains nothing
_PLAIN = frozenset(
    {"torch", "torchvision", "numpy", "math", "random", "time", "argparse", "os", "sys", "__future__", "typing"}
)


def stays_on_cpu(file: File, link: Link) -> bool:
    """Whether a place stands in such a block, and the file names no device."""
    if not starts_alone(link) or file.source.says(_MOVES):
        return False
    imported = imported_packages(file.names.imports)
    return imported <= _PLAIN


def tries_out(link: Link) -> bool:
    """Whether a place stands in such a block and in loops of a few rounds alone: `for _ in range(1): net(x).backward()`."""
    loops = [above[0] for above in ancestors(link) if isinstance(above[0], (ast.For, ast.While))]
    return bool(loops) and all(map(_is_short, loops)) and starts_alone(link)


def _is_short(loop: ast.For | ast.While) -> bool:
    iterated = loop.iter if isinstance(loop, ast.For) else None
    given = iterated.args if isinstance(iterated, ast.Call) and call_name(iterated.func) == "range" else []
    rounds = constant(given[0]) if len(given) == 1 else None
    return type(rounds) is int and rounds <= _FEW


@once_for_file
def names_no_device(file: File) -> bool:
    """Whether a file is a script that a person starts, and no word in it is about a device: what it trains is on the CPU."""
    return not file.source.says(_PLACES) and any(map(_starts, file.tree.body))


def _starts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return asks_for_main(statement.test)
    if isinstance(statement, ast.Expr):
        # `main()`, no setting
        return isinstance(statement.value, ast.Call) and isinstance(statement.value.func, ast.Name)
    return isinstance(statement, (ast.For, ast.While, ast.With))
