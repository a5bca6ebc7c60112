"""Finds code that only the package flash_attn leads to, in files that import it: an NPU takes another class, or none of it stays."""

from __future__ import annotations

import ast

from porter.python.blocks import once
from porter.regex import lazy

FLASH = "flash_attn"
CODES = frozenset("PRT601 PRT602 PRT604 PRT630 PRT638".split())  # what costs time where it runs
_SAYS = lazy(rb"\bflash_attn\b")
# as transformers names them, and all who copy its models: the class that calls the package, and what packs rows for it
_CLASS = lazy(r"Flash\w*Att(?:entio)?n")
_FUNCTION = lazy(r"_?(?:get_)?unpad_(?:data|input)$|_upad_input$|_flash_attention_forward$|_flash_attn_forward$")


def at(tree: ast.Module | None, text: bytes, line: int) -> str:
    """The package, where a line lies in such a class or function; "" elsewhere."""
    if tree is None or _SAYS.search(text) is None:
        return ""
    return FLASH if any(first <= line <= last for first, last in _spans(tree)) else ""


@once
def _spans(tree: ast.Module) -> tuple[tuple[int, int], ...]:
    definitions = (n for n in ast.walk(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef)))
    named = (n for n in definitions if (_CLASS if isinstance(n, ast.ClassDef) else _FUNCTION).search(n.name))
    return tuple((n.lineno, n.end_lineno or n.lineno) for n in named)
