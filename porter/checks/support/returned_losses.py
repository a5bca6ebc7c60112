"""A loss that a function of the file gives back among others: `loss, kl = loss_function(x)`, where the first that it returns is computed
of single values alone."""

from __future__ import annotations

import ast

from porter.checks.support.computed_singles import is_single
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.assigned import last_above
from porter.python.index import walk


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
    return all(found and is_single(found[0][0], found[0], file) for found in links)
