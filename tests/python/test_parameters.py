"""Which parameter of a function a call gives a value."""

from __future__ import annotations

import ast

import pytest

from porter.python.parameters import given_to, positional


def function(parameters: str) -> ast.FunctionDef:
    return ast.parse(f"def f({parameters}): pass").body[0]


def make(op, args, info, node):
    return ast.unparse(node)


@pytest.mark.parametrize(
    ("parameters", "args", "keywords", "given"),
    [
        ("a, b=2", ["1"], {}, {"a": "1", "b": "2"}),
        ("a, b=2", ["1"], {"b": "3"}, {"a": "1", "b": "3"}),
        ("a, *, b", [], {"a": "1", "b": "3"}, {"a": "1", "b": "3"}),
        ("a, /, b", ["1"], {"b": "3"}, {"a": "1", "b": "3"}),
        ("a, b", ["1"], {}, None),
        ("a, b=2", ["1"], {"c": "3"}, None),  # nothing is called so
        ("a, b=2", ["1"], {"a": "3"}, None),  # twice
        ("a, /, b=2", [], {"a": "3"}, None),  # by its position alone
    ],
)
def test_a_call_that_does_not_fit_gives_nothing(parameters, args, keywords, given):
    assert given_to(function(parameters), args, keywords, make) == given


@pytest.mark.parametrize(("at", "name"), [(0, "p"), (2, "a"), (3, None), (-1, "a"), (-3, "p"), (-4, None)])
def test_a_position_counts_from_either_end(at, name):
    assert getattr(positional(function("p, q, /, a, *, k").args, at), "arg", None) == name
