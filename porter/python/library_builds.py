"""Finds comparisons with a device that count only where another library was built for CUDA: `pycolmap.has_cuda and device.type == "cuda"`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.index import ancestors
from porter.python.receivers import TORCH_ROOTS
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.engine.rule_file import Link, RuleFile

_SAYS = lazy(
    r"(?i)(?:is_)?(?:has|have|with|built_with|built_for|supports)_?(?:cuda|gpu)(?:_support|_enabled|_available)?"
)


def built_for_cuda(file: RuleFile, link: Link) -> str:
    """The library that says so in the same `and`; "" for none."""
    child = link[0]
    for above in ancestors(link):
        if isinstance(above[0], ast.stmt):
            break
        if isinstance(above[0], ast.BoolOp) and isinstance(above[0].op, ast.And):
            for value in above[0].values:
                asked = value.func if isinstance(value, ast.Call) else value
                if value is not child and isinstance(asked, ast.Attribute) and _SAYS.fullmatch(asked.attr):
                    root = (file.names.resolve(asked, (asked, above)) or ".").partition(".")[0]
                    if root and root not in TORCH_ROOTS and not file.facts.own.has_package(root, file.path):
                        return root
        child = above[0]
    return ""
