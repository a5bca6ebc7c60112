"""Finds values that were made on the host and that nothing moves: what a tokenizer answers, and what a function of the file makes
and returns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once_for_file
from porter.python.evidence import DEFAULT_DEVICE, constant
from porter.python.index import Link, Node
from porter.python.parameters import default_of

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext, File
    from porter.values.value import Value

FACTORIES = frozenset(
    f"torch.{name}" for name in "rand randn randint randperm zeros ones empty full arange linspace tensor".split()
)
_CHANGES = frozenset("to cuda npu data update pop items values convert_to_tensors".split())


def is_made_there(scene: AnyContext, node: Node, link: Link) -> bool:
    """Whether an expression is such a value, or a part of one. `link`: of what has it."""
    whole = node
    while whole.__class__ in (ast.Subscript, ast.Attribute):
        whole = whole.value
    if whole.__class__ is not ast.Name:
        return False
    if whole is not node and whole.id in _tokenized(scene.file):
        return True
    if node.__class__ is ast.Attribute or scene.file.source.says(DEFAULT_DEVICE):
        return False
    values = values_of(scene.names, whole, link)
    return bool(values) and all(_returned(scene.file, getattr(getattr(v, "func", v), "id", "")) for v in values)


@once_for_file
def _tokenized(file: File) -> frozenset[str]:
    """The names that are set to nothing but what a tokenizer answers, and of which the file only reads parts: its `to` would move
    all of them in place."""
    if not file.source.says(b"return_tensors"):
        return frozenset()
    targets = (t for link in file.buckets[ast.Assign] if _tokenizes(link[0].value) for t in link[0].targets)
    names = {t.id for t in targets if isinstance(t, ast.Name)}
    bound = {link[0].arg for link in file.buckets[ast.arg]} if names else set()
    return frozenset(name for name in names - bound if all(map(_keeps_it, file.names.spelled(name))))


def _tokenizes(value: Node) -> bool:
    """`tokenizer(text, return_tensors="pt")`"""
    if value.__class__ is not ast.Call:
        return False
    return any(k.arg == "return_tensors" and constant(k.value) == "pt" for k in value.keywords)


def _keeps_it(use: Link) -> bool:
    node, above = use[0], use[1] and use[1][0]
    if node.__class__ is not ast.Name:
        return node.__class__ is ast.Attribute  # of another object
    if node.ctx.__class__ is ast.Store:
        return above.__class__ is ast.Assign and _tokenizes(above.value)
    reads = above.__class__ in (ast.Subscript, ast.Attribute) and above.ctx.__class__ is ast.Load
    return reads and above.value is node and getattr(above, "attr", "") not in _CHANGES


@once_for_file
def _returned(file: File, name: str) -> bool:
    """Whether one function of the file has this name, and returns nothing but what a factory of torch made on the host."""
    functions = [link for link in file.buckets[ast.FunctionDef] if link[0].name == name] if name else []
    if len(functions) != 1 or functions[0][1] is None or functions[0][1][0].__class__ is not ast.Module:
        return False
    first, last = functions[0][0].lineno, functions[0][0].end_lineno
    returns = [link for link in file.buckets[ast.Return] if first <= link[0].lineno <= last]
    return bool(returns) and all(_is_filled(file, link) for link in returns)


def _is_filled(file: File, link: Link) -> bool:
    """`return rows` where all that `rows` is set to is `torch.zeros(n)`."""
    value = link[0].value
    values = values_of(file.names, value, link) if value.__class__ is ast.Name else []
    return bool(values) and all(
        isinstance(v, ast.Call) and is_factory(file.names.resolve(v.func, link) or "", v) and not _takes(v)
        for v in values
    )


def _takes(call: ast.Call) -> bool:
    """Whether a factory copies what it gets, which may lie on the device: `torch.tensor(x)`."""
    return getattr(call.func, "attr", getattr(call.func, "id", "")) in ("tensor", "full")


def is_given_there(scene: AnyContext, name: ast.Name, link: Link) -> bool:
    """Whether a name is nothing but a parameter, for which all calls pass what is on the host."""
    function, bound = scene.function(link), scene.names.bindings(name.id, link)
    given = bool(bound) and all(b[0].__class__ is ast.arg for b in bound)
    return given and function is not None and name.id in scene.callers.read_back(function)


def is_factory(full: str, call: Node) -> bool:
    """Whether a call makes a tensor on the device that is the default one."""
    return full in FACTORIES and {k.arg for k in call.keywords}.isdisjoint({"device", "out", None})


def is_array(value: Value) -> bool:
    """`np.random.rand(n)`, with which only numpy computes."""
    return value.op == "call" and str(value.info[0]).startswith("numpy.")


def is_setting(value: Value, function: Node) -> bool:
    """`x > limit` in a function with the parameter `limit=0.5`"""
    return value.op == "leaf" and value.info[0] == "parameter" and type(default_of(function, value.info[1])) is float


def is_mesh(value: Value) -> bool:
    """`mesh.mesh`, `self.world_mesh.mesh`: what a mesh of devices is called."""
    name = value.info[1] if value.op == "leaf" else value.info if value.op == "attribute" else ""
    return name.__class__ is str and name.endswith("mesh")
