"""Finds functions of a project that answer which kind of device a machine has, and that know NPUs.

Code that compares such an answer with "cuda" alone has chosen: `if get_device() == "cuda":` is not for NPUs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial

from porter.python.evidence import constant
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import Parse
from porter.python.walks import walk
from porter.regex import lazy

_WORDS = (b'npu"', b"npu'", b"current_accelerator")
_NAME = lazy(r"(?i)device|accelerator")
_DEFINED = lazy(rb"(?i)def[ \t]+\w*?(?:device|accelerator)")  # most files with such words define no such function


def device_answers(texts: Mapping[str, bytes], parse: Parse, kept: Remember = anew) -> tuple[tuple[str, str], ...]:
    """(path, function), where nothing has to be handed over; `kept`: of single files."""
    found = [
        (path, name)
        for path, data in texts.items()
        if any(word in data for word in _WORDS) and _DEFINED.search(data)
        for name in rows_of(data, "device answers", (), partial(_answering, data, parse), kept)
    ]
    return tuple(sorted(found))


def _answering(data: bytes, parse: Parse) -> tuple[str, ...]:
    tree = parse(data)
    return tuple(_functions(tree)) if tree is not None else ()


def _functions(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not _NAME.search(node.name):
            continue
        inner = [*walk(node)]
        knows = any(constant(n) == "npu" or getattr(n, "attr", "") == "current_accelerator" for n in inner)
        answers = any(isinstance(n, ast.Return) and n.value is not None for n in inner)
        if knows and answers and not _needs_arguments(node.args):
            yield node.name


def _needs_arguments(given: ast.arguments) -> bool:
    return len(given.posonlyargs) + len(given.args) > len(given.defaults) or None in given.kw_defaults
