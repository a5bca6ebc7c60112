"""Whether instances of a class of torch.autograd.Function are called, as they were before their methods became static."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.python.index import Node

_STATIC = frozenset({"staticmethod", "classmethod"})


def is_called(file: RuleFile, owner: ast.ClassDef) -> bool:
    """Whether instances of a Function are made: its `forward` is a method of theirs, and nothing says `.apply` of the class."""
    methods = {part.name: part for part in owner.body if isinstance(part, ast.FunctionDef)}
    forward = methods.get("forward")
    if forward is None or any(getattr(mark, "id", "") in _STATIC for mark in forward.decorator_list):
        return False
    uses = [link for link in file.names.spelled(owner.name) if link[1] is not None]
    if any(getattr(_above(link)[0], "attr", "") == "apply" for link in uses):
        return False
    made = [_above(link) for link in uses if getattr(_above(link)[0], "func", None) is link[0]]
    if made and all(_runs_alone(file, call) for call in made):
        return False  # torch only warns of the instance, and its forward is a method as any other
    return "__init__" in methods or bool(made)


def _runs_alone(file: RuleFile, call: Link) -> bool:
    """Whether nothing but `forward` is asked of an instance: `Dice().forward(x, y)`, `dice = Dice()` above `dice.forward(x, y)`."""
    above = _above(call)
    target = above[0].targets[0] if isinstance(above[0], ast.Assign) and len(above[0].targets) == 1 else None
    if not isinstance(target, ast.Name):
        return _is_forward(above, call[0])
    readers = file.names.readers(target.id, (target, above))
    return bool(readers) and all(_is_forward(_above(reader), reader[0]) for reader in readers)


def _is_forward(link: Link, of: Node) -> bool:
    """Whether a place is the call of `forward` of a node."""
    func = link[0]
    called = isinstance(func, ast.Attribute) and func.value is of and func.attr == "forward"
    return called and getattr(_above(link)[0], "func", None) is func


def _above(link: Link) -> Link:
    return link[1] or link
