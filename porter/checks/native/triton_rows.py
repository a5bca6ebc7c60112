"""Whether a Triton kernel takes a row in blocks, so that it fits an NPU however long it is."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link
from porter.python.evidence import call_name, constant, target_name
from porter.python.index import ancestors, walk
from porter.rulebook.table import hint

_SMALL = hint("small-in-every-model")
_CAP = 8192  # a row in blocks of so many elements leaves room for what the kernel computes with them


def is_small(size: Link | None) -> bool:
    """Whether a size is called after what is small in every model: `next_power_of_2(int(dstate))`, `next_power_of_2(args["headdim"])`."""
    of = size[0].args[0] if size is not None and isinstance(size[0], ast.Call) and size[0].args else None
    while isinstance(of, ast.Call) and of.args:
        of = of.args[0]
    name = constant(of.slice) if isinstance(of, ast.Subscript) else target_name(of)
    return isinstance(name, str) and _SMALL.search(name) is not None


def is_capped(size: Link | None) -> bool:
    """Whether a size is cut to a block: `min(triton.next_power_of_2(n), 4096)`, also where the size has got a name before."""
    around = [above for above, _ in ancestors(size)]
    names = {getattr(above.targets[0], "id", "") for above in around if above.__class__ is ast.Assign}
    function = next((above for above in around if above.__class__ is ast.FunctionDef), None)
    if size is None or function is None:
        return False
    calls = (node for node in walk(function) if call_name(getattr(node, "func", None)) == "min")
    return any(
        any(isinstance(n := constant(arg), int) and n <= _CAP for arg in call.args)
        and any(inner is size[0] or getattr(inner, "id", "") in names - {""} for inner in walk(call))
        for call in calls
    )
