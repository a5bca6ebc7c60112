"""Which argument of a test a value in its decorator is for, by the position in its row: `parametrize("device, n", [("cuda", 1)])` of
pytest, `@named_parameters(("GPU", "cuda"))` of absl, `@expand([("cuda", 1)])` of parameterized, `@data("cuda")` of ddt.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

from porter.python.blocks import once, place, within
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node, parents
from porter.python.names import Names
from porter.python.parameters import is_static, parameters, positional

PARAMETRIZE, SET = "parametrize", "param"  # functions of pytest; parameterized has `param` as well
_BY_KEY = "parameterized_class"  # its only argument may be the list of rows: dicts with the names as keys
_BY_NAME = (PARAMETRIZE, _BY_KEY)  # their first argument names those that the rows are for
_LISTS = ("expand", "parameterized")  # of parameterized: its first argument is the list of rows
_ROWS = ("parameters", "named_parameters")  # of absl: its arguments are the rows, or the only one is their list
_FIXTURE = "fixture"  # of pytest: it is the value of each argument that is called like it
_SINGLE, _UNPACKED, _PRODUCT = (
    "data",
    "unpack",
    "product",
)  # of ddt, which makes arguments of a row if it is told to; of absl
_CALLS = frozenset({*_BY_NAME, *_LISTS, *_ROWS, _SINGLE, _PRODUCT, _FIXTURE})
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)
_UNKNOWN = -1  # the position of what follows a star

_Path: TypeAlias = "tuple[int | str, ...]"


class Argument(NamedTuple):
    name: str
    owner: Link | None = None  # the test, or the class of tests; None where the decorator is kept under a name
    row: Node = None  # what the value stands in beside others of the same call of the test


def arguments(names: Names, link: Link) -> Iterator[Argument]:
    """What a value is for, directly or by a list with a name: `ROWS = [("GPU", "cuda")]` in front of `@named_parameters(*ROWS)`."""
    return _climb(names, link, (), None)


def read(names: Names, given: Argument) -> list[Link]:
    """Where the test reads its argument."""
    test: Node = given.owner and given.owner[0]
    return names.readers(given.name, (test, (test.args, given.owner))) if isinstance(test, FUNCTIONS) else []


def _climb(names: Names, link: Link, path: _Path, row: Node, named: bool = False) -> Iterator[Argument]:
    """`path`: where the value stands in the lists and dicts around it, the outermost first. `row`: the innermost of them.
    `named`: they have a name."""
    node, up = link
    while up is not None:
        above = up[0]
        kind = above.__class__
        if kind in (ast.Tuple, ast.List):
            index, row = place(above, node)[1], row or above
            index = _UNKNOWN if index > _starred(above) else index
            if node.__class__ is ast.Starred:  # *("cpu", "cuda"): their places count on from that of the star
                inner, path = path[0], path[1:]
                known = isinstance(inner, int) and _UNKNOWN not in (inner, index)
                index = index + int(inner) if known else _UNKNOWN
            path = (index, *path)
        elif kind in _COMPREHENSIONS and node is above.elt:
            path = (0, *path)
        elif kind is ast.Starred:
            if not path:
                return
            path = path if up[1][0].__class__ in (ast.Tuple, ast.List) else path[1:]
        elif kind is ast.Dict or kind is ast.keyword and call_name(getattr(up[1][0], "func", None)) == "dict":
            side, index = place(above, node) if kind is ast.Dict else ("values", 0)
            key = constant(above.keys[index]) if kind is ast.Dict and side == "values" else getattr(above, "arg", None)
            if not isinstance(key, str):
                return
            path, row = (key, *path), row or above
            up = up if kind is ast.Dict else up[1]
        elif kind is ast.Call and call_name(above.func) == SET and within(above, node, "args"):
            path, row = (place(above, node)[1], *path), row or above
        elif kind is ast.Call or kind is ast.keyword and up[1][0].__class__ is ast.Call:
            call = up if kind is ast.Call else up[1]
            if call_name(call[0].func) == _FIXTURE and getattr(above, "arg", "") == "params" and path:
                yield from _taken(names, call)
            elif found := _asked(call, node if kind is ast.Call else above, path, row):
                yield found
            return
        elif kind in (ast.Assign, ast.AnnAssign) and path and not named:
            target = above.targets[0] if kind is ast.Assign else above.target
            readers = names.readers(target.id, up) if target.__class__ is ast.Name else []
            for reader in names.once("for tests", readers, partial(_for_tests, readers)):
                yield from _climb(names, reader, path, row, named=True)
            return
        elif not (
            kind is ast.IfExp
            and node is not above.test
            or kind is ast.BinOp
            and path
            and node.__class__ is not ast.Tuple
        ):
            return
        node, up = up[0], up[1]


@once
def _starred(node: Node) -> int:
    """Where the first star of a list stands; its length where it has none."""
    return next((n for n, one in enumerate(node.elts) if one.__class__ is ast.Starred), len(node.elts))


def _for_tests(readers: list[Link]) -> list[Link]:
    """Those of the places that read a name which stand in a call that may give values to tests."""
    found = []
    for reader in readers:
        call: Node = next((node for node in parents(reader) if isinstance(node, (ast.Call, ast.stmt))), None)
        if isinstance(call, ast.Call) and call_name(call.func) in _CALLS:
            found.append(reader)
    return found


def _taken(names: Names, call: Link) -> Iterator[Argument]:
    """The arguments of tests, and of other fixtures, that are a fixture of this file. `call`: of `pytest.fixture`, above the function."""
    function: Node = call[1] and call[1][0]
    name = name_of(call[0], function) if function.__class__ in FUNCTIONS[:2] else ""
    several: list[Link | None] = [
        link for links in names.scopes.functions.values() for link in links if name in parameters(link[0])
    ]
    yield from (Argument(name, link) for link in several or [None] if name)


def name_of(call: ast.Call, function: Node) -> str:
    """What tests call a fixture."""
    given = next((constant(keyword.value) for keyword in call.keywords if keyword.arg == "name"), None)
    return given if isinstance(given, str) else str(function.name)


def _asked(link: Link, child: Node, path: _Path, row: Node) -> Argument | None:
    """What a value is for that stands at a path in an argument of a call."""
    call, up = link
    callee, index = call_name(call.func), place(call, child)[1]
    owner = (
        up
        if up is not None and getattr(up[0], "decorator_list", None) and within(up[0], call, "decorator_list")
        else None
    )
    if callee in _BY_NAME:
        if callee == PARAMETRIZE and owner and owner[0].__class__ is ast.ClassDef:
            owner = None  # for all tests of the class
        rows = index == 1 if child.__class__ is not ast.keyword else child.arg in ("argvalues", "input_values")
        if len(path) == 2 and isinstance(path[1], str):
            # a key of a dict; for `parametrize`, the dict is the argument, and no argument is called like the key
            return Argument(path[1], owner if callee == _BY_KEY else None, row) if rows or callee == _BY_KEY else None
        return _by_name(call, owner, path, row) if rows and call.args else None
    if owner is None or owner[0].__class__ is ast.ClassDef:
        return None
    if child.__class__ is ast.keyword:
        return Argument(child.arg, owner) if callee == _PRODUCT and child.arg and len(path) == 1 else None
    if (
        callee in _ROWS
        and len(call.args) == 1
        and child.__class__ not in (ast.Tuple, ast.Starred, ast.Dict, ast.Constant)
    ):
        path = path[1:] if call_name(getattr(child, "func", None)) != "dict" else path
    elif callee in _LISTS and index == 0 and path:
        path = path[1:]
    elif callee == _SINGLE and path and not any(call_name(mark) == _UNPACKED for mark in owner[0].decorator_list):
        return None
    elif callee not in (*_ROWS, _SINGLE):
        return None
    return _at(owner, path, row, named=callee == "named_parameters")


def _by_name(call: ast.Call, owner: Link | None, path: _Path, row: Node) -> Argument | None:
    names, last = argument_names(call.args[0]), path[1] if len(path) == 2 else 0
    single = len(path) == 1 and len(names) == 1
    if not isinstance(last, int) or not single and len(path) != 2 or not 0 <= last < len(names):
        return None
    return Argument(names[last], owner, None if single else row)


def _at(test: Link, path: _Path, row: Node, named: bool) -> Argument | None:
    """The argument at a path in a row. `named`: the first of a row is the name of the test."""
    if len(path) > 2 or named and not path:  # the last of two is its place in a list that is the argument
        return None
    index = path[0] if path else 0
    if isinstance(index, str):
        return Argument(index, test, row)
    function, index = test[0], index - named
    if index < 0:
        return None
    method = test[1] is not None and test[1][0].__class__ is ast.ClassDef and not is_static(function)
    parameter = positional(function.args, index + method)
    return Argument(parameter.arg, test, row if path else None) if parameter else None


def argument_names(node: Node) -> list[str]:
    """The names in the first argument of `parametrize`: `"device, size"`, `["device", "size"]`."""
    text = constant(node)
    if isinstance(text, str):
        return [name.strip() for name in text.split(",") if name.strip()]
    texts = [constant(e) for e in getattr(node, "elts", ())]
    return [str(text) for text in texts]


def named_by_list(up: Link) -> str | None:
    """The name of the list that a `pytest.param("cuda")` stands in, without `_list`; None where it has none."""
    outer = up[1]
    if outer is None or outer[1] is None or outer[0].__class__ not in (ast.List, ast.Tuple):
        return None
    above = outer[1][0]
    given = above.__class__ is ast.Assign and len(above.targets) == 1
    return getattr(above.targets[0], "id", "").removesuffix("_list") or None if given else None
