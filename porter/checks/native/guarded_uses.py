"""Imports in a `try`: what the program does without them, which is another way that is written already, or a NameError."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import BODIES, below, place
from porter.python.evidence import call_name, constant
from porter.python.imports import handler_of
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.python.stopping import after
from porter.python.uses import imports_of

_SAYING = frozenset(
    "print warn warning info debug error exception critical exit ImportError RuntimeError ModuleNotFoundError".split()
)
_ASKING = (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.While, ast.Lambda, ast.ClassDef)
_DEEPEST = 2  # callers of callers


def falls_back(package: str, names: list[str], file: RuleFile) -> bool:
    """Whether an import needs no port: the code only asks whether the package is there, or all that uses the names stands where
    the package is there, and what runs else computes it another way."""
    link = file.scene.link_to(file.statement)
    up = next((above for above in ancestors(link) if above[0].__class__ is ast.Try), None) if link is not None else None
    if up is None or handler_of(up[0]) is None:
        return False
    uses = [use for name in names for use in file.names.spelled(name) if _is_read(use)]
    if not uses:
        return _only_asks(up[0], file) and len(imports_of(file, package)) == 1
    if names and all(_is_torchs_else(name, up[0], file) for name in names):
        return True
    if all(any(above is up[0] for above, _ in ancestors(use)) for use in uses):
        return _computes_else(up)
    outside = [use for use in uses if not any(above is up[0] for above, _ in ancestors(use))]
    if _answers_false(up) and all(_is_below(use, up) for use in outside):
        return True
    before = _set_before(up)
    flags = {*flags_of(up[0], before), *(name for name in names if _is_none_else(name, up[0], before))}
    return bool(flags) and all(_is_behind(use, flags, file, 0) for use in outside)


def is_missed(names: list[str], file: RuleFile) -> bool:
    """Whether a name of an import in a `try` is called where nothing asks for it, and nothing else binds it: where the import
    fails, which its handler only says, the call is a NameError."""
    link = file.scene.link_to(file.statement)
    up = link[1] if link is not None else None
    handler = handler_of(up[0]) if up is not None and isinstance(up[0], ast.Try) else None
    if up is None or handler is None or not all(_is_said(statement) for statement in handler.body):
        return False
    alone = [n for n in names if len(file.names.imports.get(n, ())) == 1 and not file.names.others.get(n)]
    uses = [use for name in alone for use in file.names.spelled(name) if _is_read(use)]
    return any(use[1] is not None and use[1][0].__class__ is ast.Call and _is_unasked(use) for use in uses)


def _is_said(statement: ast.stmt) -> bool:
    """`pass`, `print("not installed")`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_said = (
        isinstance(call, ast.Constant) or isinstance(call, ast.Call) and call_name(call.func) in _SAYING - {"exit"}
    )
    return isinstance(statement, ast.Pass) or is_said


def _is_unasked(use: Link) -> bool:
    """Whether a place runs whenever its function does: no condition, `try` or way out stands before it."""
    child = use[0]
    for above, _ in ancestors(use):
        if above.__class__ in _ASKING:
            return False
        field, index = place(above, child)
        if field in BODIES and any(map(_may_leave, getattr(above, field)[:index])):
            return False
        if above.__class__ in FUNCTIONS[:2]:
            return True
        child = above
    return False


def _may_leave(statement: ast.stmt) -> bool:
    return any(node.__class__ in (ast.Return, ast.Raise, ast.Assert) for node in walk(statement))


def _is_read(use: Link) -> bool:
    return getattr(use[0], "ctx", None).__class__ is ast.Load


def _only_asks(node: ast.Try, file: RuleFile) -> bool:
    """`try: import vllm; return True`, `except ImportError: return False`: nothing else is in it."""
    handler = handler_of(node)
    body = node.body[1:] if node.body[0] is file.statement else []
    if len(body) != 1 or handler is None or len(handler.body) != 1 or node.orelse:
        return False
    both = (body[0], handler.body[0])
    return all(isinstance(way, ast.Return) for way in both) and [
        constant(getattr(way, "value", None)) for way in both
    ] == [True, False]


def _computes_else(up: Link) -> bool:
    """In a function, what follows the `except` that the failed import leads to calls something."""
    handler = handler_of(up[0])
    if handler is None or not any(above[0].__class__ in FUNCTIONS for above in ancestors(up)):
        return False
    calls = [n for n in walk(handler) if n.__class__ is ast.Call]
    return any(call_name(call.func) not in _SAYING for call in calls)


def _answers_false(up: Link) -> bool:
    """Whether a function ends with the answer False where the import fails."""
    handler = handler_of(up[0])
    last = handler.body[-1] if handler is not None else None
    return isinstance(last, ast.Return) and constant(last.value) is False


def _is_below(use: Link, up: Link) -> bool:
    """Whether a place stands below a `try` in the same block: it runs where the import succeeds."""
    statements = below(up)
    return any(above is statement for above, _ in ancestors(use) for statement in statements)


def _set_before(up: Link) -> list[ast.stmt]:
    """What stands before a `try` in its block: `flash = None` may stand there."""
    field, index = place(up[1][0], up[0]) if up[1] is not None else ("", 0)
    return list(getattr(up[1][0], field)[:index]) if up[1] is not None and field in BODIES else []


def flags_of(node: ast.Try, before: Sequence[ast.stmt] = ()) -> set[str]:
    """The names that are True where the import succeeds, and False where it fails."""
    handler = handler_of(node)
    told = [*node.body, *node.orelse]
    return _set_to(True, told) & _set_to(False, [*before, *(handler.body if handler is not None else [])])


def _set_to(value: object, statements: list[ast.stmt]) -> set[str]:
    """The names that are set to a value, and to no other after that."""
    held: dict[str, bool] = {}
    for statement in statements:
        for name, given in _assigned(statement):
            held[name] = given is not None and constant(given) is value and given.__class__ is ast.Constant
    return {name for name, is_it in held.items() if is_it}


def _assigned(statement: ast.stmt) -> list[tuple[str, ast.expr | None]]:
    if isinstance(statement, ast.Assign):
        targets = [t.id for t in statement.targets if isinstance(t, ast.Name)]
        return [(name, statement.value) for name in targets]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [(statement.target.id, statement.value)]
    return []


def _is_none_else(name: str, node: ast.Try, before: Sequence[ast.stmt]) -> bool:
    """`flash = None` where the import fails."""
    handler = handler_of(node)
    return name in _set_to(None, [*before, *(handler.body if handler is not None else [])])


def _is_torchs_else(name: str, node: ast.Try, file: RuleFile) -> bool:
    """`CrossEntropyLoss = torch.nn.CrossEntropyLoss` where the import fails, or one that torch has, imported."""
    handler = handler_of(node)
    for statement in handler.body if handler is not None else ():
        if isinstance(statement, ast.ImportFrom) and f"{statement.module}.".startswith("torch."):
            if any((alias.asname or alias.name) == name for alias in statement.names):
                return True
    for binding in file.names.others.get(name, ()):
        above = binding[1]
        if handler is not None and above and isinstance(above[0], ast.Assign) and above[0] in handler.body:
            return f"{file.names.resolve(above[0].value, above) or ''}".startswith("torch.")
    return False


def _is_behind(use: Link, flags: set[str], file: RuleFile, depth: int) -> bool:
    """Whether a place runs only where a flag is true, and something else than a refusal runs where it is false. A function may
    be called at such places alone."""
    child = use[0]
    for up in ancestors(use):
        above = up[0]
        if above.__class__ in (ast.If, ast.IfExp) and child is above.test and asks(child, flags):
            return True  # the question itself
        if above.__class__ is ast.IfExp and child is above.body and asks(above.test, flags):
            return True
        if above.__class__ is ast.If and child is above.test and _asks_for_none(child, flags):
            return _goes_on(above.body)
        if above.__class__ is ast.BoolOp and above.op.__class__ is ast.And and _asked_before(child, above, flags):
            return True
        if above.__class__ is ast.If and place(above, child)[0] == "body" and asks(above.test, flags):
            return _goes_on(after(up))
        if above.__class__ in (*FUNCTIONS[:2], ast.If) and _turned_back(above, child, flags):
            return True
        if above.__class__ in FUNCTIONS[:2]:
            callers = [c for c in file.names.spelled(above.name) if c[0].__class__ is ast.Name and _is_read(c)]
            is_plain = up[1] is not None and up[1][0].__class__ is ast.Module and not above.decorator_list
            return (
                is_plain and bool(callers) and depth < _DEEPEST
                and not file.source.says(b"__all__")
                and all(_is_behind(caller, flags, file, depth + 1) for caller in callers)
            )  # fmt: skip
        child = above
    return False


def asks(test: Node, flags: Container[str]) -> bool:
    """Whether a condition is true only where one of the flags is."""
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        return any(asks(value, flags) for value in test.values)
    if test.__class__ is ast.Compare and test.ops[0].__class__ is ast.IsNot and len(test.ops) == 1:
        return getattr(test.left, "id", "") in flags and constant(test.comparators[0]) is None
    return getattr(test, "id", "") in flags


def _asks_for_none(test: Node, flags: set[str]) -> bool:
    """Whether a condition is true wherever one of the flags is not: `not has_flash or flash is None`."""
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.Or:
        return any(_asks_for_none(value, flags) for value in test.values)
    if test.__class__ is ast.Compare and test.ops[0].__class__ is ast.Is and len(test.ops) == 1:
        return getattr(test.left, "id", "") in flags and constant(test.comparators[0]) is None
    return test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not and asks(test.operand, flags)


def _asked_before(value: Node, conditions: ast.BoolOp, flags: set[str]) -> bool:
    """`has_flash and isinstance(x, flash)`, or the question itself."""
    reached = conditions.values[: conditions.values.index(value) + 1]
    return any(asks(condition, flags) for condition in reached)


def _turned_back(block: Node, child: Node, flags: set[str]) -> bool:
    """`if not has_flash: return False` stands above in the block."""
    field, index = place(block, child)
    above = getattr(block, field)[:index] if field in BODIES else ()
    return any(
        s.__class__ is ast.If and _asks_for_none(s.test, flags)
        and s.body[-1].__class__ is ast.Return and _goes_on(s.body)
        for s in above
    )  # fmt: skip


def _goes_on(statements: list[ast.stmt]) -> bool:
    return bool(statements) and not any(isinstance(statement, ast.Raise) for statement in statements)
