"""`@triton.jit`: kernels that triton-ascend compiles for NPUs, within its limits."""

from __future__ import annotations

import ast
import re

from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import constant
from porter.python.index import Link, Node, ancestors, walk

JIT = frozenset({"triton.jit", "triton.runtime.jit.jit", "triton.JITFunction"})
_COMPUTED = (
    ast.Name,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Compare,
    ast.Tuple,
    ast.Attribute,
    ast.Subscript,
    ast.IfExp,
)
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class TritonKernel(Rule):
    code = "PRT403"
    edits = False
    references = JIT

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        statement: Node = file.statement
        if not hasattr(statement, "decorator_list"):
            return None  # triton.jit = null_decorator, kernel = triton.jit(f)
        asks = isinstance(original, (cst.Attribute, cst.Name)) and _decorates(original, statement, file)
        if not asks or not _has_launches(statement, file):
            return None
        severity = "note" if file.imported.optional(original) else None
        together = (TOGETHER, severity or "kernels")  # the file's kernels are tuned in one go, with one package
        return Hit(original, "kernel", values=(("name", statement.name), together), severity=severity)


def _decorates(node: cst.Attribute | cst.Name, statement: Node, file: RuleFile) -> bool:
    start, end = file.span(node)
    return any(a <= start and end <= b for a, b in map(file.source.span, statement.decorator_list))


def _has_launches(kernel: Node, file: RuleFile) -> bool:
    """Whether anything may launch it; what only other kernels call has no grid of its own."""
    if _answers(kernel):
        return False
    uses, name = file.names.spelled(kernel.name), kernel.name.encode()
    quoted = file.source.says(name + b"'") or file.source.says(name + b'"')
    if quoted and file.source.says(re.compile(rb"['\"]%s['\"]" % name)):  # __all__
        return True
    if not uses:  # its file does not; others may, unless the launch is there, as a comment
        return not (file.source.says(name + b"[") and file.source.says(re.compile(rb"#[^\n]*\b%s\[" % name)))
    # of a public name that asks which program it is, another file may make a kernel
    helper = kernel.name.startswith("_") or not file.source.says(b"program_id", kernel)
    return not all(helper and _is_in_kernel(link, file) or _is_in_hidden(link, file) for link in uses)


def _answers(kernel: Node) -> bool:
    """Whether it returns a value, which nothing that is launched can do."""
    returns = (n.value for n in walk(kernel) if n.__class__ is ast.Return)
    return any(value is not None and constant(value) is not None or isinstance(value, _COMPUTED) for value in returns)


def _is_in_kernel(link: Link, file: RuleFile) -> bool:
    return any(
        file.names.resolve(getattr(decorator, "func", decorator), above) in JIT
        for above in ancestors(link)
        if above[0].__class__ in _DEFS
        for decorator in above[0].decorator_list
    )


def _is_in_hidden(link: Link, file: RuleFile) -> bool:
    """Whether it stands in a function that the module defines anew below, so that nobody can call this one."""
    for above in ancestors(link):
        node = above[0]
        if node.__class__ in _DEFS and above[1] is not None and above[1][0] is file.tree:
            return any(_hides(statement, node) for statement in file.tree.body)
    return False


def _hides(statement: Node, node: Node) -> bool:
    """Whether it is the function of that name, further down; what `@launch.register` decorates keeps the one above."""
    if statement.__class__ not in _DEFS or statement.name != node.name or statement.lineno <= node.end_lineno:
        return False
    words = (getattr(n, "id", "") for decorator in statement.decorator_list for n in walk(decorator))
    return node.name not in words
