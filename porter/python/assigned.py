"""Finds the values that a name is set to."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Names, RuleFile
from porter.python.blocks import once_for_file, place, within
from porter.python.index import Link, Node, ancestors


def values_of(names: Names, name: ast.Name, link: Link) -> list[ast.expr]:
    """All values that a name is set to, in the scope that binds it. [] where not only plain assignments bind it."""
    bindings = names.bindings(name.id, link)
    return names.once("values", bindings, lambda: _values(bindings))


def last_above(names: Names, name: str, link: Link, line: int) -> Link | None:
    """What binds a name last, down to a line."""
    above = [binding for binding in names.bindings(name, link) if getattr(binding[0], "lineno", line + 1) <= line]
    return max(above, key=lambda binding: int(binding[0].lineno), default=None)


def set_in_block(names: Names, name: ast.Name, link: Link) -> list[ast.expr]:
    """The value that a name is set to last, where a statement of the same block sets it further up, or one of a block around, so
    that it runs whenever the use does; [] where there is none."""
    last = last_above(names, name.id, link, name.lineno - 1)
    assign = last and last[1]
    if last is None or assign is None or assign[0].__class__ is not ast.Assign or assign[0].targets != [last[0]]:
        return []
    return [assign[0].value] if runs_before(assign, link) else []


def runs_before(statement: Link, link: Link) -> bool:
    """Whether a statement stands in the block of a place, or in one around, so that it runs whenever the place does."""
    child, block = link[0], statement[1] and statement[1][0]
    for up in ancestors(link):
        if up[0] is block:
            return place(block, child)[0] == place(block, statement[0])[0]
        child = up[0]
    return False


@once_for_file
def by_target(file: RuleFile) -> dict[str, list[Node]]:
    """What a file assigns, by what it is assigned to."""
    found: dict[str, list[Node]] = {}
    for assign, _ in file.buckets[ast.Assign]:
        found.setdefault(ast.unparse(assign.targets[0]), []).append(assign.value)
    return found


def _values(bindings: list[Link]) -> list[ast.expr]:
    values = []
    for binding in bindings:
        target, up = binding
        index = None
        if up and up[0].__class__ is ast.Tuple:  # kind, count = "gpu", 8
            index = next(n for n, element in enumerate(up[0].elts) if element is target)
            target, up = up
        above = up and up[0]
        if above.__class__ is not ast.Assign or not within(above, target, "targets"):
            return []
        value = above.value if index is None else _element(above.value, index, len(target.elts))
        if value is None:
            return []
        values.append(value)
    return values


def _element(value: ast.expr, index: int, count: int) -> ast.expr | None:
    """The value at a place of as many values as there are targets. None where a star stands there: `device, n = *where, 8`"""
    if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != count:
        return None
    return None if isinstance(value.elts[index], ast.Starred) else value.elts[index]


def is_set_again(names: Names, use: Link) -> bool:
    """Whether a name that an import binds is set to something else further up: `import model`, `model = torch.load(path)`.
    `lib = None`, and what is done where the import fails, do not count."""
    for node, above in names.bindings(use[0].id, use):
        if above is not None and above[0].__class__ is ast.Assign and node.lineno < use[0].lineno:
            nothing = above[0].value.__class__ is ast.Constant and above[0].value.value is None
            if not nothing and above[1][0].__class__ is not ast.ExceptHandler:
                return True
    return False
