"""Methods that put a CUDA kernel in the place of what runs anywhere."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name
from porter.python.index import Node

# of diffusers, which refuses them where there is no CUDA
_SWITCHES = frozenset({"enable_xformers_memory_efficient_attention", "set_use_memory_efficient_attention_xformers"})


def switched_on(statement: Node) -> str:
    """`unet.enable_xformers_memory_efficient_attention()`: the name of such a method, where a statement calls it; else ""."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = call_name(call.func) if isinstance(call, ast.Call) else ""
    return name if name in _SWITCHES else ""
