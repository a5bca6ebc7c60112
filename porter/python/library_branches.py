"""Finds branches for CUDA that serve another library alone: `if device == "cuda": index = faiss.index_cpu_to_gpu(...)`.

The library uses CUDA itself, so that an NPU must take the other way. The question for the branch stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, is_log, is_part_of, library_on_cuda
from porter.python.index import ancestors, walk
from porter.python.stopping import after

if TYPE_CHECKING:
    from porter.python.file import File

_MOVES = frozenset({"to", "cuda", "npu"})


def served(file: RuleFile, literal: Link) -> str | None:
    """The library that the branch behind a comparison with the string at `literal` serves, if it does nothing else."""
    child = literal[0]
    for up in ancestors(literal):
        above = up[0]
        if above.__class__ is ast.If and child is above.test:
            return _served_by(file, above.body, up)
        plain = above.__class__ is ast.Compare and isinstance(above.ops[0], (ast.Eq, ast.In))
        if not plain and above.__class__ is not ast.BoolOp and call_name(getattr(above, "func", None)) != "startswith":
            return None
        child = above
    return None


def used_after(file: File, child: Node, branch: Link) -> str | None:
    """The library that the code below `if not torch.cuda.is_available(): return` uses, if it does nothing with torch."""
    if not isinstance(child, ast.UnaryOp) or branch[0].orelse or not _libraries(file):
        return None
    library = None
    for call in (inner for statement in after(branch) for inner in walk(statement) if inner.__class__ is ast.Call):
        name = file.names.resolve(call.func, branch) or ""
        if name.startswith("torch.") or call_name(call.func) in _MOVES:
            return None
        library = library or library_on_cuda(name)
    return library


@once_for_file
def _libraries(file: File) -> bool:
    """Whether a file imports a library that uses CUDA itself."""
    names = (target for bound in file.names.imports.values() for target, _ in bound)
    return any(map(library_on_cuda, (*names, *file.names.aliases.values())))


def _served_by(file: RuleFile, block: list[ast.stmt], link: Link) -> str | None:
    library, made = None, set[str]()
    for statement in _inner(block):
        calls: list[Node] = [node for node in walk(statement) if node.__class__ is ast.Call]
        if isinstance(statement, ast.Expr) and calls and is_log(calls[0].func, call_name(calls[0].func)):
            continue
        names = [file.names.resolve(call.func, link) or "" for call in calls]
        found = next(filter(None, map(library_on_cuda, names)), None)
        if found and is_part_of(file.path, found):
            return None
        if any(name.startswith("torch.") for name in names) or not (found or _on(statement, made)):
            return None
        library = library or found
        made |= {target.id for target in getattr(statement, "targets", ()) if isinstance(target, ast.Name)}
    return library


def _inner(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and of the branches in it."""
    for statement in block:
        if isinstance(statement, ast.If):
            yield from _inner([*statement.body, *statement.orelse])
        else:
            yield statement


def _on(statement: ast.stmt, made: set[str]) -> bool:
    """Whether a statement only calls a method of what the library made: `resources.setTempMemory(...)`."""
    node: Node = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    while node.__class__ in (ast.Call, ast.Attribute):
        node = getattr(node, "func", None) or node.value
    return getattr(node, "id", "") in made
