"""Branches that are chosen by the device, and what stands beside them: functions for each device, other names of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.python.evidence import constant, device_like
from porter.python.index import FUNCTIONS, Node, walk


def ladder(node: ast.If) -> Iterator[tuple[ast.expr | None, list[ast.stmt]]]:
    """(test, body) of `if`, each `elif`, and (None, body) of `else`."""
    while True:
        yield node.test, node.body
        if len(node.orelse) != 1 or not isinstance(inner := node.orelse[0], ast.If):
            break
        node = inner
    if node.orelse:
        yield None, node.orelse


def choices(node: Node) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """(test, value) of each part of `a if test else b if ...`; the last has no test."""
    while node.__class__ is ast.IfExp:
        yield node.test, node.body
        node = node.orelse
    yield None, node


def over_the_host(node: ast.If) -> ast.Call | None:
    """`x.cpu()` in the `else` of a ladder for CUDA and for the CPU, if what it computes goes back to the device: a way for all others."""
    rows = list(ladder(node))
    if rows[-1][0] is not None or not any(map(_is_for_host, (test for test, _ in rows))):
        return None
    calls = [n for statement in rows[-1][1] for n in walk(statement) if n.__class__ is ast.Call]
    targets = [_target(call) for call in calls]
    to_host = (call for call, to in zip(calls, targets, strict=True) if to is not None and constant(to) == "cpu")
    return next(to_host, None) if any(map(device_like, targets)) else None


def _is_for_host(test: Node) -> bool:
    """`x.device.type == "cpu"`"""
    return test.__class__ is ast.Compare and test.ops[0].__class__ is ast.Eq and constant(test.comparators[0]) == "cpu"


def _target(call: ast.Call) -> ast.expr | None:
    """Where a method moves something: `x.to(device)`, `x.cpu()`."""
    name = getattr(call.func, "attr", "")
    if name == "cpu" and not call.args:
        return ast.Constant("cpu")
    given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "device")]
    return given[0] if name == "to" and given else None


def for_each(block: list[ast.stmt]) -> list[ast.stmt]:
    """The functions about CUDA of a block that has the same ones for NPUs: `is_cuda_available`, `is_npu_available`."""
    functions = {s.name: s for s in block if isinstance(s, FUNCTIONS[:2])}
    return [s for name, s in functions.items() if "cuda" in name and name.replace("cuda", "npu") in functions]


def renamed_gpus(tree: Node) -> Iterator[Node]:
    """`"cuda" if name == "gpu" else name`: the device of an NPU has its own name there already."""
    for node in (n for n in walk(tree) if n.__class__ is ast.IfExp and constant(n.body) == "cuda"):
        test = node.test
        if test.__class__ is ast.Compare and len(test.ops) == 1 and test.ops[0].__class__ is ast.Eq:
            if constant(test.comparators[0]) == "gpu" and ast.dump(test.left) == ast.dump(node.orelse):
                yield node
