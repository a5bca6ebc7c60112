"""Finds parameters of the project's own classes to which tensors are moved, whatever they are called: `rank`, if the class says
`self.rank = rank` and `x.to(self.rank)`. Only those count to which a file gives "cuda" by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import Parse
from porter.python.walks import statements, walk
from porter.regex import lazy

_MOVES = lazy(rb"\.to\(self\.(?!(?:\w*_)?device\b)(\w+)[,)]")
_GIVEN = rb"\b%s=[\"']cuda(?::\d+)?[\"']"


def device_parameters(texts: Mapping[str, bytes], parse: Parse, kept: Remember = anew) -> tuple[tuple[str, str], ...]:
    """(class, parameter), sorted."""
    moving = (data for data in texts.values() if b".to(self." in data and _MOVES.search(data))
    found = {row for data in moving for row in rows_of(data, "moved to", (), partial(_rows, data, parse), kept)}
    given = {name for name in {name for _, name in found} if _is_given(name.encode(), texts.values())}
    return tuple(sorted((owner, name) for owner, name in found if name in given))


def _is_given(name: bytes, texts: Iterable[bytes]) -> bool:
    pattern = re.compile(_GIVEN % name)
    return any(name + b"=" in data and pattern.search(data) for data in texts)


def _rows(data: bytes, parse: Parse) -> tuple[tuple[str, str], ...]:
    tree = parse(data)
    owners = [node for node in statements(tree) if isinstance(node, ast.ClassDef)] if tree is not None else []
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
