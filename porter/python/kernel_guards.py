"""Finds guards that stop the program without a GPU and say for which package: `raise ValueError("bitsandbytes needs CUDA")`.

The package has CUDA kernels only. Such a guard is right on an NPU as well: ported, it would let the program go on to them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk
from porter.python.refusing import NO, YES, only_stops
from porter.python.stopping import LESS, MORE, after
from porter.regex import lazy
from porter.rulebook.table import any_of

if TYPE_CHECKING:
    from porter.python.file import File

_PACKAGES = lazy(rf"(?i)\b(?:{any_of('said-to-need-cuda')})\b")
# a file that takes a package for it; torch has a flash attention of its own, which NPUs run
_TAKES_FLASH = lazy(rb"(?:import |from )(?:flash_attn|xformers)\b|[\"'](?:flash_attn\b|xformers[\"'.])")
_SAME = frozenset({"device", "startswith", "bool", "all", "any"})  # of an answer for a device, they make one for it


def needed(file: File, question: Link | None, named_before: bool = False) -> str | None:
    """The package that the message of a guard names. `question`: of a name that asks for a GPU, or of a device that something is
    compared with; or `named_before`: of a name that was set to the answer."""
    child, yes = question[0] if question else None, True  # the value of the condition with a GPU
    for up in ancestors(question):
        above, kind = up[0], up[0].__class__
        if kind is ast.If:
            block = after(up) if yes else above.body
            stops = block and (only_stops(block) or named_before and isinstance(block[-1], ast.Return))
            return _said(file, block) if child is above.test and stops else None
        if kind is ast.Assert:
            return _said(file, [above.msg]) if yes and child is above.test and above.msg is not None else None
        if kind is ast.UnaryOp and isinstance(above.op, ast.Not):
            yes = not yes
        elif kind is ast.Compare:
            pair = (YES, NO) if _is_device(child) else (MORE, LESS)
            if len(above.ops) != 1 or not isinstance(above.ops[0], (*pair[0], *pair[1])):
                return None
            yes = isinstance(above.ops[0], pair[0])
        elif kind is ast.Call:
            if child is not above.func and call_name(above.func) not in _SAME:
                return None
        elif kind is ast.Assign and file.tested and not named_before and above.targets[0].__class__ is ast.Name:
            # a test that prints why it returns; elsewhere the name decides about more than what a message is about
            readers = file.names.readers(above.targets[0].id, (above.targets[0], up))
            return next(filter(None, (needed(file, reader, named_before=True) for reader in readers)), None)
        elif not isinstance(above, (ast.Attribute, ast.BoolOp, ast.List, ast.Tuple, ast.Set, ast.GeneratorExp)):
            return None
        child = above
    return None


def _said(file: File, parts: list[Node]) -> str | None:
    package = named(parts, _PACKAGES)
    return None if package and package.lower().startswith("flash") and not file.source.says(_TAKES_FLASH) else package


def named(parts: Iterable[Node], packages: re.Pattern[str]) -> str | None:
    """The first package that a string in these parts names."""
    texts = (str(constant(inner) or "") for part in parts for inner in walk(part))
    return next((match[0] for text in texts if (match := packages.search(text))), None)


def _is_device(node: Node) -> bool:
    """Whether it is a device that something is compared with: `"cuda"`, `("cuda", "cpu")`, `torch.device("cuda")`."""
    if node.__class__ is ast.Call:
        return call_name(node.func) == "device"
    return isinstance(node, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set))
