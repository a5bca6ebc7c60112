"""Whether Python goes on without an extension: its import or its build is tried or asked for, and what it does on a GPU is
chosen by a question.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from porter.native.uses import OPS
from porter.python.evidence import call_name, constant
from porter.python.imports import handler_of
from porter.python.index import Node, walk
from porter.python.walks import children, statements

_ASKED = frozenset({"is_cuda", "is_available"})
_LEAVES = (ast.Return, ast.Raise, ast.Continue)
_DEEP = 3  # functions that call one another
Parents = dict[Node, Node]


def goes_on(
    tree: ast.Module,
    module: str,
    nodes: Iterable[Node],
    is_elsewhere: Callable[[str], bool],
    is_plain: bool = False,
) -> bool:
    """Of the places of a file that use an extension, all of them; `is_elsewhere`: whether other files say a name; `is_plain`:
    whether the extension is there without CUDA too, so that its import need not be tried."""
    if module.startswith(OPS):
        return False
    parents: Parents = {child: node for node in walk(tree) for child in children(node)}
    builds = built_when_asked(tree, module)
    if builds:
        if not all(
            _is_caught(b, parents) or _is_asked(b, parents) or _is_chosen(b, tree, parents, is_elsewhere, _DEEP)
            for b in builds
        ):
            return False
    elif not is_plain and not _is_tried(tree, module, parents):
        return False
    return all(_is_chosen(node, tree, parents, is_elsewhere, _DEEP) for node in nodes)


def built_when_asked(tree: ast.Module, module: str) -> list[ast.Assign]:
    """The assignments of an extension that the program builds when it runs: `_plugin = get_plugin("bias_act_plugin", ...)`."""
    assigned = (node for node in statements(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    return [
        node
        for node in assigned
        if isinstance(call := node.value, ast.Call)
        and any(constant(given) == module for given in (*call.args, *(k.value for k in call.keywords)))
    ]


def spare_lines(tree: ast.Module, is_elsewhere: Callable[[str], bool]) -> set[int]:
    """The lines that run only where a library is not there that NPUs have: `try: from torchvision.ops import nms`. So do
    classes and functions that only such lines name; `is_elsewhere`: whether other files say a name."""
    tried = (one for one in statements(tree) if isinstance(one, ast.Try) and any(map(_is_of_torch, one.body)))
    spare = {line for one in tried for handler in one.handlers for line in _lines(handler)}
    if spare:
        named = [node for node in walk(tree) if isinstance(node, ast.Name)]
        for own in tree.body:
            if isinstance(own, (ast.ClassDef, ast.FunctionDef)) and not is_elsewhere(own.name):
                uses = [node.lineno for node in named if node.id == own.name and node.lineno not in _lines(own)]
                if uses and spare.issuperset(uses):
                    spare.update(_lines(own))
    return spare


def _lines(node: ast.stmt | ast.ExceptHandler) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_of_torch(statement: ast.stmt) -> bool:
    module = statement.module if isinstance(statement, ast.ImportFrom) and not statement.level else None
    return (module or "").partition(".")[0] in ("torch", "torchvision")


def does_without(tree: ast.Module, module: str) -> bool:
    """Whether a file takes note that an extension is not there, and puts no stand-in that raises in its place."""
    parents: Parents = {child: node for node in walk(tree) for child in children(node)}
    if not _is_tried(tree, module, parents):
        return False
    blocks = (
        parents[node] for node in parents if isinstance(node, (ast.Import, ast.ImportFrom)) and _brings(node, module)
    )
    handlers = [handler for block in blocks if isinstance(block, ast.Try) and (handler := handler_of(block))]
    return not any(
        isinstance(getattr(s, "value", None), ast.Call) and isinstance(s, ast.Assign) for h in handlers for s in h.body
    )


def _is_tried(tree: ast.Module, module: str, parents: Parents) -> bool:
    imports = [
        node for node in statements(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) and _brings(node, module)
    ]
    return bool(imports) and all(_is_caught(node, parents) for node in imports)


def _brings(node: ast.Import | ast.ImportFrom, module: str) -> bool:
    above = (getattr(node, "module", None) or "").rpartition(".")[2]
    return module in (above, *(alias.name.rpartition(".")[2] for alias in node.names))


def _is_caught(node: Node, parents: Parents) -> bool:
    block = parents[node]
    handler = handler_of(block) if isinstance(block, ast.Try) and node in block.body else None
    return handler is not None and not isinstance(handler.body[-1], ast.Raise)


def _is_asked(node: Node, parents: Parents) -> bool:
    """Whether a build stands where a question for a GPU says so. Where it says no, nothing is built."""
    child = node
    while (above := parents.get(child)) is not None:
        if isinstance(above, ast.If) and child in above.body and asks_for_gpu(above.test):
            return True
        child = above
    return False


def _is_chosen(node: Node, tree: ast.Module, parents: Parents, is_elsewhere: Callable[[str], bool], deep: int) -> bool:
    """Whether a place runs where a question for a GPU says so, and something else does where it does not."""
    child = node
    while (above := parents.get(child)) is not None:
        if isinstance(above, ast.IfExp) and child is above.body and asks_for_gpu(above.test):
            return True
        if isinstance(above, ast.BoolOp) and isinstance(above.op, ast.And):
            if any(map(asks_for_gpu, above.values[: above.values.index(child)])):
                return True  # `x.is_cuda and build()`: where the question says no, nothing is built
        if isinstance(above, ast.If) and child in above.body and asks_for_gpu(above.test):
            return bool(above.orelse) or isinstance(above.body[-1], _LEAVES)
        if name := _named(above) if above in tree.body else "":
            if isinstance(above, ast.ClassDef) and not any(call_name(b).endswith("Function") for b in above.bases):
                return False  # a module, whose methods anybody calls
            uses = [n for n in walk(tree) if isinstance(n, ast.Name) and n.id == name and n not in walk(above)]
            if not uses or not deep or is_elsewhere(name):
                return False
            return all(_is_chosen(use, tree, parents, is_elsewhere, deep - 1) for use in uses)
        child = above
    return False


def _named(statement: Node) -> str:
    """The name that a statement gives to a function, a class or what is done with one: `attend = Attend.apply`."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return statement.name
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        is_chain = isinstance(statement.value, (ast.Name, ast.Attribute))
        return getattr(statement.targets[0], "id", "") if is_chain else ""
    return ""


def asks_for_gpu(test: ast.expr) -> bool:
    """Whether a condition asks for a GPU, or for a tensor on one. `impl == "cuda"` asks for neither."""
    return any(getattr(n, "attr", "") in _ASKED or _compares_device(n) for n in walk(test))


def _compares_device(node: Node) -> bool:
    """`x.device.type == "cuda"`, `"cuda" in str(device)`, `device.startswith("cuda")`"""
    parts = list(walk(node)) if isinstance(node, (ast.Compare, ast.Call)) else []
    named = any("dev" in (getattr(part, "attr", "") or getattr(part, "id", "")).lower() for part in parts)
    return named and any(constant(part) == "cuda" for part in parts)
