"""Conditions that ask for a value which the device has: `if loss > 3:`, `if mask.any():`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.checks.performance import checked
from porter.python.assigned import values_of
from porter.python.blocks import below, once
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, walk
from porter.python.walks import names_in
from porter.training import kinds, value_uses
from porter.training.chances import is_seldom
from porter.training.frequency import asks_now_and_then, asks_training
from porter.training.on_the_host import sends_objects
from porter.training.placement import DEVICE, NUMBER
from porter.training.switches import is_off

if TYPE_CHECKING:
    from porter.training.scene import Scene

# functions whose result, as a condition, may be a tensor
READING = ("any", "all", "isnan", "isinf", "isfinite", "equal", "allclose", "sum", "max", "min", "mean", "norm")
# conditions with a comparison; within so many characters: a long line of such words would be gone over again for each
COMPARED = (r"while [^\n<>]{0,400}[<>]", r"if [^\n<>=]{0,400}[<>=]", r"assert [^\n<>=]{0,400}[<>=]")
_COMPARING = frozenset({"torch.equal", "torch.allclose", "math.isnan", "math.isinf", "math.isfinite"})
_FINITE = frozenset({"isnan", "isinf", "isfinite"})
_NUMERIC = frozenset({ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq})
_SIZES = frozenset({"len", "size", "dim", "numel", "shape", "ndim"})


@once
def may_ask(test: Node) -> bool:
    """Whether a condition compares more than texts, kinds and sizes, or calls a function that may read a tensor."""
    for node in walk(test):
        if node.__class__ is ast.Compare and node.ops[0].__class__ in _NUMERIC:
            sides = (node.left, *node.comparators)
            if not any(map(_is_text, sides)) and not all(map(_is_size, sides)):
                return True
        elif node.__class__ is ast.Call and call_name(node.func) in READING:
            return True
    return False


def _is_text(node: Node) -> bool:
    return node.__class__ is ast.Constant and (node.value is None or isinstance(node.value, str))


def _is_size(node: Node) -> bool:
    """`len(x)`, `x.shape[0]`, or a number as it is written."""
    if node.__class__ is ast.Subscript:
        return _is_size(node.value)
    if node.__class__ is ast.Call:
        return call_name(node.func) in _SIZES
    return node.__class__ is ast.Constant or node.__class__ is ast.Attribute and node.attr in _SIZES


def condition(scene: Scene, link: Link) -> ast.expr | None:
    """What an `if`, a `while` or an `assert` asks of a tensor on the device."""
    if _remembers(link[0]) or checked.searches(link) or sends_objects(scene, link):
        return None
    asked = _asked(link[0].test, scene, (link[0].test, link))
    names = names_in(asked) if asked is not None else set[str]()
    return None if kinds.is_asked(names, link) else asked


@once
def _remembers(node: Node) -> bool:
    """Whether a tensor is asked only until it has said yes once: `if filled or queue.all(): filled = True`."""
    if node.__class__ is not ast.If or node.test.__class__ is not ast.BoolOp or node.test.op.__class__ is not ast.Or:
        return False
    first = ast.unparse(node.test.values[0])
    sets = (s for s in node.body if s.__class__ is ast.Assign and getattr(s.value, "value", None) is True)
    return any(ast.unparse(target) == first for s in sets for target in s.targets)


def kind(link: Link) -> str:
    """What to say of an `if` that stops nothing: "finite", "skipping", "condition", or "" for one that no operator can replace."""
    if _decides_step(link) or _picks(link[0]):
        return ""
    if _skips(link):
        return "skipping"
    return "finite" if _adds_if_finite(link) else "condition"


def _decides_step(link: Link) -> bool:
    """Whether an `if` decides that gradients are computed or the optimizer steps: no operator can take its place."""
    branches = (*link[0].body, *link[0].orelse) if link[0].__class__ is ast.If else ()
    return any(map(_steps, branches))


@once
def _picks(node: Node) -> bool:
    """`if mask.any(): x = y[mask]`: what the branch picks by the mask makes the host wait as well, and is told there."""
    asked = names_in(node.test)
    picked = (n.slice for s in getattr(node, "body", ()) for n in walk(s) if n.__class__ is ast.Subscript)
    return any(index.__class__ is ast.Name and index.id in asked for index in picked)


def _skips(link: Link) -> bool:
    """`if torch.isnan(loss): continue`, where the block goes on with `loss.backward()` or `optimizer.step()`."""
    if link[0].__class__ is not ast.If or link[0].body[-1].__class__ is not ast.Continue:
        return False
    return any(map(_steps, below(link)))


@once
def _steps(statement: Node) -> bool:
    calls = (node for node in walk(statement) if node.__class__ is ast.Call)
    return any(call.func.__class__ is ast.Attribute and call.func.attr in ("backward", "step") for call in calls)


def _adds_if_finite(link: Link) -> bool:
    """`if not torch.isnan(penalty): loss = loss + penalty`: chosen with `where`, the value still hands NaN on to its gradients."""
    if link[0].__class__ is not ast.If:
        return False
    calls = (n for n in walk(link[0].test) if n.__class__ is ast.Call and call_name(n.func) in _FINITE)
    asked = {n.id for call in calls for n in walk(call) if n.__class__ is ast.Name}
    sums = (n for s in link[0].body for n in walk(s) if n.__class__ in (ast.BinOp, ast.AugAssign))
    terms = [t for n in sums for t in ((n.left, n.right) if n.__class__ is ast.BinOp else (n.value,))]
    return any(term.__class__ is ast.Name and term.id in asked for term in terms)


def _asked(test: Node, scene: Scene, link: Link) -> ast.expr | None:
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        return _asked(test.operand, scene, link)
    if test.__class__ is ast.BoolOp:
        settled = frozenset[str]()  # names whose type is asked first: `isinstance(mask, int) and mask < 0`
        for value in test.values:
            if (asked := _asked(value, scene, link)) is not None and settled.isdisjoint(names_in(asked)):
                return asked
            settled |= kinds.asked(value) if test.op.__class__ is ast.And else frozenset()
            if test.op.__class__ is ast.And and (
                asks_now_and_then(value) or asks_training(value) == -1 or is_seldom(value) or is_off(scene, value, link)
            ):
                return None
        return None
    if test.__class__ is ast.Call and scene.names.resolve(test.func, link) in _COMPARING:
        return test if any(scene.natures.of(a, link) == DEVICE for a in test.args) else None
    if isinstance(test, ast.Name):
        return test if _holds_comparison(test, scene, link) else None
    if test.__class__ is ast.BinOp and test.op.__class__ not in (ast.BitAnd, ast.BitOr):
        return None
    known = test.__class__ in (ast.Call, ast.Compare, ast.BinOp) and scene.natures.of(test, link) == DEVICE
    return test if known or test.__class__ is ast.Compare and _compares_loss(test, scene, link) else None


def _holds_comparison(test: ast.Name, scene: Scene, link: Link) -> bool:
    """Whether a name is set to nothing but True, False and comparisons, and one of these is of a tensor: `more = x.max() > limit`."""
    values = values_of(scene.names, test, link)
    compared = [v for v in values if isinstance(v, ast.Compare)]
    if not compared or any(v not in compared and not isinstance(constant(v), bool) for v in values):
        return False
    return any(scene.natures.of(v, link) == DEVICE for v in compared)


def _compares_loss(test: ast.Compare, scene: Scene, link: Link) -> bool:
    """`loss > 3`, of what the step takes gradients of."""
    ordered = len(test.ops) == 1 and test.ops[0].__class__ in (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return (
        ordered
        and value_uses.bare(test.left, scene.losses(link) - {"self"})
        and scene.natures.of(test.left, link) != NUMBER
    )
