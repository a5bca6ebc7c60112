"""Finds the device that a portable port leaves in a function, as the module can have no head: `if is_torch_available(): import torch`.

What is written without a head, such as `torch.accelerator.set_device_index`, is half of a decision beside it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, parents, walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

_DEVICE = lazy(r"cuda(?::\d*)?|nccl")
# names of torch.cuda that say which device a program takes, or how many
_CHOOSE = frozenset(f"torch.cuda.{name}" for name in ("is_available", "device_count", "current_device", "set_device"))


def left_beside(file: RuleFile, name: str, link: Link | None) -> str | None:
    """The first device in the function around a place that has no spelling in this port: `"cuda:0"`, `model.cuda()`."""
    if file.style.one_world or name not in _CHOOSE or link is None or file.imported.head() is not None:
        return None
    function: Node = next((above for above in parents(link) if isinstance(above, FUNCTIONS[:2])), None)
    for inner in walk(function) if function is not None else ():
        if isinstance(text := constant(inner), str) and _DEVICE.fullmatch(text):
            return repr(text)
        if inner.__class__ is ast.Call and getattr(inner.func, "attr", "") == "cuda":
            return ast.unparse(inner.func)
    return None
