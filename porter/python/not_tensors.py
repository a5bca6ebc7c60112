"""Finds values that are no tensors, but have methods that tensors have, too: a distribution, an object of the project."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once, within
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.python.file import File

# endings of the names of classes to which a tensor may belong
_TENSORS = ("Tensor", "Parameter", "Variable", "object", "Iterable", "Any")


def is_narrowed(name: str, link: Link) -> bool:
    """Whether the code around says that a name is something else: `if isinstance(x, Posterior): x.mode()`."""
    child = link[0]
    for above in ancestors(link):
        test: Node = getattr(above[0], "test", None)
        if above[0].__class__ is ast.If and within(above[0], child, "body"):
            if _names_other_class(test, name):
                return not _is_bound_anew(above[0].body, name, link[0].lineno)
        elif above[0].__class__ is ast.IfExp and child is above[0].body and _names_other_class(test, name):
            return True
        child = above[0]
    return False


def _names_other_class(test: Node, name: str) -> bool:
    """Whether a condition says that a name belongs to a class that is not for tensors."""
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        return any(_names_other_class(value, name) for value in test.values)
    if test.__class__ is not ast.Call or call_name(test.func) != "isinstance" or len(test.args) != 2:
        return False
    given, kinds = test.args[0], test.args[1]
    classes = kinds.elts if kinds.__class__ is ast.Tuple else [kinds]
    known = bool(classes) and all(call_name(c)[:1].isupper() and not call_name(c).endswith(_TENSORS) for c in classes)
    return known and getattr(given, "id", "") == name


def _is_bound_anew(block: list[Node], name: str, line: int) -> bool:
    """Whether a statement of the block above `line` binds the name again. `x = x.mode()` in that line reads it first."""
    stored = (n for s in block if s.end_lineno < line for n in walk(s) if n.__class__ is ast.Name and n.id == name)
    return any(n.ctx.__class__ is not ast.Load for n in stored)


def has_other_methods(file: File, name: str, link: Link) -> bool:
    """Whether the function around calls a method of `name` that no tensor has: `dist.sample()`."""
    function = next((a[0] for a in ancestors(link) if a[0].__class__ in (ast.FunctionDef, ast.AsyncFunctionDef)), None)
    if function is None or len(file.names.bindings(name, link)) != 1:
        return False
    surface = file.session.support.catalogue.surface
    methods = (method for method in _called(function).get(name, ()) if "npu" not in method)  # torch_npu adds such
    return any(surface.has(f"torch.Tensor.{method}") is False for method in methods)


@once
def _called(function: Node) -> dict[str, set[str]]:
    """The methods that a function calls, by the name of their object."""
    called: dict[str, set[str]] = {}
    for node in walk(function):
        if node.__class__ is ast.Call and node.func.__class__ is ast.Attribute:
            if node.func.value.__class__ is ast.Name:
                called.setdefault(node.func.value.id, set()).add(node.func.attr)
    return called


def answers_one(call: Link) -> bool:
    """Whether one value comes back from `mode()`, as of a distribution. A tensor's `mode()` gives values and indices, and the
    code would take one of them."""
    node, above = call[0], call[1][0]
    if node.args or node.keywords or _takes_part(above, node):
        return False
    if above.__class__ is not ast.Assign:
        return True
    function = next((a[0] for a in ancestors(call) if a[0].__class__ in (ast.FunctionDef, ast.AsyncFunctionDef)), None)
    names = {target.id for target in above.targets if target.__class__ is ast.Name}
    if function is None or len(names) != len(above.targets):
        return False
    return not any(
        _takes_part(n, n.value) for n in walk(function) if getattr(getattr(n, "value", None), "id", "") in names
    )


def _takes_part(above: Node, value: Node) -> bool:
    """Whether code takes a part of a result: `x.values`, `x[0]`, `a, b = x`."""
    if above.__class__ is ast.Attribute:
        return above.attr in ("values", "indices")
    if above.__class__ is ast.Subscript:
        return above.value is value and above.slice.__class__ is ast.Constant
    return above.__class__ is ast.Assign and any(t.__class__ in (ast.Tuple, ast.List) for t in above.targets)


def is_of_project(call: Node) -> bool:
    """Whether a call is one of the project's own: `self.head(x)`, `self.heads["reward"](x)`, `self.policy.actor(x)`. Its result
    may be anything."""
    func: Node = call.func if call.__class__ is ast.Call else None
    if func.__class__ is ast.Subscript:
        func = func.value
    while func.__class__ is ast.Attribute:
        func = func.value
    return getattr(func, "id", "") == "self"
