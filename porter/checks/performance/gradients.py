"""Norms of gradients that a loop over the parameters takes one at a time."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING

from porter.python.evidence import call_name
from porter.python.index import COMPREHENSIONS, FUNCTIONS, Link, Node, ancestors, parents, walk
from porter.python.waits import READS

if TYPE_CHECKING:
    from porter.engine.rule_file import Names

_NORMS = frozenset({"norm", "vector_norm", "sum", "max"})
_SCALES = frozenset({"mul_", "div_"})
_ROOTS = frozenset({"norm", "vector_norm", "sqrt", "pow", "square"})
_SUMS = frozenset({"sum", "stack", "max", "min", "mean", "cat", "hstack", "sqrt"})


def of_total(link: Link) -> str:
    """Of the link of what is called, `p.grad.norm` or `torch.norm`: "waits", "launches", or "" for what makes no total."""
    call = link[1][0]
    if call.__class__ is not ast.Call or call.func is not link[0]:
        return ""
    loop = next((a for a in ancestors(link) if a[0].__class__ in (ast.For, *COMPREHENSIONS, *FUNCTIONS)), None)
    if loop is None or loop[0].__class__ in FUNCTIONS:
        return ""
    if call_name(call.func) in ("sum", "max") and not _is_measured(call):
        return ""
    taken = {n.id for head in _heads(loop[0]) for n in walk(head.target) if n.__class__ is ast.Name}
    if not any(_is_gradient(n, taken, loop[0]) for n in walk(call)) or _is_distance(call, taken):
        return ""
    if loop[0].__class__ is ast.For:
        why = _added_up(call, link, loop[0], taken)
        return "" if why == "launches" and call_name(call.func) == "max" else why
    if _is_listed(link, loop[0]):
        return ""
    if any(n.__class__ is ast.Call and call_name(n.func) in READS for n in walk(loop[0])):
        return "waits"
    if call_name(call.func) == "max":
        return ""  # the rare limit of the largest
    above = loop[1] and loop[1][0]
    return "launches" if above.__class__ is ast.Call and call_name(above.func) in _SUMS else ""


def changes_gradients(link: Link) -> bool:
    """Whether the function around scales gradients, `p.grad.mul_(scale)`, and does not only measure them."""
    function = next((a[0] for a in ancestors(link) if a[0].__class__ in FUNCTIONS), None)
    for node in walk(function) if function is not None else ():
        by = node.target if node.__class__ is ast.AugAssign and node.op.__class__ in (ast.Mult, ast.Div) else None
        if node.__class__ is ast.Call and call_name(node.func) in _SCALES:
            by = node.func
        if by is not None and any(n.__class__ is ast.Attribute and n.attr == "grad" for n in walk(by)):
            return True
    return False


def makes_norm(link: Link) -> bool:
    """Whether what is made of the norms is the norm of all: their squares are added up, or a norm or root of them is taken. Their
    plain sum, their largest or a list of them is another number."""
    call = link[1][0] if link[1] else None
    if call is None or _is_measured(call) or _is_first(call):
        return True
    above = (a[0] for a in ancestors(link))
    scope = next((node for node in above if node.__class__ in (*FUNCTIONS, ast.Module)), None)
    nodes, names = [*walk(scope)] if scope is not None else [], set[str]()
    for _ in range(2):  # the norm, and the list or the sum that it goes into
        for node in nodes:
            if node.__class__ in (ast.Assign, ast.AugAssign) and _reads(node.value, call, names):
                targets = getattr(node, "targets", None) or [node.target]
                names |= {t.id for t in targets if t.__class__ is ast.Name}
            elif node.__class__ is ast.Call and call_name(node.func) == "append" and _reads(node, call, names):
                names |= {n.id for n in walk(node.func) if n.__class__ is ast.Name}
    for node in nodes:
        if node.__class__ is ast.BinOp and node.op.__class__ is ast.Pow:
            taken = [node.left]
        elif node.__class__ is ast.Call and node is not call and call_name(node.func) in _ROOTS:
            taken = [*node.args, *([node.func.value] if node.func.__class__ is ast.Attribute else [])]
        else:
            continue
        if any(_reads(each, call, names) for each in taken):
            return True
    return False


def is_read_of_norm(names: Names, link: Link) -> bool:
    """Whether `norm.item()` reads the norm of one parameter on its way to the total, so that PRT623 tells of the wait. `link`: of the
    function that is called."""
    value: Node = link[0].value
    calls = [(value, link)] if value.__class__ is ast.Call else []
    for _, above in names.bindings(value.id, link) if value.__class__ is ast.Name else ():
        if above is not None and above[0].__class__ is ast.Assign and above[0].value.__class__ is ast.Call:
            calls.append((above[0].value, above))
    named = (call for call in calls if call_name(call[0].func) in _NORMS)
    return any(of_total((call[0].func, call)) == "waits" for call in named)


def _is_listed(link: Link, loop: Node) -> bool:
    """`[(name, p.grad.norm().item(), p.shape) for ...]`: a row for each parameter, which the norm of all cannot replace."""
    between = takewhile(lambda above: above is not loop, parents(link))
    return any(isinstance(above, (ast.List, ast.Tuple, ast.Dict, ast.JoinedStr)) for above in between)


def _is_measured(call: Node) -> bool:
    """`(g ** 2).sum()`, `g.abs().max()`: a norm by another name."""
    value = call.func.value if call.func.__class__ is ast.Attribute else call
    for node in walk(value):
        if node.__class__ is ast.BinOp and node.op.__class__ is ast.Pow:
            return True
        if node.__class__ is ast.Call and call_name(node.func) in ("pow", "square", "abs"):
            return True
    return False


def _is_first(call: Node) -> bool:
    """`p.grad.norm(1)`: the first norm of all is the sum of theirs."""
    numbers = (n.value for n in walk(call) if n.__class__ is ast.Constant and not isinstance(n.value, bool))
    return any(number == 1 for number in numbers)


def _is_distance(call: Node, taken: set[str]) -> bool:
    """`((gx - gy) ** 2).sum()` of two that the loop takes: how far two sets of gradients lie apart, which is a loss."""
    differences = (n for n in walk(call) if n.__class__ is ast.BinOp and n.op.__class__ is ast.Sub)
    return any(
        all(any(getattr(n, "id", "") in taken for n in walk(side)) for side in (node.left, node.right))
        for node in differences
    )


def _heads(loop: Node) -> list[Node]:
    return [loop] if loop.__class__ is ast.For else loop.generators


def _is_gradient(node: Node, taken: set[str], loop: Node) -> bool:
    """`p.grad` of a p that the loop takes, or one of a list of gradients."""
    if node.__class__ is ast.Attribute and node.attr == "grad":
        return node.value.__class__ is ast.Name and node.value.id in taken
    if node.__class__ is not ast.Name or node.id not in taken:
        return False
    return any("grad" in ast.unparse(head.iter).lower() for head in _heads(loop))


def _added_up(call: ast.Call, link: Link, loop: ast.For, taken: set[str]) -> str:
    """Whether what the body makes of the norm goes into one number: `total += norm ** 2`, `norms.append(norm)`."""
    names: set[str] = set()
    statement: Node = next((a[0] for a in ancestors(link) if isinstance(a[0], ast.stmt)), None)
    if statement.__class__ is ast.Assign:
        names = {n.id for t in statement.targets for n in walk(t) if n.__class__ is ast.Name}
    if _scales_its_own(call, names, loop, taken) or _is_recorded(call, names, loop, taken):
        return ""
    sums = reads = False
    for node in walk(loop):
        if node is loop or not _reads(node, call, names):
            continue
        if node.__class__ is ast.AugAssign:
            sums |= node.target.__class__ is ast.Name
        elif node.__class__ is ast.Assign and _repeats(node):
            sums = True
        elif node.__class__ is ast.Call and call_name(node.func) in ("append", "add_"):
            sums |= taken.isdisjoint(n.id for n in walk(node.func) if n.__class__ is ast.Name)
        if node.__class__ is ast.Call and call_name(node.func) in READS:
            reads = True
    return ("waits" if reads else "launches") if sums else ""


def _is_recorded(call: ast.Call, names: set[str], loop: ast.For, taken: set[str]) -> bool:
    """Whether the norm of each parameter goes somewhere by its name: `writer.add_scalar(name, norm, step)`, `norms[name] = norm`."""
    for node in walk(loop):
        if node.__class__ is ast.Assign and _reads(node.value, call, names):
            keys = [t.slice for t in node.targets if t.__class__ is ast.Subscript]
        elif node.__class__ is ast.Call and len(node.args) > 1 and any(_reads(a, call, names) for a in node.args[1:]):
            keys = node.args[:1]
        else:
            continue
        if any(n.__class__ is ast.Name and n.id in taken for key in keys for n in walk(key)):
            return True
    return False


def _repeats(node: Node) -> bool:
    """`total = total + ...`, `largest = max(largest, ...)`."""
    targets = {t.id for t in node.targets if t.__class__ is ast.Name}
    return any(n.__class__ is ast.Name and n.id in targets for n in walk(node.value))


def _scales_its_own(call: ast.Call, names: set[str], loop: ast.For, taken: set[str]) -> bool:
    """Whether each gradient is scaled by its own norm: `scale = most / norm`, `p.grad.mul_(scale)`. One norm of all is another
    training."""
    known = set(names)
    for node in walk(loop):
        if node.__class__ is ast.Assign and _reads(node.value, call, known):
            known |= {t.id for t in node.targets if t.__class__ is ast.Name}
    for node in walk(loop):
        if node.__class__ is ast.Call and call_name(node.func).endswith("_"):
            changed, by = [node.func], list(node.args)
        elif node.__class__ in (ast.Assign, ast.AugAssign):
            targets = getattr(node, "targets", None) or [node.target]
            changed, by = [t for t in targets if t.__class__ is not ast.Name], [node.value]
        else:
            continue
        of_taken = any(n.__class__ is ast.Name and n.id in taken for target in changed for n in walk(target))
        if of_taken and any(_reads(value, call, known) for value in by):
            return True
    return False


def _reads(node: Node, call: ast.Call, names: set[str]) -> bool:
    return any(n is call or n.__class__ is ast.Name and n.id in names for n in walk(node))
