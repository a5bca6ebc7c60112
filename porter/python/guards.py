"""Finds code that runs only after a check that something is there: below a condition, in a `try`, in a marked test.

`asked` is about functions and versions, `guard` about imports.
"""

from __future__ import annotations

import ast

from porter.python import blocks
from porter.python.evidence import call_name, constant
from porter.python.imports import catcher_of, handler_of
from porter.python.index import Link, Node, ancestors, parents
from porter.regex import lazy

_DECORATED = lazy(r"(?i)require|with_?package|skip")  # a decorator that asks for a package
# a condition that asks whether a package is there
_AVAILABLE = lazy(r"(?i)avail|install|find_spec|(?:^|_)(?:has|have|is|can|use|with|enable)_")
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
# a condition that asks for a version or a function
_ASKS = lazy(
    r"(?i)hasattr|getattr|version|avail|support|(?:^|\W|_)(?:has|is|torch)_|torch\d|legacy|compat|\bin dir\(|>=|<="
)
_DEVICE = lazy(r"\b[\w.]+\.(?:is_available|device_count)\(\)")  # asks for a device, not for a function
# types that catch a shared library that is not there, and types that catch a function or module that is not
_NOT_LOADED = frozenset({"OSError", "EnvironmentError", "IOError", "Exception", "BaseException"})
_CATCHES = lazy(r"AttributeError|ImportError|Exception|ModuleNotFoundError|RuntimeError")


def asked(link: Link) -> bool:
    """Whether the code asks for a version or a function before it runs this place, or catches that one is missing."""
    child = link[0]
    for above in parents(link):
        if above.__class__ in (ast.If, ast.IfExp, ast.While) and child is not above.test and _asks(above.test):
            return True
        if above.__class__ is ast.BoolOp and any(v is not child for v in _asking(above)):
            return True
        if above.__class__ is ast.Try and blocks.within(above, child, "body", "handlers") and _catches(above):
            return True
        if above.__class__ in _DEFS and _is_marked(above):
            return True
        if blocks.above(above, child, _turns_back, _turns_back):
            return True
        child = above
    return False


def in_branch(link: Link) -> bool:
    """Whether a place stands in a branch of an `if` that asks for a version or a function."""
    child = link[0]
    for above in parents(link):
        if above.__class__ is ast.If and child is not above.test and _asks(above.test):
            return True
        child = above
    return False


@blocks.once
def _asks(test: ast.expr) -> bool:
    """Whether a condition asks for a version or a function. A question for a device does not count."""
    return bool(_ASKS.search(_DEVICE.sub("", ast.unparse(test))))


@blocks.once
def _asking(test: ast.BoolOp) -> tuple[ast.expr, ...]:
    return tuple(filter(_asks, test.values))


@blocks.once
def _catches(block: ast.Try) -> bool:
    return any(h.type is None or _CATCHES.search(ast.unparse(h.type)) for h in block.handlers)


@blocks.once
def _is_marked(function: Node) -> bool:
    """Whether a decorator asks for a function, or skips: `@skipif(not hasattr(torch, "x"))`."""
    return any(_asks(d) or "skip" in ast.unparse(d) for d in function.decorator_list)


def _turns_back(statement: Node) -> bool:
    """Whether code below runs only if something is there: `if not hasattr(torch, "x"): return`, `assert hasattr(torch, "x")`."""
    if statement.__class__ is ast.Assert:
        return _asks(statement.test)
    leaves = statement.__class__ is ast.If and statement.body[-1].__class__ in (ast.Return, ast.Raise, ast.Continue)
    return leaves and _asks(statement.test)


def guard(link: Link | None) -> str | None:
    """Why the program goes on if an import fails: "type-checking", "try", "if"; None where it stops."""
    child = link and link[0]
    for above in parents(link):
        if above.__class__ is ast.If and blocks.within(above, child, "body"):
            if why := _kind_of_guard(above.test):
                return why
        elif above.__class__ is ast.Try and blocks.within(above, child, "body") and (handler := handler_of(above)):
            return None if handler.body[-1].__class__ is ast.Raise else "try"
        elif above.__class__ in _DEFS and _is_required(above):
            return "if"
        if blocks.above(above, child, _leaves, _leaves):
            return "if"
        child = above
    return None


def load_guarded(link: Link | None) -> bool:
    """Whether the program goes on if the shared library that is loaded here is missing."""
    child = link and link[0]
    for above in parents(link):
        if above.__class__ is ast.Try and blocks.within(above, child, "body"):
            if handler := catcher_of(above, _NOT_LOADED):
                return handler.body[-1].__class__ is not ast.Raise
        if above.__class__ in _DEFS:
            return False
        child = above
    return False


def instead_of_torch(link: Link) -> bool:
    """Whether a place runs only if an import from torch or torchvision failed: it stands in `except ImportError` of that."""
    child = link[0]
    for above in parents(link):
        if above.__class__ is ast.Try and blocks.within(above, child, "handlers") and child is handler_of(above):
            return any(map(_is_of_torch, above.body))
        if above.__class__ in _DEFS:
            return False
        child = above
    return False


def _is_of_torch(statement: Node) -> bool:
    names = [statement.module] if statement.__class__ is ast.ImportFrom and not statement.level else []
    return any((name or "").partition(".")[0] in ("torch", "torchvision") for name in names)


@blocks.once
def _kind_of_guard(test: ast.expr) -> str | None:
    """How a condition guards an import below it: "type-checking" or "if"; None where it does not."""
    asked = ast.unparse(test)
    return "type-checking" if asked.endswith("TYPE_CHECKING") else "if" if _AVAILABLE.search(asked) else None


@blocks.once
def _is_required(function: Node) -> bool:
    """Whether a decorator asks for a package: `@require_apex`."""
    return any(_DECORATED.search(ast.unparse(d)) for d in function.decorator_list)


def _leaves(statement: Node) -> bool:
    """Whether a statement leaves the block if a package is missing: `if not is_x_available(): return`."""
    if statement.__class__ is not ast.If or statement.body[-1].__class__ not in (ast.Return, ast.Continue):
        return False
    return bool(_AVAILABLE.search(ast.unparse(statement.test)))


def asks_for(link: Link, attribute: str, holder: str) -> bool:
    """`hasattr(x, "is_cuda") and x.is_cuda`: whether a condition around a place asks its object for this attribute first."""
    conditions = (above for above, _ in ancestors(link) if above.__class__ is ast.BoolOp)
    calls = (value for above in conditions for value in above.values if value.__class__ is ast.Call)
    return any(
        call_name(call.func) == "hasattr"
        and [*map(constant, call.args)][1:] == [attribute]
        and ast.unparse(call.args[0]) == holder
        for call in calls
    )
