"""Questions for the compute capability of a GPU, which an NPU has none of."""

from __future__ import annotations

import ast

from porter.python.blocks import once
from porter.python.index import Link, Node, parents, walk

_NO_FIELD = frozenset({"major", "minor", "warp_size", "regs_per_multiprocessor"})  # None where an NPU is described


def capability(link: Link | None) -> str | None:
    """ "field" of `get_device_properties` in `get_device_properties(0).major`, "capability" where such a thing is asked too,
    "version" where the version of CUDA is."""
    if link is None or link[1] is None:
        return None
    call, child = link[1][0], link[0]
    if call.__class__ is ast.Call and call.func is child and getattr(link[1][1][0], "attr", "") in _NO_FIELD:
        return "field" if getattr(child, "attr", "") == "get_device_properties" else None
    for above in parents(link):
        if above.__class__ is ast.BoolOp and any(v is not child for v in _asking(above)):
            return "capability"
        if above.__class__ is ast.BoolOp and any(v is not child for v in _versioned(above)):
            return "version"
        if isinstance(above, ast.stmt):
            return None
        child = above
    return None


@once
def _asking(test: ast.BoolOp) -> tuple[ast.expr, ...]:
    return tuple(filter(_asks, test.values))


@once
def _versioned(test: ast.BoolOp) -> tuple[ast.expr, ...]:
    return tuple(filter(_compares_version, test.values))


def _compares_version(node: Node) -> bool:
    """`torch.version.cuda < "12.8"`: None there, which no comparison takes."""
    return any(
        inner.__class__ is ast.Compare
        and not isinstance(inner.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq))
        and any(getattr(n, "attr", "") == "cuda" and getattr(n.value, "attr", "") == "version" for n in walk(inner))
        for inner in walk(node)
    )


def _asks(node: Node) -> bool:
    words = {n.attr for n in walk(node) if n.__class__ is ast.Attribute}
    return "get_device_capability" in words or "get_device_properties" in words and not words.isdisjoint(_NO_FIELD)
