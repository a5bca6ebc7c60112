"""Loops of Python over the rows of a tensor, which launch operators for each of them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, walk
from porter.python.waits import COPIES
from porter.regex import lazy
from porter.training.placement import DEVICE

if TYPE_CHECKING:
    from porter.training.scene import Scene

_KEEPS = lazy(r"(?i)(?:^|_)(?:rnn|lstm|gru|cell)(?:_|\d|$)")  # a state from one step to the next
_SELECTS = lazy(r"(?i)nms|proposal|hungarian|linear_sum_assignment")  # how many rows these give depends on the values


def rows(scene: Scene, link: Link) -> tuple[str, str] | None:
    """Of `for i in range(x.size(0))`, the key of a message and the tensor it takes apart; None where the rows depend on each
    other, or each has a module of its own."""
    loop = link[0]
    if loop.target.__class__ is not ast.Name or loop.iter.__class__ is not ast.Call or len(loop.iter.args) != 1:
        return None
    if call_name(loop.iter.func) != "range" or not scene.matters(link):
        return None
    variable = loop.target.id
    nodes = [n for s in loop.body for n in walk(s)]
    if any(n.__class__ in (ast.Break, ast.Return, ast.Yield, ast.Try, *FUNCTIONS) for n in nodes) or _carries(
        loop, nodes
    ):
        return None
    reads = [n for n in nodes if n.__class__ is ast.Subscript and n.ctx.__class__ is ast.Load and _picks(n, variable)]
    if not reads or not scene.natures.is_length(loop.iter.args[0], link):
        return None
    excluded = _records(nodes) | _taken_to_host(nodes)
    tensors = [n for n in reads if n not in excluded and scene.natures.of(n.value, link) == DEVICE]
    names = [n.value for n in tensors if n.value.__class__ is ast.Name]
    if any(_is_reversed(value) for name in names for value in values_of(scene.names, name, link)):
        return None
    others = [n for n in nodes if n.__class__ is ast.Subscript and n not in tensors and _picks(n, variable)]
    if not tensors or any(n.__class__ is ast.Call and n.func in others for n in nodes) or _offset(nodes, variable):
        return None
    listed = [n for n in others if n.ctx.__class__ is ast.Load]
    if _picked_by(nodes, listed) or _shaped_by(nodes, listed):
        return None
    if not any(_computes(n, scene, link) for n in nodes if n not in tensors):
        return None
    ragged = any(n.__class__ is ast.Slice and any(_picks(s, variable) for s in walk(n)) for n in nodes)
    read = [ast.unparse(n.value) for n in tensors]
    written = {ast.unparse(n.value) for n in nodes if n.__class__ is ast.Subscript and n.ctx.__class__ is ast.Store}
    return ("ragged" if ragged else "rows"), next((n for n in read if n not in written), read[0])


def _is_reversed(value: Node) -> bool:
    """`features[::-1]`, which lists alone take."""
    index: Node = value.slice if value.__class__ is ast.Subscript else None
    step: Node = index.step if index.__class__ is ast.Slice else None
    return step.__class__ is ast.UnaryOp and step.op.__class__ is ast.USub


def _picks(node: Node, variable: str) -> bool:
    """`x[i]`, `x[:, i]`"""
    if node.__class__ is not ast.Subscript:
        return False
    index = node.slice.elts if node.slice.__class__ is ast.Tuple else [node.slice]
    return any(getattr(e, "id", "") == variable for e in index)


def _picked_by(nodes: list[Node], listed: list[Node]) -> bool:
    """Whether a list has the places of each row, `x[i][places[i]]`, of which no two need have as many."""
    named = {
        n.targets[0].id for n in nodes if n.__class__ is ast.Assign and n.value in listed and _is_name(n.targets[0])
    }
    picked = (n.slice for n in nodes if n.__class__ is ast.Subscript and n.ctx.__class__ is ast.Load)
    return any(index in listed or getattr(index, "id", "") in named for index in picked)


def _shaped_by(nodes: list[Node], listed: list[Node]) -> bool:
    """Whether a list has the size of each row: `h, w = sizes[i]`, and then `x[i].view(h, w)`."""
    sizes: set[str] = set()
    for node in sorted((n for n in nodes if n.__class__ is ast.Assign), key=lambda n: n.lineno):
        if any(n in listed or getattr(n, "id", "") in sizes for n in walk(node.value)):
            sizes |= {n.id for target in node.targets for n in walk(target) if n.__class__ is ast.Name}
    shaped = (n for n in nodes if n.__class__ is ast.Call and call_name(n.func) in ("view", "reshape")) if sizes else ()
    return any(n.__class__ is ast.Name and n.id in sizes for call in shaped for arg in call.args for n in walk(arg))


def _is_name(node: Node) -> bool:
    return node.__class__ is ast.Name


def _offset(nodes: list[Node], variable: str) -> bool:
    """Whether the loop writes a tensor and says `x[i - 1]` or `x[i + 1]` of it, to read or to write."""
    written = {ast.dump(n.value) for n in nodes if n.__class__ is ast.Subscript and n.ctx.__class__ is ast.Store}
    for node in nodes:
        if node.__class__ is ast.Subscript and ast.dump(node.value) in written and not _picks(node, variable):
            if any(n.__class__ is ast.Name and n.id == variable for n in walk(node.slice)):
                return True
    return False


def _carries(loop: ast.For, nodes: list[Node]) -> bool:
    """Whether an iteration needs what the one before it made, other than a sum, or chooses for each row."""
    called = [n.func for n in nodes if n.__class__ is ast.Call]
    if any(_KEEPS.search(call_name(f)) or _SELECTS.search(call_name(f)) for f in called) or _shifts(nodes, called):
        return True
    sums = {n.target.id for n in nodes if n.__class__ is ast.AugAssign and n.target.__class__ is ast.Name}
    sums |= {n.targets[0].id for n in nodes if _adds(n)}
    loaded = Counter(n.id for n in nodes if n.__class__ is ast.Name and n.ctx.__class__ is ast.Load)
    added = Counter(n.targets[0].id for n in nodes if _adds(n))
    sums = {name for name in sums if loaded[name] <= added[name]}
    inner = [n.target for n in nodes if n.__class__ in (ast.For, ast.comprehension)]
    sums |= {n.id for target in inner for n in walk(target) if n.__class__ is ast.Name}  # set before they are read
    stored = {n.id for n in nodes if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store} - sums
    grown = {n.func.value.id for n in nodes if _grows(n)}
    if any(n.__class__ is ast.Subscript and getattr(n.value, "id", "") in grown for n in nodes):
        return True
    if any(n.__class__ is ast.AugAssign and getattr(n.target, "id", "") in stored for n in nodes):
        return True
    assigned: set[str] = set()
    for statement in _ordered(loop.body):
        for node in walk(statement):
            if (
                node.__class__ is ast.Name
                and node.ctx.__class__ is ast.Load
                and node.id in stored
                and node.id not in assigned
            ):
                return True
        assigned |= {n.id for n in walk(statement) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
    return False


def _ordered(body: Iterable[Node]) -> Iterator[Node]:
    """What runs one after the other, inside of loops as well; branches as a whole."""
    for statement in body:
        if statement.__class__ is ast.For:
            yield statement.iter
            yield from _ordered(statement.body)
        else:
            yield statement


def _shifts(nodes: list[Node], called: list[Node]) -> bool:
    """`self.sums.add_(row)` of a tensor that was there before the loop, and is read in it."""
    stored = {n.id for n in nodes if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
    changed = [f.value for f in called if f.__class__ is ast.Attribute and f.attr.endswith("_") and f.attr[:1] != "_"]
    plain = (ast.Name, ast.Attribute)
    kept = {ast.dump(v) for v in changed if v.__class__ in plain and getattr(v, "id", "") not in stored}
    return bool(kept) and sum(n.__class__ in plain and ast.dump(n) in kept for n in nodes) > len(
        [v for v in changed if ast.dump(v) in kept]
    )


def _records(nodes: list[Node]) -> set[Node]:
    """`x[i]` of `x[i]["key"]`: a list of records."""
    named = (n for n in nodes if n.__class__ is ast.Subscript and n.slice.__class__ is ast.Constant)
    return {n.value for n in named if isinstance(n.slice.value, str)}


def _taken_to_host(nodes: list[Node]) -> set[Node]:
    """`x[i]` of `x[i].cpu().numpy()`."""
    values = set()
    for node in nodes:
        if node.__class__ is ast.Attribute and node.attr in COPIES:
            while node.__class__ in (ast.Attribute, ast.Call):
                node = node.func if node.__class__ is ast.Call else node.value
            values.add(node)
    return values


def _grows(node: Node) -> bool:
    """`rows.append(x)`"""
    func: Node = getattr(node, "func", None)
    return func.__class__ is ast.Attribute and func.attr == "append" and func.value.__class__ is ast.Name


def _adds(node: Node) -> bool:
    """`total = total + x`"""
    if (
        node.__class__ is not ast.Assign
        or node.targets[0].__class__ is not ast.Name
        or node.value.__class__ is not ast.BinOp
    ):
        return False
    return node.value.op.__class__ is ast.Add and getattr(node.value.left, "id", "") == node.targets[0].id


def _computes(node: Node, scene: Scene, link: Link) -> bool:
    """An operator, and not only a view of a row."""
    if node.__class__ is ast.AugAssign or node.__class__ is ast.Assign and node.value.__class__ is ast.Subscript:
        target = node.targets[0] if node.__class__ is ast.Assign else node.target
        return target.__class__ is ast.Subscript and scene.natures.of(node.value, link) == DEVICE
    if node.__class__ is ast.BinOp:
        return scene.natures.of(node, link) == DEVICE
    if node.__class__ is ast.Call and call_name(node.func) not in (
        "append",
        "unsqueeze",
        "view",
        "item",
        "size",
        "detach",
        "squeeze",
    ):
        return scene.natures.of(node, link) == DEVICE
    return False
