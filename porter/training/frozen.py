"""Finds functions whose models learn nothing: `for p in model.parameters(): p.requires_grad = False`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from porter.python.blocks import once
from porter.python.evidence import constant
from porter.python.index import Link, Node, walk
from porter.training import on_the_host


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
    """Whether nothing on a device keeps a graph for what becomes a `Variable`: it is made on the host, or no parameter around learns."""
    function = scene.function(link)
    return on_the_host.is_made_there(scene.file, link) or function is not None and freezes_all(function[0])
