import ast

import pytest

from porter.python.signs import sign


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("a + b", "+"),
        ("a @ b", "@"),
        ("~a", "~"),
        ("not a", "not"),
        ("a <= b < c", "<="),
        ("a not in b", "not in"),
        ("f(a)", ""),
    ],
)
def test_how_an_operator_is_written(source, written):
    assert sign(ast.parse(source, mode="eval").body) == written


def test_every_operator_of_python_has_a_sign():
    kinds = [k for base in (ast.operator, ast.unaryop, ast.cmpop) for k in base.__subclasses__()]
    sources = [ast.BinOp(op=k()) if issubclass(k, ast.operator) else ast.UnaryOp(op=k()) for k in kinds]
    assert all(map(sign, sources))
