"""Evaluates conditions as they come out on a machine with NPUs, as far as their words tell."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from porter.python.index import Node
from porter.regex import lazy

# questions that are False there: for CUDA, and for special ways to run a model
_NEVER = lazy(
    r"(?:\.is_cuda(?:\(\))?|cuda\.is_available\(\)|cuda\.device_count\(\)|TYPE_CHECKING|torch\.version\.(?:cuda|hip)"
    r"|is_scripting\(\)|is_tracing\(\)|is_in_onnx_export\(\)|is_compiling\(\))$"
)
# names of devices and backends, which are not "cuda" there
_CUDA = lazy(r"(?:^|[._])(?:device|dev|type|device_type|backend)(?:\.type|\(\))?$")
# conditions about empty or missing arguments
_EMPTY = lazy(
    r"(?<![\w.])\.*\w[\w.]*(?: is None|\.numel\(\) == 0|\.(?:shape\[-?\d\]|size\(-?\d\)|ndim|dim\(\)) [=!<>]=? \d+|\.is_contiguous\(\))$"
    r"|^(?:len\([\w.]+\)|\w+) == 0$|^not [\w.]+$|^isinstance\("
)
# types of exceptions with which a handler catches that something is missing
_CATCHES = frozenset(
    [
        "ImportError",
        "ModuleNotFoundError",
        "AttributeError",
        "RuntimeError",
        "NotImplementedError",
        "OSError",
        "Exception",
    ]
)


def truth(test: Node) -> bool | None:
    """True or False, if the condition is so on every machine with NPUs; None where nobody can tell."""
    kind = test.__class__
    if kind is ast.UnaryOp and test.op.__class__ is ast.Not:
        inner = truth(test.operand)
        return None if inner is None else not inner
    if kind is ast.BoolOp:
        values, settles = [truth(v) for v in test.values], test.op.__class__ is ast.Or
        if settles in values:
            return settles
        return None if None in values else not settles
    if kind is ast.Compare and len(test.ops) == 1:
        return _compared(test.left, test.ops[0], test.comparators[0])
    if kind in (ast.Attribute, ast.Call, ast.Name) and _NEVER.search(ast.unparse(test)):
        return False
    return bool(test.value) if kind is ast.Constant else None


def _compared(left: ast.expr, op: ast.cmpop, right: Node) -> bool | None:
    same = {ast.Eq: True, ast.NotEq: False, ast.Is: True, ast.IsNot: False}.get(op.__class__)
    if same is None or right.__class__ is not ast.Constant:
        return None
    text, word = ast.unparse(left), right.value
    if word.__class__ is str and word.startswith("cuda") and _CUDA.search(text):
        return not same
    if text.endswith("torch.__version__") and word.__class__ is str and not word[:1].isdigit():
        return not same  # the code asks for another framework that is called torch as well
    return same if word is None and text in ("torch.version.cuda", "torch.version.hip") else None


def on_nothing(test: ast.expr) -> bool:
    """Whether a condition is about empty or missing input: `x.numel() == 0`, `x is None`. Its branch is a special case."""
    return bool(_EMPTY.search(ast.unparse(test)))


def leaves(body: list[ast.stmt]) -> bool:
    """Whether code below a block does not run after it."""
    return bool(body) and body[-1].__class__ in (ast.Return, ast.Raise, ast.Continue, ast.Break)


def raises(body: list[ast.stmt]) -> bool:
    return bool(body) and body[-1].__class__ is ast.Raise


def fallback(block: ast.Try) -> ast.ExceptHandler | None:
    """The handler that takes over where something is missing; None where there is none, or it raises again."""
    for handler in block.handlers:
        kinds: Sequence[ast.expr | None] = handler.type.elts if isinstance(handler.type, ast.Tuple) else (handler.type,)
        if any(k is None or getattr(k, "id", getattr(k, "attr", "")) in _CATCHES for k in kinds):
            return None if raises(handler.body) else handler
    return None
