"""Says whether a tensor is a single value, by what it is computed of."""

from __future__ import annotations

import ast

from porter.checks.support.single_values import LOSS, REDUCED, SIZES, is_reduced
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python import parameters
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, parents

_OF_ALL = frozenset({"torch.sum", "torch.mean"})
_OF_EACH = frozenset({"torch.abs", "torch.exp", "torch.log", "torch.sqrt"})
_DEEP = 8


def is_single(node: Node, link: Link, file: RuleFile, depth: int = 0) -> bool:
    """Whether a value is one, as it is computed: of single values, of numbers, and of sums and means of all."""
    if depth > _DEEP:  # a name that is set to itself
        return False
    if node.__class__ is ast.BinOp and node.op.__class__ in (ast.Add, ast.Sub, ast.Mult, ast.Div):
        sides = [(is_single(side, link, file, depth + 1), side) for side in (node.left, node.right)]
        return any(single for single, _ in sides) and all(single or _is_number(s, link, file) for single, s in sides)
    if node.__class__ is ast.Call:
        full, name = file.names.resolve(node.func, link), call_name(node.func)
        if full in _OF_ALL:
            return len(node.args) == 1 and not node.keywords
        if full in _OF_EACH:
            return len(node.args) == 1 and is_single(node.args[0], link, file, depth + 1)
        return is_reduced(node) and (full in REDUCED or full is None and bool(LOSS.search(name)))
    if node.__class__ is not ast.Name:
        return False
    bound = file.names.bindings(node.id, link)
    return bool(bound) and all(_is_bound_to_one(binding, link, file, depth + 1) for binding in bound)


def _is_bound_to_one(binding: Link, link: Link, file: RuleFile, depth: int) -> bool:
    above: Node = binding[1] and binding[1][0]
    if above.__class__ is ast.AugAssign:
        return _is_number(above.value, link, file) or is_single(above.value, link, file, depth)
    return above.__class__ is ast.Assign and binding[0] in above.targets and is_single(above.value, link, file, depth)


def _is_number(node: Node, link: Link, file: RuleFile) -> bool:
    """`2`, `float(n)`, `x.size(0)`, and a parameter that is a number by default."""
    if node.__class__ is ast.Name:
        function = next((above for above in parents(link) if above.__class__ in FUNCTIONS[:2]), None)
        node = parameters.defaults(function).get(node.id) if function is not None else None
    if node.__class__ is ast.Call:
        return call_name(node.func) in SIZES
    return type(constant(node)) in (int, float)
