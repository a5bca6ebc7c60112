"""Numbers of a training loop that speak of one rank's batch: losses become means over all ranks, counts become sums."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.distribute.find import Loop
from porter.distribute.own_files import HELPER
from porter.distribute.statements import called
from porter.distribute.trace import Place, World
from porter.finding import Change
from porter.instrument.backward import Backward
from porter.python.index import Node, ancestors, walk
from porter.regex import lazy

_SUMS = lazy(r"\.sum\(|\.size\(|\blen\(|\.shape\[|\.numel\(")


def edits(world: World, loop: Loop, losses: list[tuple[Place, Backward]]) -> Iterator[Change]:
    """Of one loop over batches. All ranks come to the same collectives: what stands below a test that a batch decides stays."""
    names = {ast.unparse(b.loss) for p, b in losses if b.loss is not None and p.file is loop.file and _in(p, loop)}
    batch = _of_batch(loop)
    names |= {name for name in batch if "loss" in name.lower()}
    for node in walk(loop.node):  # loss = loss_a + loss_b
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.targets[0], ast.Name):
            used = {n.id for n in walk(node.value) if isinstance(n, ast.Name)}
            names |= {node.targets[0].id} if used and used <= names else set()
    covered: set[int] = set()
    for node in walk(loop.node):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and _is_sum(node.value, batch):
            place = world.place(loop.file, node)
            if _all_come(place, loop, batch):
                covered.update(id(inner) for inner in walk(node.value))
                yield from called(loop.file.source, node.value, f"{HELPER}.total")
    for node in walk(loop.node):
        if id(node) in covered or not _reads(node, names):
            continue
        if _all_come(world.place(loop.file, node), loop, batch):
            covered.update(id(inner) for inner in walk(node))
            yield from called(loop.file.source, node, f"{HELPER}.mean")


def _in(place: Place, loop: Loop) -> bool:
    return any(up[0] is loop.node for up in ancestors(place.link))


def _of_batch(loop: Loop) -> set[str]:
    """The names in a loop that depend on its batch, and so on the rank."""
    bound = [
        n
        for statement in loop.node.body
        for n in walk(statement)
        if isinstance(n, (ast.Assign, ast.AugAssign, ast.For))
    ]
    targets = [t for n in bound if isinstance(n, ast.Assign) and _holds(n.value, loop.read) for t in n.targets]
    if isinstance(loop.node, ast.For) and loop.read is loop.node.iter:
        targets = loop.node.target.elts if isinstance(loop.node.target, ast.Tuple) else [loop.node.target]
        targets = targets[1:] if len(targets) > 1 else targets  # the first of several counts
    found = {n.id for target in targets for n in walk(target) if isinstance(n, ast.Name)}
    before = -1
    while len(found) != before:
        before = len(found)
        for node in bound:
            value = node.iter if isinstance(node, ast.For) else node.value
            if any(isinstance(n, ast.Name) and n.id in found for n in walk(value)):
                into = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {
                    n.id for t in into for n in walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }
    return found


def _holds(whole: Node, part: Node) -> bool:
    return any(node is part for node in walk(whole))


def _is_sum(value: Node, batch: set[str]) -> bool:
    text = ast.unparse(value)
    return bool(_SUMS.search(text)) and any(isinstance(n, ast.Name) and n.id in batch for n in walk(value))


def _reads(node: Node, names: set[str]) -> bool:
    """`loss.item()`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"):
        return False
    inner = node.func.value
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and not inner.args:
        inner = inner.func.value  # loss.detach().item()
    while isinstance(inner, ast.Attribute) and inner.attr == "data":
        inner = inner.value
    return ast.unparse(inner) in names


def _all_come(place: Place, loop: Loop, batch: set[str]) -> bool:
    child = place.node
    for up in ancestors(place.link):
        node = up[0]
        if node is loop.node:
            return True
        if isinstance(node, (ast.If, ast.While, ast.IfExp)) and child is not node.test:
            if any(isinstance(n, ast.Name) and n.id in batch for n in walk(node.test)):
                return False
        if isinstance(node, (ast.Try, ast.Lambda, ast.FunctionDef, ast.For)):
            return False
        child = node
    return False
