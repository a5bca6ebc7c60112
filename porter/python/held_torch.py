"""Finds attributes that hold the module torch and nothing else: in `self.torch.cuda.f()`, `self.torch` may be one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.index import FUNCTIONS, Link, Node, ancestors

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

_ITSELF = ("self", "cls")  # names of the object or class of a method


def held_name(file: RuleFile, link: Link) -> str | None:
    """The full name 'torch.cuda.f' for the link of `self.torch` in `self.torch.cuda.f`; None if the attribute may hold
    something else."""
    node = link[0]
    if getattr(node.value, "id", "") not in _ITSELF or (_class_of(link), node.attr) not in holders(file):
        return None
    words, above = ["torch"], link[1]
    while above[0].__class__ is ast.Attribute:
        words.append(above[0].attr)
        above = above[1]
    return ".".join(words)


@once_for_file
def named(file: RuleFile) -> frozenset[str]:
    """The attributes that the file sets to torch somewhere, whatever else they may hold."""
    return frozenset(link[0].attr for link, value in _set(file) if _is_torch(file, link, value))


@once_for_file
def holders(file: RuleFile) -> frozenset[tuple[Node, str]]:
    """(class, attribute) for attributes that the file sets to torch, perhaps also to None, and to nothing else."""
    torch: set[tuple[Node, str]] = set()
    others: set[str] = set()
    for link, value in _set(file):
        if _is_own(link) and _is_torch(file, link, value):
            torch.add((_class_of(link), link[0].attr))
        elif not (value.__class__ is ast.Constant and value.value is None):
            others.add(link[0].attr)
    return frozenset(row for row in torch if row[0] is not None and row[1] not in others and not _defines(*row))


def _set(file: RuleFile) -> Iterator[tuple[Link, Node]]:
    """The attributes that are set, with the values; None where something else than an assignment sets one. `self.torch: Any`
    alone sets nothing."""
    for link in file.buckets[ast.Attribute]:
        if link[0].ctx.__class__ is ast.Load:
            continue
        statement = link[1][0]
        if statement.__class__ is ast.AnnAssign and statement.value is None:
            continue
        yield link, statement.value if statement.__class__ in (ast.Assign, ast.AnnAssign) else None


def _is_torch(file: RuleFile, link: Link, value: Node) -> bool:
    return value is not None and file.names.resolve(value, link[1]) == "torch"


def _is_own(link: Link) -> bool:
    """Whether an attribute is one of `self` or `cls`."""
    return getattr(link[0].value, "id", "") in _ITSELF


def _defines(owner: Node, name: str) -> bool:
    """Whether the body of a class defines this name: a method, a property or a value."""
    return any(
        getattr(s, "name", "") == name or name in [getattr(t, "id", "") for t in _targets(s)] for s in owner.body
    )


def _targets(statement: Node) -> list[Node]:
    return getattr(statement, "targets", None) or [getattr(statement, "target", None)]


def _class_of(link: Link) -> Node | None:
    """The class of the method around a place."""
    around = ((a[0], a[1][0]) for a in ancestors(link) if a[0].__class__ in FUNCTIONS[:2] and a[1] is not None)
    return next((owner for _, owner in around if owner.__class__ is ast.ClassDef), None)
