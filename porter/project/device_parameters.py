"""Finds parameters of the project's own classes to which tensors are moved, whatever they are called: `rank`, if the class says
`self.rank = rank` and `x.to(self.rank)`. Only those count to which a file gives "cuda" by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial

from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import Parse
from porter.python.walks import walk
from porter.regex import lazy

_MOVES = lazy(rb"\.to\(self\.(?!(?:\w*_)?device\b)(\w+)[,)]")
_GIVEN = lazy(rb"\b(\w+)=[\"']cuda(?::\d+)?[\"']")


def device_parameters(texts: Mapping[str, bytes], parse: Parse, kept: Remember = anew) -> tuple[tuple[str, str], ...]:
    """(class, parameter), sorted."""
    given = {name.decode() for data in texts.values() if b"cuda" in data for name in _GIVEN.findall(data)}
    if not given:
        return ()
    moving = (data for data in texts.values() if b".to(self." in data and _MOVES.search(data))
    found = (row for data in moving for row in rows_of(data, "moved to", (), partial(_rows, data, parse), kept))
    return tuple(sorted({(owner, name) for owner, name in found if name in given}))


def _rows(data: bytes, parse: Parse) -> tuple[tuple[str, str], ...]:
    tree = parse(data)
    owners = [node for node in walk(tree) if isinstance(node, ast.ClassDef)] if tree is not None else []
    return tuple((owner.name, name) for owner in owners for name in _of_class(owner))


def _of_class(owner: ast.ClassDef) -> Iterator[str]:
    inits = [node for node in owner.body if isinstance(node, FUNCTIONS[:2]) and node.name == "__init__"]
    places = {node.args[0].attr for node in walk(owner) if _moves_to_own(node)} if inits else set()
    parameters = {a.arg for init in inits for a in (*init.args.args, *init.args.kwonlyargs)}
    for node in walk(inits[0]) if places else ():
        if isinstance(node, ast.Assign) and getattr(node.value, "id", "") in parameters:
            if any(_is_own(target) and getattr(target, "attr", "") in places for target in node.targets):
                yield getattr(node.value, "id", "")


def _moves_to_own(node: Node) -> bool:
    """`x.to(self.rank)`"""
    if node.__class__ is not ast.Call or getattr(node.func, "attr", "") != "to" or not node.args:
        return False
    return _is_own(node.args[0])


def _is_own(node: Node) -> bool:
    return node.__class__ is ast.Attribute and getattr(node.value, "id", "") == "self"
