"""Values that name a quantization of bitsandbytes, whose kernels are CUDA's: `QuantType.NF4`, "paged_adamw_8bit"."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from porter.python.evidence import call_name, constant
from porter.python.index import Node
from porter.regex import lazy
from porter.rulebook.table import any_of

_NAMED = lazy(rf"(?i)(?:^|_)(?:{any_of('quantized-by-bitsandbytes')})(?:_|$)")


def quantized(parts: Iterable[Node]) -> str | None:
    """The first such value that is chosen: one side of `a if asked else b`, or what a statement of a branch sets."""
    for part in parts:
        value: Node = part.value if part.__class__ is ast.Assign else part
        if value.__class__ in (ast.Name, ast.Attribute, ast.Constant):
            if _NAMED.search(call_name(value) or str(constant(value) or "")):
                return ast.unparse(value)
    return None
