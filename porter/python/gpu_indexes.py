"""Finds functions whose parameter only chooses between faiss on GPUs and on the CPU: `knn_gpu(x) if use_gpu else knn_cpu(x)`, and
those that hand theirs on to these. faiss has no NPU, so that the answer that they are given has to stay CUDA's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.python.array_switches import Switch
from porter.python.evidence import call_name
from porter.python.index import Node
from porter.python.walks import children, statements, walk

_FAISS = "faiss"


def is_named(text: bytes) -> bool:
    """Whether a text may hold such a function."""
    return b"faiss" in text and b"gpu" in text


def choices(tree: ast.Module) -> Iterator[Switch]:
    functions = {node.name: node for node in statements(tree) if isinstance(node, ast.FunctionDef)}
    on_gpus = {name for name, node in functions.items() if _is_on_gpus(node)}
    open_ones = {name: _uses(node) for name, node in functions.items()} if on_gpus else {}
    chosen: dict[str, tuple[str, int]] = {}  # by function: its parameter, and the place of that
    while found := {name: one for name, uses in open_ones.items() if (one := _choice(uses, on_gpus, chosen))}:
        chosen |= found
        open_ones = {name: uses for name, uses in open_ones.items() if name not in found}
    yield from ((name, parameter, place, _FAISS) for name, (parameter, place) in chosen.items())


def _is_on_gpus(function: ast.FunctionDef) -> bool:
    """Whether a function makes an index of faiss on GPUs, and does nothing with torch."""
    calls = [ast.unparse(node.func) for node in walk(function) if isinstance(node, ast.Call)]
    is_of_torch = any(name.startswith("torch.") or name.endswith((".cuda", ".to")) for name in calls)
    return not is_of_torch and any(name.startswith("faiss.") and "gpu" in name.lower() for name in calls)


def _uses(function: ast.FunctionDef) -> list[tuple[str, int, list[tuple[Node, Node, Node]]]]:
    """Of each parameter: its name and place, and its uses, each with the two nodes around it."""
    around = {below: above for above in walk(function) for below in children(above)}
    names = [node for node in around if isinstance(node, ast.Name)]
    return [
        (one.arg, place, [(use, around[use], around.get(around[use])) for use in names if use.id == one.arg])
        for place, one in enumerate((*function.args.args, *function.args.kwonlyargs))
    ]


def _choice(
    parameters: list[tuple[str, int, list[tuple[Node, Node, Node]]]],
    on_gpus: set[str],
    chosen: dict[str, tuple[str, int]],
) -> tuple[str, int] | None:
    """The parameter that decides about nothing but faiss on GPUs."""
    for name, place, uses in parameters:
        if uses and all(_chooses(*use, on_gpus, chosen) for use in uses):
            return name, place
    return None


def _chooses(use: Node, above: Node, outer: Node, on_gpus: set[str], chosen: dict[str, tuple[str, int]]) -> bool:
    if isinstance(above, (ast.If, ast.IfExp)) and above.test is use:
        bodies: list[Node] = [*above.body] if isinstance(above, ast.If) else [above.body]
        return any(
            call_name(node.func) in on_gpus for body in bodies for node in walk(body) if isinstance(node, ast.Call)
        )
    call = outer if isinstance(above, ast.keyword) else above
    parameter, place = chosen.get(call_name(call.func), ("", -1)) if isinstance(call, ast.Call) else ("", -1)
    if isinstance(above, ast.keyword):
        return bool(parameter) and above.arg == parameter
    return bool(parameter) and use in call.args[place : place + 1]
