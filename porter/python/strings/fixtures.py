"""Follows the values that tests are given, in their decorators and by fixtures of pytest: `@pytest.fixture(params=["cpu", "cuda"])` gives each to the tests that take its name."""

from __future__ import annotations

import ast
from typing import NamedTuple

from porter.python.evidence import call_name, like
from porter.python.index import FUNCTIONS, Link, Node
from porter.python.names import Names
from porter.python.strings.rows import Argument, name_of, read

FIXTURE, REQUEST, VALUES = "fixture", "request", "params"
_USES = 40  # of one argument that are looked at


class Role(NamedTuple):
    role: str  # see Literal.role in literals.py
    certain: bool  # False: an edit is for review only


class OfTests:
    """What values are for that tests are given."""

    names: Names

    def role(self, link: Link, kind: str, text: str, depth: int = 0) -> Role | None:
        raise NotImplementedError

    def _shown(self, uses: list[Link], kind: str, text: str, depth: int) -> Role | None:
        raise NotImplementedError

    def _fixture(self, call: Link, kind: str, text: str, depth: int) -> Role | None:
        fixture = fixture_of(call)
        if fixture is None:
            return None
        if like(name := name_of(call[0], fixture[0]), kind):
            return Role("argument", True)
        values = values_in(self.names, fixture)
        return self._shown([*values, *taken(self.names, name, values)], kind, text, depth)

    def _tested(self, given: Argument, kind: str, text: str) -> Role | None:
        """The role of a value in the decorator of a test, by what the test does with the argument that it is for."""
        if like(given.name, kind):
            return Role("argument", True)
        # what is only compared may be expected of another value
        roles = (self.role(use, kind, text, 3) for use in read(self.names, given)[:_USES])
        return next((Role("argument", r.certain) for r in roles if r and r.role != "compared"), None)


def fixture_of(call: Link) -> Link | None:
    """The function that a call of `pytest.fixture` decorates."""
    function = call[1]
    if function is None or function[0].__class__ not in FUNCTIONS[:2] or call_name(call[0].func) != FIXTURE:
        return None
    return function if call[0] in function[0].decorator_list else None


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
