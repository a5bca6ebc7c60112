"""Finds the names of process groups that use gloo, and whether modules on devices go over the default one.

A group is held by an attribute, and by parameters with the same word. A function that makes a group counts as well:
`group = host_group()`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from porter.files.paths import is_test
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.walks import statements, walk
from porter.regex import rare

_MAKER = b"new_group("
_GLOO = rare(rb"\binit_process_group\([^()]*[\"']gloo[\"']|\bdefault[ \t]*=[ \t]*[\"']gloo[\"']")
_WRAPS = rare(rb"\bDistributedDataParallel\((?:[^()]|\([^()]*\)){1,200}\bdevice_ids[ \t]*=[ \t]*\[")
_PLACE = 2  # the position of `backend` in new_group


def gloo_groups(
    texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None], kept: Remember = anew
) -> tuple[str, ...]:
    """The names of those that gloo alone makes, without the underscores before them; `kept`: of single files."""

    def rows(data: bytes) -> tuple[tuple[str, bool], ...]:
        tree = parse(data)
        scopes = [] if tree is None else _scopes(tree)
        return tuple(row for scope in scopes for row in (*_named(scope), *_returned(scope)))

    made: dict[str, bool] = {}

    def take(data: bytes) -> None:
        for name, is_gloo in rows_of(data, "gloo", (), partial(rows, data), kept):
            made[name] = made.get(name, True) and is_gloo

    making = [data for data in texts.values() if _MAKER in data]
    for data in making:
        if b"gloo" in data:
            take(data)
    of_gloo = [name.encode() for name, is_gloo in made.items() if is_gloo]
    for data in making:  # a file without the word can only make a group of the same name otherwise
        if b"gloo" not in data and any(name in data for name in of_gloo):
            take(data)
    return tuple(sorted(name for name, is_gloo in made.items() if is_gloo))


def wraps_on_devices(texts: Mapping[str, bytes]) -> bool:
    """Whether a project whose default group may be of gloo wraps modules, one process a device: `device_ids=[rank]`."""
    if not any(b"gloo" in text and _GLOO.search(text) for text in texts.values()):
        return False
    return any(_WRAPS.search(text) for path, text in texts.items() if not is_test(path))


def _scopes(tree: ast.Module) -> Iterator[Node]:
    """Each function, and the statements at the top level."""
    yield from (node for node in statements(tree) if isinstance(node, FUNCTIONS[:2]))
    yield ast.Module([node for node in tree.body if not isinstance(node, (ast.ClassDef, *FUNCTIONS[:2]))], [])


def _named(scope: Node) -> Iterator[tuple[str, bool]]:
    """(name, whether it uses gloo) of each name that is set to a group, directly or by another name of the same function."""
    made: dict[str, bool] = {}  # the names of this scope
    for node in (node for node in walk(scope) if isinstance(node, ast.Assign)):
        is_gloo = (
            _is_of_gloo(node.value) if isinstance(node.value, ast.Call) else made.get(getattr(node.value, "id", ""))
        )
        if is_gloo is None:
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                made[target.id] = is_gloo
            if isinstance(target, ast.Attribute) or isinstance(scope, ast.Module):  # not local names
                yield _word(target), is_gloo


def _returned(scope: Node) -> Iterator[tuple[str, bool]]:
    """(name, whether all its groups use gloo) of a function that makes and returns a group. It may also return an existing one,
    such as `group.WORLD`."""
    if not isinstance(scope, FUNCTIONS[:2]):
        return
    values = [node.value for node in walk(scope) if isinstance(node, ast.Return) and isinstance(node.value, ast.Call)]
    made = [is_gloo for value in values if (is_gloo := _is_of_gloo(value)) is not None]
    if made:
        yield scope.name.lstrip("_"), all(made)


def _word(node: Node) -> str:
    """The last word of a name or an attribute."""
    name: str = getattr(node, "attr", "") or getattr(node, "id", "")
    return name.lstrip("_")


def _is_of_gloo(call: ast.Call) -> bool | None:
    """Whether a call makes a group that uses gloo; None where it makes no group."""
    if call_name(call.func) != "new_group":
        return None
    place = call.args[_PLACE] if len(call.args) > _PLACE else None
    backend: Node = next((k.value for k in call.keywords if k.arg == "backend"), place)
    return bool(constant(backend) == "gloo")
