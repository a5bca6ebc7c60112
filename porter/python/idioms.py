"""Computations that a fused operator exists for, recognised by how a function spells them. Links come from `Scene.link`."""

from __future__ import annotations

import ast
import re

from .evidence import call_name, constant
from .index import FUNCTIONS, Link, ancestors

_PRODUCTS = frozenset({"matmul", "bmm", "einsum", "baddbmm"})
_CUTS = frozenset({"chunk", "split", "tensor_split"})


def _function(link: Link) -> ast.AST | None:
    return next((a[0] for a in ancestors(link) if a[0].__class__ in FUNCTIONS), None)


def _is_square(node: ast.AST) -> bool:
    """`x.pow(2)`, `x ** 2`, `x * x`, `x.square()`."""
    if node.__class__ is ast.Call:
        last, two = call_name(node.func), [constant(a) for a in node.args]
        return last == "square" or last == "pow" and 2 in two
    if node.__class__ is ast.BinOp and node.op.__class__ is ast.Pow:
        return constant(node.right) == 2
    return node.__class__ is ast.BinOp and node.op.__class__ is ast.Mult and ast.dump(node.left) == ast.dump(node.right)


def is_rms_norm(link: Link) -> bool:
    """`x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)` in one function, and no mean that is taken off."""
    function = _function(link)
    if function is None or function.__class__ is ast.Lambda:
        return False
    means = [n for n in ast.walk(function) if n.__class__ is ast.Call and call_name(n.func) == "mean"]
    if len(means) != 1:
        return False
    mean = means[0]
    over = (
        mean.func.value
        if mean.func.__class__ is ast.Attribute and not _is_module(mean.func.value)
        else mean.args[0]
        if mean.args
        else mean
    )
    last = any(ast.unparse(a) == "-1" for a in [*mean.args, *(k.value for k in mean.keywords if k.arg == "dim")])
    return last and _is_square(over)


def _is_module(node: ast.expr) -> bool:
    return node.__class__ is ast.Name and node.id in ("torch", "th", "F")


def is_rotation(link: Link) -> bool:
    """`torch.cat((-x2, x1), dim=-1)` in a function that turns the halves of a vector."""
    function, call = _function(link), link[1][0]
    if call.__class__ is not ast.Call or not call.args or call.args[0].__class__ not in (ast.Tuple, ast.List):
        return False
    parts = call.args[0].elts
    minus = len(parts) == 2 and parts[0].__class__ is ast.UnaryOp and parts[0].op.__class__ is ast.USub
    name = getattr(function, "name", "").lower()
    return minus and parts[1].__class__ is not ast.UnaryOp and ("rot" in name or "rope" in name)


def gate_of(link: Link, scene) -> bool:
    """`F.silu(a) * b`, where a and b are the halves of one tensor."""
    call = link[1]
    above = call[1] and call[1][0]
    if above.__class__ is not ast.BinOp or above.op.__class__ is not ast.Mult or len(call[0].args) != 1:
        return False
    sides = (call[0].args[0], above.right if above.left is call[0] else above.left)
    if all(s.__class__ is ast.Name for s in sides) and sides[0].id != sides[1].id:
        first, second = (_cut(s, link, scene) for s in sides)
        return first is not None and first is second
    if all(s.__class__ is ast.Subscript and s.value.__class__ is ast.Name for s in sides):
        return sides[0].value.id == sides[1].value.id and _cut(sides[0].value, link, scene) is not None
    return False


def _cut(name: ast.Name, link: Link, scene) -> ast.stmt | None:
    """The `a, b = x.chunk(2, dim=-1)` before this place that a name comes from."""
    found = None
    for at in scene.names.bindings(name.id, link):
        up = at[1]
        while up is not None and not isinstance(up[0], ast.stmt):
            up = up[1]
        value = up and getattr(up[0], "value", None)
        if value.__class__ is not ast.Call or call_name(value.func) not in _CUTS:
            continue
        given = {constant(n) for n in ast.walk(value)}
        if (2 in given or call_name(value.func) != "chunk") and up[0].lineno <= link[0].lineno:
            found = up[0] if found is None or up[0].lineno > found.lineno else found
    return found


_ATTENDS = re.compile(r"^forward$|(?:^|_)(?:attn|attention|attend)$")


def attention(link: Link) -> str:
    """"plain" or "biased" for a softmax between two products, in one function: scores, weights, and what they are
    multiplied with. "" where parameters take part, or more is made of the weights than one fused operator makes."""
    function, call = _function(link), link[1][0]
    if call.__class__ is not ast.Call or not _ATTENDS.search(getattr(function, "name", "").lower()):
        return ""
    scores, weights, found, biased, used = set(), set(), False, False, 0
    for statement in _plain(function):
        names, products, softmax = _parts(statement, call)
        if softmax:
            inside = [*call.args, *([call.func.value] if call.func.__class__ is ast.Attribute else [])]
            nodes = [n for a in inside for n in ast.walk(a)]
            found = found or any(_is_scores(n) or n.__class__ is ast.Name and n.id in scores for n in nodes)
        reads = softmax or not names.isdisjoint(weights)
        if found and reads:
            times = [p for p in products if any(_holds(side, call, weights) for side in _sides(p))]
            if any(not _is_scores(p) for p in times) or not softmax and _spreads(statement, weights, used):
                return ""
            used += len(times)
        biased = biased or not found and _adds(statement, scores, bool(products))
        biased = biased or softmax and _adds(statement, scores, False)
        targets = _targets(statement)
        if not softmax and any(map(_is_scores, products)) or not names.isdisjoint(scores):
            scores |= targets
        if found and reads and not products:
            weights |= targets
    return "" if used != 1 else "biased" if biased else "plain"


def _holds(side: ast.AST, call: ast.Call, weights: set[str]) -> bool:
    return any(n is call or n.__class__ is ast.Name and n.id in weights for n in ast.walk(side))


def _is_scores(node: ast.AST) -> bool:
    """A product of two tensors of which none is a parameter of the module."""
    return _is_product(node) and not any(
        s.__class__ is ast.Attribute and getattr(s.value, "id", "") == "self" or getattr(s, "attr", "") == "weight"
        for s in _sides(node)
        if s is not getattr(getattr(node, "func", None), "value", None) or call_name(s) not in ("torch", "F")
    )


def _spreads(statement: ast.stmt, weights: set[str], used: int) -> bool:
    """Whether weights are mixed with others, or go on after the product."""
    value = getattr(statement, "value", None)
    if statement.__class__ not in (ast.Assign, ast.AugAssign) or value.__class__ is ast.Tuple:
        return False
    parts = [n for n in ast.walk(value) if n.__class__ is ast.BinOp and n.op.__class__ is ast.Add]
    sides = [s for n in parts for s in (n.left, n.right) if s.__class__ is not ast.Tuple]
    if any(n.__class__ is ast.Name and n.id in weights for s in sides for n in ast.walk(s)):
        return True
    return bool(used) and value.__class__ is ast.Call


def _adds(statement: ast.stmt, scores: set[str], product: bool) -> bool:
    """Whether something that is no mask is added to the scores."""
    value = getattr(statement, "value", None)
    if statement.__class__ is ast.AugAssign:
        plus = statement.op.__class__ is ast.Add and getattr(statement.target, "id", "") in scores
        return plus and not _is_masked(value)
    for node in ast.walk(value) if value is not None else ():
        if node.__class__ is ast.BinOp and node.op.__class__ is ast.Add:
            pairs = ((node.left, node.right), (node.right, node.left))
            if any(_scored(a, scores, product) and not _is_masked(a) and not _is_masked(b) for a, b in pairs):
                return True
        elif node.__class__ is ast.Call and re.search(r"(?i)bias|rel_pos", call_name(node.func)):
            if any(getattr(a, "id", "") in scores for a in node.args):
                return True
    return False


def _scored(node: ast.expr, scores: set[str], product: bool) -> bool:
    return any(n.__class__ is ast.Name and n.id in scores or product and _is_product(n) for n in ast.walk(node))


def _is_masked(node: ast.expr) -> bool:
    return any("mask" in (getattr(n, "id", "") or getattr(n, "attr", "")) for n in ast.walk(node))


def _plain(function: ast.AST) -> list[ast.stmt]:
    """The statements of a function that hold no others, in the order of its lines."""
    found, stack = [], list(function.body)
    while stack:
        node = stack.pop()
        blocks = [s for name in ("body", "orelse", "finalbody", "handlers") for s in getattr(node, name, ())]
        if not blocks:
            found.append(node)
        stack += [s for s in blocks if isinstance(s, (ast.stmt, ast.ExceptHandler))]
    return sorted(found, key=lambda s: s.lineno)


def _parts(statement: ast.stmt, call: ast.Call) -> tuple[set[str], list[ast.AST], bool]:
    """The names that a statement reads, its products, and whether it holds the call."""
    names, products, held = set(), [], False
    for node in ast.walk(statement):
        if node.__class__ is ast.Name and node.ctx.__class__ is ast.Load:
            names.add(node.id)
        elif node is call:
            held = True
        elif _is_product(node):
            products.append(node)
    return names, products, held


def _targets(statement: ast.stmt) -> set[str]:
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return {t.id for t in targets if t.__class__ is ast.Name}


def _is_product(node: ast.AST) -> bool:
    if node.__class__ is ast.Call:
        return call_name(node.func) in _PRODUCTS
    return node.__class__ is ast.BinOp and node.op.__class__ is ast.MatMult


def _sides(node: ast.AST) -> list[ast.AST]:
    if node.__class__ is ast.BinOp:
        return [node.left, node.right]
    return [*node.args, *([node.func.value] if node.func.__class__ is ast.Attribute else [])]


def adds_infinity(node: ast.expr, scene, link: Link, depth: int = 0) -> bool:
    """A mask made of zeros and minus infinity, to be added to the scores."""
    for inner in ast.walk(node):
        if inner.__class__ is ast.Call and call_name(inner.func) in ("finfo", "masked_fill", "masked_fill_"):
            return call_name(inner.func) == "finfo" or any(_is_infinity(a) for a in inner.args)
        if inner.__class__ is ast.Call and call_name(inner.func) == "full" and any(_is_infinity(a) for a in inner.args):
            return True
    if node.__class__ is ast.Name and depth < 2:
        return any(adds_infinity(v, scene, link, depth + 1) for v in scene.values(node, link))
    return False


def _is_infinity(node: ast.expr) -> bool:
    return any(
        n.__class__ is ast.Attribute and n.attr in ("inf", "min") or constant(n) in ("-inf", "inf")
        or type(constant(n)) is float and constant(n) >= 1e4 for n in ast.walk(node)
    )  # fmt: skip
