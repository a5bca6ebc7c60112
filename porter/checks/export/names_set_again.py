"""Which uses of a name are of what `torch.load` gave it, and not of what it was set to before or later."""

from __future__ import annotations

import ast

from porter.checks.export.loaded_objects import is_other_branch
from porter.python.blocks import place
from porter.python.index import Link, Node, ancestors

_FUNCTIONS, _LOOPS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda), (ast.For, ast.AsyncFor, ast.While)


def is_of_another(use: Link, value: Link) -> bool:
    """Whether a use, in the same function and in no loop with the load, is of what had the name before, or gets it later."""
    if is_other_branch(value, use):
        return True
    around_use, around_value = ([up[0] for up in ancestors(link)] for link in (use, value))
    functions = [next((n for n in nodes if n.__class__ in _FUNCTIONS), None) for nodes in (around_use, around_value)]
    if functions[0] is not functions[1]:
        return False
    if loop := next((node for node in around_use if node.__class__ in _LOOPS and node in around_value), None):
        return bool(use[0].lineno < value[0].lineno) and _is_set_since(use, loop, _targets(value))
    return bool(use[0].lineno < value[0].lineno) or use not in until_set_again(value, [use])


def until_set_again(value: Link, uses: list[Link]) -> list[Link]:
    """The uses of a name that come after this assignment, and not after another one to it that stands above them."""
    first, targets = value[1] and value[1][0], _targets(value)
    if not targets:
        return uses
    return [use for use in uses if use[0].lineno > first.end_lineno and not _is_set_since(use, first, targets)]


def _targets(value: Link) -> list[str]:
    above = value[1] and value[1][0]
    return [ast.unparse(target) for target in above.targets] if above.__class__ is ast.Assign else []


def _is_set_since(use: Link, first: Node, targets: list[str]) -> bool:
    """Whether a statement that comes before a use, and after a first one, or in that, sets the targets."""
    child = use[0]
    for above in ancestors(use):
        field, index = place(above[0], child)
        before: list[Node] = _without_with(getattr(above[0], field)[:index]) if field else []
        if any(s.lineno > first.lineno and _sets(s, targets) for s in before):
            return True
        child = above[0]
    return False


def _sets(statement: Node, targets: list[str]) -> bool:
    """Whether a statement sets the targets; an `if` does where both sides do."""
    if statement.__class__ is ast.If:
        return all(any(_sets(one, targets) for one in side) for side in (statement.body, statement.orelse))
    return statement.__class__ is ast.Assign and [ast.unparse(target) for target in statement.targets] == targets


def _without_with(statements: list[Node]) -> list[Node]:
    """Statements, and in the place of each `with` what it holds."""
    held = [_without_with(one.body) if one.__class__ is ast.With else [one] for one in statements]
    return [statement for several in held for statement in several]
