"""`flash if torch.cuda.is_available() else plain`: on an NPU the plain one is right, and the question stays as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.branches import is_kernel, kernels_called
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.python.file import File


_BUILDS = frozenset({"CUDAExtension", "CUDA_HOME", "CUDNN_HOME"})  # of torch.utils.cpp_extension, in setup.py
_SOURCES = re.compile(r"\.cuh?$|_cuda\.(?:c|cc|cpp|h)$|WITH_CUDA$")  # what only a CUDA compiler takes
_CHOSEN = re.compile(
    r"(?i)(?:^|_)(?:use|has|have|with|enable|build)_\w*(?:cuda_(?:ext|kernel|op)|flash|xformers|triton|apex)"
)
_CHOICES = (
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.Pass,
)  # a branch of nothing else decides, and runs nothing


def chosen(file: File, link: Link | None) -> str | None:
    """The CUDA kernel that a question for a GPU decides about."""
    child = link[0] if link else None
    for above, up in ((above[0], above) for above in ancestors(link)):
        kind = above.__class__
        if kind is ast.BoolOp:
            if found := next((word for value in above.values if value is not child for word in _asked(value)), None):
                return found
        elif kind is ast.IfExp and child is above.test:
            return next((name for part in (above.body, above.orelse) if (name := _kernel(file, part, up))), None)
        elif kind is ast.If and child is above.test:
            return _decided(file, above, up)
        elif kind is ast.Assign:
            target: str = getattr(above.targets[0], "id", "")
            return target if _CHOSEN.search(target) else None
        elif kind is ast.Call and child is not above.func or isinstance(above, ast.stmt):
            return None
        child = above
    return None


def member_asked(link: Link | None) -> str | None:
    """`TorchDevice.CUDA`, a member of somebody's Enum that is asked for in one condition with a question for a GPU, or that
    the answer chooses."""
    child = link[0] if link else None
    for above in (at[0] for at in ancestors(link)):
        parts: list[Node] = []
        if above.__class__ is ast.BoolOp:
            parts = [value for value in above.values if value is not child]
        elif above.__class__ in (ast.If, ast.IfExp) and child is above.test:
            body = above.body if above.__class__ is ast.If else [above.body]
            parts = [getattr(s, "value", None) if above.__class__ is ast.If else s for s in body]
        members = (n for part in parts if part is not None for n in walk(part) if getattr(n, "attr", "") == "CUDA")
        if (member := next((n for n in members if n.value.__class__ is ast.Name), None)) is not None:
            return ast.unparse(member)
        if isinstance(above, ast.stmt):
            return None
        child = above
    return None


def _asked(value: ast.expr) -> Iterator[str]:
    """What else one condition asks for: `torch.cuda.is_available() and CUDA_HOME is not None`."""
    words = (n.id if n.__class__ is ast.Name else getattr(n, "attr", "") for n in walk(value))
    return (word for word in words if word in _BUILDS)


def _decided(file: File, node: ast.If, link: Link) -> str | None:
    """Of a branch that imports or assigns a kernel and does nothing else, or that builds one."""
    for body in (node.body, node.orelse):
        for statement in body:
            nodes = [*walk(statement)]
            words = (getattr(n, "id", "") or getattr(n, "attr", "") for n in nodes)
            texts = (str(constant(n)) for n in nodes if _SOURCES.search(str(constant(n) or "")))
            if found := next((word for word in (*words, *texts) if word in _BUILDS or _SOURCES.search(word)), None):
                return found
    if not all(isinstance(statement, _CHOICES) for statement in node.body):
        return None
    for statement in node.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            if found := next(kernels_called(file, statement, link), None):
                return found
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            if found := _kernel(file, statement.value, link):
                return found
    return None


def _kernel(file: File, part: Node, link: Link) -> str | None:
    """The kernel that an expression calls or names; of a function of the file, what its body calls."""
    functions = {at[0].name: at for kind in FUNCTIONS[:2] for at in file.buckets[kind]}
    node = part.func if part.__class__ is ast.Call else part
    if node.__class__ is ast.Name and node.id in functions:
        inner = functions[node.id]
        return next((name for s in inner[0].body for name in kernels_called(file, s, inner)), None)
    if node.__class__ in (ast.Name, ast.Attribute) and is_kernel(file, node, link):
        return ast.unparse(node)
    return next(kernels_called(file, part, link), None)
