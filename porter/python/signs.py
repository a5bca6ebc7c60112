"""Gives the sign of an operator."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Node

_SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Invert: "~", ast.USub: "-", ast.UAdd: "+", ast.Not: "not", ast.Is: "is", ast.IsNot: "is not", ast.In: "in",
    ast.NotIn: "not in", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def sign(node: Node) -> str:
    """The sign of the operator of a node, of a comparison the first; "" for a node without an operator."""
    operator = node.ops[0] if node.__class__ is ast.Compare else getattr(node, "op", None)
    return _SIGNS.get(operator.__class__, "")
