"""Finds functions whose models learn nothing: `for p in model.parameters(): p.requires_grad = False`; and those that hand their
inputs to models under `torch.no_grad()` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.python.blocks import once
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk
from porter.training import on_the_host
from porter.training.frequency import needs_no_gradients


@once
def freezes_all(function: Node) -> bool:
    """Whether a function freezes each model that it puts into evaluation, and makes nothing else learn."""
    frozen = {name for name, learns in _set(function) if not learns}
    learning = any(learns for _, learns in _set(function))
    evaluated = {ast.unparse(n.func.value) for n in walk(function) if _calls(n, "eval")}
    return (
        bool(frozen) and not learning and evaluated <= frozen and not any(_calls(n, "backward") for n in walk(function))
    )


def _calls(node: Node, method: str) -> bool:
    return node.__class__ is ast.Call and node.func.__class__ is ast.Attribute and node.func.attr == method


def _set(function: Node) -> Iterator[tuple[str, bool]]:
    """(model, whether it learns) of each place that says so of all parameters of a model."""
    for node in walk(function):
        if _calls(node, "requires_grad_"):
            yield ast.unparse(node.func.value), not (node.args and constant(node.args[0]) is False)
        elif node.__class__ is ast.For and _calls(node.iter, "parameters"):
            for statement in node.body:
                target: Node = statement.targets[0] if statement.__class__ is ast.Assign else None
                if getattr(target, "attr", "") == "requires_grad":
                    yield ast.unparse(node.iter.func.value), constant(statement.value) is not False


def keeps_no_graph(scene: Any, link: Link) -> bool:
    """Whether nothing on a device keeps a graph for what becomes a `Variable`: it is made on the host, no parameter around learns, or
    it is read under `torch.no_grad()`."""
    function = scene.function(link)
    if on_the_host.is_made_there(scene.file, link) or any(needs_none(above[0]) for above in ancestors(link)):
        return True
    return function is not None and (
        needs_no_gradients(function[0]) or freezes_all(function[0]) or _reads_under_no_grad(function[0])
    )


def needs_none(node: Node) -> bool:
    """Whether it is `with torch.no_grad():`."""
    if node.__class__ is not ast.With:
        return False
    return any(call_name(getattr(i.context_expr, "func", None)) in ("no_grad", "inference_mode") for i in node.items)


@once
def _reads_under_no_grad(function: Node) -> bool:
    """Whether a function hands what it makes `volatile` to calls under `torch.no_grad()`; what else takes it gets what came of such a
    call as well, as in `criterion(output, target)`."""
    inputs = {n.id for a in walk(function) if _is_volatile(a) for t in a.targets for n in walk(t) if _is_name(n)}
    blocks = [n for n in walk(function) if needs_none(n)] if inputs else []
    inside = {n for block in blocks for n in walk(block)}
    made = {n.id for n in inside if _is_name(n) and n.ctx.__class__ is ast.Store}
    takes = [(n, {a.id for a in n.args if _is_name(a)}) for n in walk(function) if n.__class__ is ast.Call]
    takes = [(n, names) for n, names in takes if names & inputs and not _has_volatile(n)]
    return any(n in inside for n, _ in takes) and all(n in inside or names & made for n, names in takes)


def _is_volatile(node: Node) -> bool:
    return node.__class__ is ast.Assign and any(_has_volatile(n) for n in walk(node.value))


def _has_volatile(node: Node) -> bool:
    return node.__class__ is ast.Call and any(k.arg == "volatile" for k in node.keywords)


def _is_name(node: Node) -> bool:
    return node.__class__ is ast.Name
