"""What the project's process groups of gloo are called: an attribute, and the parameters that hold it go by the same word.
A function that makes one is called, too: `group = host_group()`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.walks import walk

_MAKER = b"new_group("
_PLACE = 2  # of `backend` among the arguments of new_group


def gloo_groups(
    texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None], kept: Remember = anew
) -> tuple[str, ...]:
    """The names of those that gloo alone makes, without the underscores before them; `kept`: of single files."""

    def rows(data: bytes) -> tuple[tuple[str, bool], ...]:
        tree = parse(data)
        scopes = [] if tree is None else _scopes(tree)
        return tuple(row for scope in scopes for row in (*_named(scope), *_returned(scope)))

    with_group = [data for data in texts.values() if _MAKER in data]
    if not any(b"gloo" in data for data in with_group):
        return ()
    made: dict[str, bool] = {}
    for data in with_group:
        for name, is_gloo in rows_of(data, "gloo", (), partial(rows, data), kept):
            made[name] = made.get(name, True) and is_gloo
    return tuple(sorted(name for name, is_gloo in made.items() if is_gloo))


def _scopes(tree: ast.Module) -> Iterator[Node]:
    """Each function, and what the module does itself."""
    yield from (node for node in walk(tree) if isinstance(node, FUNCTIONS[:2]))
    yield ast.Module([node for node in tree.body if not isinstance(node, (ast.ClassDef, *FUNCTIONS[:2]))], [])


def _named(scope: Node) -> Iterator[tuple[str, bool]]:
    """What is set to a group, at once or through a name of the same function, and whether gloo made it."""
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
            if isinstance(target, ast.Attribute) or isinstance(scope, ast.Module):  # a local name is nobody else's
                yield _word(target), is_gloo


def _returned(scope: Node) -> Iterator[tuple[str, bool]]:
    """A function that returns a group of gloo, made there, or else the one that is there already: `group.WORLD`."""
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
    if call_name(call.func) != "new_group":
        return None
    place = call.args[_PLACE] if len(call.args) > _PLACE else None
    backend: Node = next((k.value for k in call.keywords if k.arg == "backend"), place)
    return bool(constant(backend) == "gloo")
