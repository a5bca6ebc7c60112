"""Finds handlers of errors that no NPU raises, and without which nothing is lost: what an NPU raises instead is answered alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from porter.python.blocks import once
from porter.python.index import Link, Node, ancestors
from porter.regex import lazy

_CATCHING = frozenset({"RuntimeError", "Exception", "BaseException"})  # catch what torch_npu raises
_TELLING = lazy(
    r"(?i)print|(?:\w+\.)*(?:\w*log(?:ger|ging)?|warnings|traceback)\.\w+"
)  # functions that tell of the error
_ONE = "_"  # the name of each error that is caught


def is_caught_again(link: Link | None) -> bool:
    """Whether a name is the type of a handler, and a RuntimeError is caught by that handler too, by one before it, or by one
    after it that does the same but for what it prints."""
    child = link[0] if link else None
    for up in ancestors(link):
        if up[0].__class__ is ast.ExceptHandler and up[1] is not None and child is up[0].type:
            return _loses_nothing(up[0], up[1][0])
        child = up[0]
    return False


def _loses_nothing(handler: ast.ExceptHandler, block: Node) -> bool:
    catching = next((other for other in block.handlers if _catches(other)), None)
    if catching is None:
        return False
    position = block.handlers.index(handler)
    return block.handlers.index(catching) <= position or _reply(catching) == _reply(handler)


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds: Sequence[ast.expr | None] = handler.type.elts if isinstance(handler.type, ast.Tuple) else (handler.type,)
    return any(kind is None or getattr(kind, "id", "") in _CATCHING for kind in kinds)


@once
def _reply(handler: ast.ExceptHandler) -> list[str]:
    """What a handler does besides telling of the error, whatever it calls it."""
    return [ast.dump(statement) for statement in _renamed(handler) if not _only_tells(statement)] or ["pass"]


def _renamed(handler: ast.ExceptHandler) -> Iterator[ast.stmt]:
    if handler.name is None or handler.name == _ONE:
        yield from handler.body
        return
    for statement in ast.parse(ast.unparse(ast.Module(handler.body, []))).body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == handler.name:
                node.id = _ONE
        yield statement


def _only_tells(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(statement, ast.Pass)
        or isinstance(call, ast.Call)
        and _TELLING.fullmatch(ast.unparse(call.func)) is not None
    )
