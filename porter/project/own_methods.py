"""Finds the classes of a file that define `cuda()`, `is_cuda`, or the `next()` of an iterator themselves, and functions called `cuda`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from porter.python.trees import Parse
from porter.python.walks import statements, walk
from porter.regex import lazy

_FUNCTION = lazy(rb"^def[ \t]+cuda[ \t]*\(", re.MULTILINE)
_APPLIED = lazy(r"self\._apply\(lambda (\w+): \1\.(?:cuda|npu)\([^()]*\)\)")
_NEXT = lazy(rb"def[ \t]+next[ \t]*\(|\bnext[ \t]*=")


def classes(tree: ast.Module | None, member: str) -> Iterable[str]:
    """The names of classes that define a method of this name, or, for `is_cuda`, set an attribute of this name. Those with `cuda()` and
    a `to(device)` count for "to" alone: all that moves them may say that, as of a tensor."""
    for node in statements(tree) if tree else ():
        if isinstance(node, ast.ClassDef) and owns(node, member):
            yield node.name


def owns(node: ast.ClassDef, member: str) -> bool:
    """Whether a class defines a member of this name, and it is not what every module or whatever has a `to(device)` has."""
    if member == "to":
        return _takes_devices(node)
    if member == "cuda":
        return _defines(node, member) and not _takes_devices(node) and not _moves_as_module(node)
    return _defines(node, member) or member == "is_cuda" and _sets(node, member)


def _takes_devices(node: ast.ClassDef) -> bool:
    """Whether a class has a `cuda()` and a `to(device)` of its own."""
    return _defines(node, "cuda") and any(isinstance(s, ast.FunctionDef) and _is_moving(s) for s in node.body)


def _moves_as_module(node: ast.ClassDef) -> bool:
    """Whether a class of modules has a `cuda(device)` that does what that of all modules does: `self._apply(lambda t: t.cuda(device))`.
    Whoever calls `npu()` in its place gets the same from the module."""
    moves = [s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "cuda"]
    applied = [s.body[-1] for s in moves if not s.decorator_list and len(s.body) == 1 + bool(ast.get_docstring(s))]
    plain = [s for s in applied if isinstance(s, ast.Return) and s.value and _APPLIED.fullmatch(ast.unparse(s.value))]
    return bool(node.bases) and len(plain) == len(moves) == 1 and not _defines(node, "_apply")


def _is_moving(method: ast.FunctionDef) -> bool:
    """`def to(self, device)`, `def to(self, *args, **kwargs)`."""
    given = [arg.arg for arg in (*method.args.posonlyargs, *method.args.args)][1:]
    is_device = given[0] in ("device", "dev") if given else method.args.vararg is not None
    return method.name == "to" and is_device and not method.decorator_list


def moving(sources: Mapping[str, bytes]) -> tuple[str, ...]:
    """The files with a function `cuda` of their own: `def cuda(batch, device): ...`."""
    return tuple(path for path, data in sorted(sources.items()) if b"def cuda" in data and _FUNCTION.search(data))


def take_non_blocking(owners: Iterable[str], sources: Mapping[str, bytes], parse: Parse) -> bool:
    """Whether one of these methods ("path:Class") takes `cuda(non_blocking=True)`, as that of a tensor does."""
    trees = (parse(sources[path]) for path in sorted({owner.rpartition(":")[0] for owner in owners}))
    return any(_takes_it(node) for tree in trees for node in (statements(tree) if tree else ()))


def _takes_it(node: ast.AST) -> bool:
    methods = node.body if isinstance(node, ast.ClassDef) else []
    given = (s.args for s in methods if isinstance(s, ast.FunctionDef) and s.name == "cuda")
    return any(args.kwarg or any(arg.arg == "non_blocking" for arg in (*args.args, *args.kwonlyargs)) for args in given)


def first_own_next(sources: Mapping[str, bytes], parse: Parse) -> str:
    """The first file with an iterator that can be asked by `it.next()`: `def next(self)` or `next = ...` beside a `__next__`."""
    named = (path for path, data in sorted(sources.items()) if b"__next__" in data and _NEXT.search(data))
    return next((path for path in named if any(map(_has_both, walk(parse(sources[path]) or ast.Module([], []))))), "")


def _has_both(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and _has(node, "next") and _has(node, "__next__")


def _has(node: ast.ClassDef, member: str) -> bool:
    return _defines(node, member) or any(getattr(t, "id", "") == member for s in node.body for t in _targets(s))


def _defines(node: ast.ClassDef, member: str) -> bool:
    return any(isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) and s.name == member for s in node.body)


def _sets(node: ast.ClassDef, member: str) -> bool:
    for inner in walk(node):
        if isinstance(getattr(inner, "ctx", None), ast.Store):
            if isinstance(inner, ast.Attribute) and inner.attr == member and getattr(inner.value, "id", "") == "self":
                return True
            if isinstance(inner, ast.Name) and inner.id == member and any(inner in _targets(s) for s in node.body):
                return True
    return False


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []
