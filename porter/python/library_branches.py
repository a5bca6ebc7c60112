"""Finds questions for CUDA that serve another library alone: `if device == "cuda": index = faiss.index_cpu_to_gpu(...)`.

The library uses CUDA itself, so that an NPU must take the other way. The question stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import fresh, once_for_file
from porter.python.evidence import CUDA_LIBRARIES, MOVES, call_name, constant, is_log, is_part_of, library_on_cuda
from porter.python.given_by_keyword import given_as_attribute, library_given
from porter.python.handed_on import given_to
from porter.python.index import ancestors, walk
from porter.python.library_switches import switched, switched_on
from porter.python.stopping import after
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

# packages and plug-ins that come in a CUDA flavour: onnxruntime-gpu, cupy-cuda12x, jax[cuda12], CUDAExecutionProvider
_FLAVOUR = lazy(r"[a-z][\w.]*(?:-gpu|-cuda\d\w*|\[cuda\w*\])(?:$|[=<>~!])|(?:CUDA|Tensorrt)ExecutionProvider$")
_TRUTH = (ast.BoolOp, ast.UnaryOp, ast.Compare, ast.NamedExpr)  # their value is still an answer to the question


def asked_for(file: File, link: Link | None, depth: int = 0) -> str | None:
    """The other library or package for which the code asks `torch.cuda.is_available`: `onnxruntime`. None for torch itself."""
    if link is None:
        return None
    child, truth = link[0], True  # whether the value so far is still the answer to the question
    for up in ancestors(link):
        above = up[0]
        kind = above.__class__
        if kind is ast.Call and child is not above.func:
            truth = False
            library = library_on_cuda(file.names.resolve(above.func, up))
            if (
                library := library
                or library_given(file, up, child)
                or switched(file, up, child)
                or chosen_by(file, up, child)
            ):
                return library
        elif kind in (ast.If, ast.IfExp) and child is above.test:
            library = _library_used(file, [above.body, above.orelse], up) or used_after(file, child, up)
            if library := library or (given_to(file.names, up) if kind is ast.IfExp else None):
                return library
        elif kind is ast.JoinedStr or kind is ast.BinOp:  # f"tensorflow{'' if torch.cuda.is_available() else '-cpu'}"
            first = above.values[0] if kind is ast.JoinedStr else above.left
            words = re.match(r"\w+", str(constant(first) or ""))
            if words and words[0] in CUDA_LIBRARIES:
                return words[0]
        elif kind is ast.Assign:
            target = above.targets[0]
            if target.__class__ is ast.Attribute and truth and (library := given_as_attribute(file, target)):
                return library
            if len(above.targets) == 1 and target.__class__ is ast.Name and depth == 0 and truth:
                readers = file.names.readers(target.id, (target, up))
                if library := file.names.once("asked for", readers, lambda: _first_asked_for(file, readers)):  # noqa: B023
                    return library
        if isinstance(above, ast.stmt):
            return None
        child, truth = above, truth and kind in (*_TRUTH, ast.Call)
    return None


def _first_asked_for(file: File, uses: list[Link]) -> str | None:
    ordered = sorted(uses, key=lambda use: (use[0].lineno, use[0].col_offset))
    return next((library for use in ordered if (library := asked_for(file, use, 1))), None)


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
        if name.startswith("torch.") or call_name(call.func) in MOVES:
            return None
        library = library or library_on_cuda(name)
    return library


def _library_used(file: File, parts: list[Node], link: Link) -> str | None:
    for part in parts:
        for node in part if part.__class__ is list else [part]:
            for inner in fresh(file, "library", node, link):
                kind = inner.__class__
                if kind is ast.Call:
                    package = library_on_cuda(file.names.resolve(inner.func, link)) or switched_on(file, (inner, link))
                elif kind is ast.Import:
                    package = next(filter(None, (library_on_cuda(a.name) for a in inner.names)), None)
                elif kind is ast.ImportFrom and not inner.level:
                    package = library_on_cuda(inner.module)
                elif kind is ast.Constant and isinstance(inner.value, str) and _FLAVOUR.match(inner.value):
                    package = inner.value
                else:
                    continue
                if package:
                    return package
    return None


def chosen_by(file: File | RuleFile, call: Link, given: Node) -> str | None:
    """The library that a function of the project chooses by what this call gives it, and by nothing else."""
    for path, function, parameter, place, library in (
        file.facts.own.array_switches if call[0].__class__ is ast.Call else ()
    ):
        asked = given.arg == parameter if given.__class__ is ast.keyword else given in call[0].args[place : place + 1]
        if asked and is_function_of(file, call, path, function):
            return library
    return None


def is_function_of(file: File | RuleFile, call: Link, path: str, name: str) -> bool:
    """Whether a call means a function that a file of the project defines: this one, or one that it is imported from."""
    func: Node = call[0].func
    if call_name(func) != name:
        return False
    module = (file.names.resolve(func, call) or "").rpartition(".")[0].lstrip(".")
    if not module:
        return path == file.path or func.__class__ is ast.Name and "*" in file.names.imports
    return f"/{path}".endswith(f"/{module.replace('.', '/')}.py")


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
