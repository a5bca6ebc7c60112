"""A loss that a function of the file gives back among others: `loss, kl = loss_function(x)`, where the first that it returns is computed
of single values alone."""

from __future__ import annotations

import ast

from porter.checks.support.single_values import LOSS, REDUCED, SIZES, is_reduced
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python import parameters
from porter.python.assigned import last_above
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, parents, walk

_OF_ALL = frozenset({"torch.sum", "torch.mean"})
_DEEP = 8


def is_returned_loss(name: Link, file: RuleFile) -> bool:
    nearest = last_above(file.names, name[0].id, name, name[0].lineno)
    row: Link | None = nearest[1] if nearest is not None else None
    given: Node = row[1][0] if row is not None and row[0].__class__ is ast.Tuple and row[1] is not None else None
    if nearest is None or row is None or given.__class__ is not ast.Assign or given.value.__class__ is not ast.Call:
        return False
    called = given.value.func
    functions = [link[0] for link in file.buckets[ast.FunctionDef] if link[0].name == getattr(called, "id", None)]
    if len(functions) != 1:
        return False
    answers = [node.value for node in walk(functions[0]) if node.__class__ is ast.Return]
    index, count = row[0].elts.index(nearest[0]), len(row[0].elts)
    if not answers or any(a.__class__ is not ast.Tuple or len(a.elts) != count for a in answers):
        return False
    chosen = [getattr(answer.elts[index], "id", "") for answer in answers]
    links = [[link for link in file.names.spelled(name) if link[1][0] in answers] for name in chosen]
    return all(found and _is_single(found[0][0], found[0], file, 0) for found in links)


def _is_single(node: Node, link: Link, file: RuleFile, depth: int) -> bool:
    if depth > _DEEP:  # a name that is set to itself
        return False
    if node.__class__ is ast.BinOp and node.op.__class__ in (ast.Add, ast.Sub, ast.Mult, ast.Div):
        sides = [(_is_single(side, link, file, depth + 1), side) for side in (node.left, node.right)]
        return any(single for single, _ in sides) and all(single or _is_number(s, link, file) for single, s in sides)
    if node.__class__ is ast.Call:
        full, name = file.names.resolve(node.func, link), call_name(node.func)
        if full in _OF_ALL:
            return len(node.args) == 1 and not node.keywords
        return is_reduced(node) and (full in REDUCED or full is None and bool(LOSS.search(name)))
    if node.__class__ is not ast.Name:
        return False
    bound = file.names.bindings(node.id, link)
    return bool(bound) and all(_is_bound_to_one(binding, link, file, depth + 1) for binding in bound)


def _is_bound_to_one(binding: Link, link: Link, file: RuleFile, depth: int) -> bool:
    above: Node = binding[1] and binding[1][0]
    if above.__class__ is ast.AugAssign:
        return _is_number(above.value, link, file) or _is_single(above.value, link, file, depth)
    return above.__class__ is ast.Assign and binding[0] in above.targets and _is_single(above.value, link, file, depth)


def _is_number(node: Node, link: Link, file: RuleFile) -> bool:
    """`2`, `float(n)`, `x.size(0)`, and a parameter that is a number by default."""
    if node.__class__ is ast.Name:
        function = next((above for above in parents(link) if above.__class__ in FUNCTIONS[:2]), None)
        node = parameters.defaults(function).get(node.id) if function is not None else None
    if node.__class__ is ast.Call:
        return call_name(node.func) in SIZES
    return type(constant(node)) in (int, float)
