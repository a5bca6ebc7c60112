"""Follows the values of a fixture of pytest: `@pytest.fixture(params=["cpu", "cuda"])` gives each to the tests that take its name."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node
from porter.python.names import Names

FIXTURE, REQUEST, VALUES = "fixture", "request", "params"


def fixture_of(call: Link) -> Link | None:
    """The function that a call of `pytest.fixture` decorates."""
    function = call[1]
    if function is None or function[0].__class__ not in FUNCTIONS[:2] or call_name(call[0].func) != FIXTURE:
        return None
    return function if call[0] in function[0].decorator_list else None


def name_of(call: ast.Call, function: Node) -> str:
    """What tests call a fixture."""
    given = next((constant(keyword.value) for keyword in call.keywords if keyword.arg == "name"), None)
    return given if isinstance(given, str) else str(function.name)


def values_in(names: Names, fixture: Link) -> list[Link]:
    """`request.param` in a fixture."""
    reads = [read for request in _arguments(names, REQUEST, fixture[0]) for read in names.readers(REQUEST, request)]
    return [read[1] for read in reads if getattr(read[1] and read[1][0], "attr", "") == "param"]


def taken(names: Names, name: str, values: list[Link]) -> list[Link]:
    """What the functions of a file do with an argument that a fixture gives them, where that is `request.param` as it is."""
    if not any(value[1] is not None and value[1][0].__class__ in (ast.Return, ast.Yield) for value in values):
        return []
    return [read for argument in _arguments(names, name) for read in names.readers(name, argument)]


def _arguments(names: Names, name: str, function: Node = None) -> list[Link]:
    """The arguments of a name, of one function or of all."""
    arguments = [binding for binding in names.others.get(name, ()) if binding[0].__class__ is ast.arg]
    return [one for one in arguments if function in (None, one[1] and one[1][1] and one[1][1][0])]
