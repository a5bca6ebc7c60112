"""Says whether a text chooses a device: names one, asks an option or a library for one, or moves something to what it got.

`x.device` of a tensor chooses nothing: what is made there lies where the tensor lies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from porter.project.meant_names import is_handed_on
from porter.python.evidence import OPTION_HOLDERS
from porter.python.index import Node
from porter.python.walks import statements
from porter.regex import lazy
from porter.rulebook.table import any_of

_CHOOSES = lazy(b"(?i)" + any_of("chooses-a-device").encode())
_SETTINGS = rb"(?:%s|conf\w*|params)" % OPTION_HOLDERS.encode()
# `device=x.device`, where x is a tensor
_OF_TENSOR = lazy(
    rb"(?:\bdevice[ \t]*=[ \t]*)?\b(?!%s\b|self\b)[A-Za-z_]\w*(?:\.(?!device)\w+|\[[^\]\n]*\])*\.device\b(?![ \t]*\()"
    % _SETTINGS
)
# a variable, an option or a function for a device; `.to(` of something else than a type
_NAMES_ONE = lazy(
    rb"(?i)device|\.to\([ \t\n]*(?!\)|(?:torch|th)\.\w*(?:float|int|long|bool|half|double|complex)|(?:\w+\.)*dtype\b)"
)
_SET = lazy(rb"(?i)\b%s\.device|[\"']device[\"']|default_device|(?:get|select|pick)\w*_device\(" % _SETTINGS)
# a tensor is called so, as angles of gates are, and no settings
_TENSORS_TOO = lazy(
    rb"\bparams\.(?:type|dtype|shape|size|dim|ndim|to|view|reshape|expand|repeat|(?:un)?squeeze)\b|\bparams\[[ \t]*(?::|\.\.\.)"
)
# names are looked up at run time, so that all of a project may be used
_LOOKS_UP = lazy(
    rb"\b(?:globals|vars|__import__|import_module|instantiate)\(|(?<![.\w])(?:eval|exec)\(|\.__dict__\[(?![\"'])"
    rb"|getattr\([ \t]*(?!self\b)[\w.]+[ \t]*,[ \t]*(?![\"'])"
)
_WORD = lazy(rb"[A-Za-z_]\w*")
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Part(NamedTuple):
    """A statement at the top level of a file."""

    names: tuple[str, ...]  # what it binds
    words: tuple[str, ...]  # all words in it
    chooses: bool  # or may use what does
    always: bool  # it does something when the file is imported


class Imported(NamedTuple):
    name: str  # in the file
    package: str  # the first word of the module; "" for one that is named relatively


def chooses(text: bytes) -> bool:
    """Whether a program chooses a device. `text`: of a whole program, whose values come from nowhere else."""
    return _CHOOSES.search(text) is not None or _NAMES_ONE.search(_OF_TENSOR.sub(b"", text)) is not None


def looks_up(text: bytes) -> bool:
    return _LOOKS_UP.search(text) is not None


def may_choose(text: bytes) -> bool:
    """Whether code that programs use chooses a device by itself. A parameter `device` has what the program hands over, and
    `self.device` has what a parameter had."""
    if b"params.device" in text and _TENSORS_TOO.search(text):
        text = text.replace(b"params.device", b"")
    return _CHOOSES.search(text) is not None or _SET.search(text) is not None


def words_of(text: bytes) -> set[str]:
    return {word.decode() for word in _WORD.findall(text)}


def parts(tree: ast.Module) -> Iterator[Part]:
    """The statements of a file that programs import, without its imports and its `__main__` part. Takes docstrings out of `tree`,
    which nobody else may hold."""
    for node in _statements(tree.body):
        defines = isinstance(node, _DEFINES)
        text = ast.unparse(_Texts().visit(node)).encode()
        yield Part(
            tuple(sorted(_bound(node))),
            tuple(sorted(words_of(text))),
            may_choose(text) or looks_up(text),
            is_handed_on(node) or not (defines or isinstance(node, (ast.Assign, ast.AnnAssign))),
        )


def imported(tree: ast.Module) -> Iterator[Imported]:
    for node in statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield Imported(alias.asname or first, first)
        elif isinstance(node, ast.ImportFrom):
            first = "" if node.level else (node.module or "").partition(".")[0]
            yield from (Imported(alias.asname or alias.name, first) for alias in node.names)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) or _is_text(node) or "__all__" in _bound(node):
            continue  # the names in `__all__` are offered, and used by nobody yet
        if isinstance(node, (ast.If, ast.Try)):
            if "__name__" in ast.dump(getattr(node, "test", ast.Constant(0))):
                continue
            handlers = [inner for handler in getattr(node, "handlers", ()) for inner in handler.body]
            yield from _statements([*node.body, *handlers, *node.orelse, *getattr(node, "finalbody", ())])
        else:
            yield node


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, _DEFINES):
        return {node.name}
    targets: list[Node] = [*getattr(node, "targets", ()), getattr(node, "target", None)]
    return {
        inner.id
        for target in targets
        if target is not None
        for inner in ast.walk(target)
        if isinstance(inner, ast.Name)
    }


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Texts(ast.NodeTransformer):
    """Takes docstrings out."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return ast.Pass() if _is_text(node) else node
