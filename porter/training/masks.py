"""Finds boolean masks, and says whether a mask has the shape of the tensor that it indexes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import within
from porter.python.evidence import call_name
from porter.python.index import Link, Node, methods
from porter.training.beside import is_beside
from porter.training.host_masks import selects_on_host
from porter.training.named_masks import is_below_trouble, is_named
from porter.training.numpy_arrays import asks_numpy, is_array
from porter.training.placement import NUMBER
from porter.training.read_before import was_read_back
from porter.training.same_shape import covers, gives_booleans, is_moved_to_host, made_on_host
from porter.training.value_uses import is_on_host

if TYPE_CHECKING:
    from porter.training.scene import Scene
    from porter.values.value import Value
    from porter.values.values import Body
    from porter.values.views import Users

_ELEMENTWISE = frozenset("eq ne gt lt ge le isnan isinf isfinite".split())
_PICKED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_VALUES = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def is_mask(node: Node, scene: Scene, link: Link, depth: int = 0) -> bool:
    """Whether an index is boolean, as far as the file shows: `x > 0`, `~m`, `m.bool()`, or a name that is set to one."""
    kind = node.__class__
    if kind is ast.Compare:
        return len(node.ops) == 1 and isinstance(node.ops[0], _VALUES)
    if kind is ast.UnaryOp:
        return node.op.__class__ is ast.Invert
    if kind is ast.BinOp and node.op.__class__ in (ast.BitAnd, ast.BitOr):
        return is_mask(node.left, scene, link, depth) or is_mask(node.right, scene, link, depth)
    if kind is ast.Call:
        return gives_booleans(node, lambda given: is_mask(given, scene, link, depth))
    if kind is ast.Tuple:
        return any(is_mask(e, scene, link, depth) for e in node.elts)
    if kind is ast.Name and depth < 3:
        values = values_of(scene.names, node, link)
        question = "mask", depth, scene.names.scopes.around(link) if values else None
        return bool(values) and scene.names.once(
            question, values, lambda: all(is_mask(v, scene, link, depth + 1) for v in values)
        )
    return False


def of_itself(index: Node, target: Node) -> bool:
    """Whether a mask has the shape of its tensor because it compares that tensor: `x[x > 0]`, `x[torch.isnan(x)]`."""
    if target.__class__ not in (ast.Name, ast.Attribute) or not is_plain(target):
        return False
    wanted = ast.dump(target).replace("Store()", "Load()")
    if index.__class__ is ast.UnaryOp and index.op.__class__ is ast.Invert:
        index = index.operand
    if index.__class__ is ast.Compare:
        sides = (index.left, *index.comparators)
        return len(sides) == 2 and isinstance(index.ops[0], _VALUES) and any(ast.dump(s) == wanted for s in sides)
    if index.__class__ is ast.Call and not index.keywords and call_name(index.func) in _ELEMENTWISE:
        receiver: Node = getattr(index.func, "value", index)
        first = index.args[0] if index.args else receiver
        return ast.dump(first) == wanted or ast.dump(receiver) == wanted
    return False


def same_shape(index: Node, target: Node, scene: Scene, link: Link) -> str | None:
    """Whether a mask has the shape of the tensor that it indexes: 'certain', 'likely' or None."""
    if of_itself(index, target):
        return "certain"
    flow = scene.flows.body(scene.function(link)) if is_mask(index, scene, link) else None
    if flow is None:
        return None
    mask, x = flow[0].at.get(index), flow[0].at.get(target)
    return covers(mask, x) if mask is not None and x is not None else None


def is_plain(node: Node) -> bool:
    """Whether an expression is just names and dots."""
    while node.__class__ is ast.Attribute:
        node = node.value
    return node.__class__ is ast.Name


def assigned(scene: Scene, link: Link) -> str | None:
    """For an assignment of a number, or of another tensor's elements, where a mask is true: 'certain' if a fill does the same,
    'likely' if it may, 'other' if the mask may have another shape, or something is added there. None for all others."""
    statement = link[0]
    adds = statement.__class__ is ast.AugAssign
    target = statement.target if adds else statement.targets[0]
    several = not adds and len(statement.targets) != 1
    if (
        several
        or target.__class__ is not ast.Subscript
        or target.slice.__class__ in (ast.Constant, ast.Slice)
        or not _is_near(scene, (target, link))
    ):
        return None
    source = None if adds else taken(statement)
    filled = source is not None or not adds and is_scalar(statement.value)
    if not (adds or filled or scene.natures.of(statement.value, link) == NUMBER):
        return None
    place = (target.value, (target, link))
    if scene.file.receivers.kind(place) in ("other", "own") or scene.file.receivers.is_array(place):
        return None
    if asks_numpy(target.slice, scene, place) or is_array(target.value, scene, place):
        return None
    masked = of_itself(target.slice, target.value) or is_mask(target.slice, scene, place)
    if not (masked or is_named(target.slice, scene, place)) or is_below_trouble(place):
        return None
    flow = scene.flows.body(scene.function(place))
    if flow and (value := flow[0].at.get(target.value)) is not None and is_moved_to_host(value):
        return None
    tensors = [target.value, *([source] if source is not None else [])]
    # the same mask selects from both tensors, so both have the shape of the mask, or neither has
    certainties = [s for t in tensors if filled and (s := same_shape(target.slice, t, scene, place)) is not None]
    if certainties:
        certain = "certain" in certainties and all(is_tensor(t, place, scene) for t in tensors)
        return "certain" if certain else "likely"
    return "other" if scene.matters((target, link)) and not selects_on_host(target.slice, scene, place) else None


def taken(statement: Node) -> Node | None:
    """The tensor from which an assignment takes the same places: y of `x[mask] = y[mask]`."""
    target, value = statement.targets[0], statement.value
    if target.__class__ is not ast.Subscript or value.__class__ is not ast.Subscript or not is_plain(value.value):
        return None
    return value.value if ast.dump(target.slice) == ast.dump(value.slice) else None


def is_scalar(node: Node) -> bool:
    if node.__class__ is ast.UnaryOp and node.op.__class__ is ast.USub:
        node = node.operand
    if node.__class__ is ast.Constant:
        return type(node.value) in (int, float, bool)
    if node.__class__ is ast.Call:
        return call_name(node.func) == "float" and len(node.args) == 1 and node.args[0].__class__ is ast.Constant
    return node.__class__ is ast.Attribute and node.attr in ("inf", "nan", "pi")


def is_tensor(node: Node, link: Link, scene: Scene) -> bool:
    """Whether a name is certainly a tensor: all its values come from functions of torch, or have an annotation."""
    if node.__class__ is not ast.Name:
        return False
    bound = scene.names.bindings(node.id, link)
    return bool(bound) and scene.names.once(
        "tensor", bound, lambda: all(_binds_tensor(binding, scene) for binding in bound)
    )


def _binds_tensor(binding: Link, scene: Scene) -> bool:
    node, above = binding[0], binding[1] and binding[1][0]
    if node.__class__ is ast.arg:
        return node.annotation is not None and scene.names.resolve(node.annotation, binding) == "torch.Tensor"
    if above.__class__ is not ast.Assign or not within(above, node, "targets"):
        return False
    full = scene.names.resolve(above.value.func, binding) if above.value.__class__ is ast.Call else None
    return full not in ("torch.load", "torch.jit.load") and scene.file.receivers.is_surely_torch(
        (above.value, binding[1])
    )


def picks(scene: Scene, link: Link) -> bool:
    """Whether `x[...]` reads by a mask, for every batch, and is the first read by this mask in its function."""
    node = link[0]
    if node.slice.__class__ in (ast.Constant, ast.Slice) or node.ctx.__class__ is not ast.Load or not scene.where(link):
        return False
    masked = is_mask(node.slice, scene, link) or is_named(node.slice, scene, link)
    if not masked or not scene.matters(link) or node.value.__class__ not in _PICKED:
        return False
    above = link[1][0]
    if above.__class__ is ast.Assign and len(above.targets) == 1 and taken(above) is node.value:
        return False  # the finding about the assignment covers it
    return (
        not scene.file.receivers.is_array((node.value, link))
        and not is_array(node.value, scene, link)
        and _first_use(scene, link)
        and not _lies_on_host(scene, link)
    )


def _lies_on_host(scene: Scene, link: Link) -> bool:
    """Whether the mask is on the host, `torch.arange(n) != 3`, so that nothing waits for it; or the tensor is."""
    flow, index = scene.flows.body(scene.function(link)), link[0].slice
    parts = index.elts if index.__class__ is ast.Tuple else [index]
    masks = [n for n in parts if is_mask(n, scene, link)]
    values = [flow[0].at.get(n) for n in masks] if flow else []
    if any(value is not None and made_on_host(value) for value in values):
        return True
    if any(n.__class__ is ast.Compare and was_read_back(scene, n.left, link) for n in masks):
        return True  # `logits[encoded["input_ids"] == mask_id]`
    return any(is_on_host(scene, node, link) for node in (link[0].value, *masks))


def summed(scene: Scene, link: Link) -> str | None:
    """For a selection that is only summed, `x[x > 0].sum()`, also by a name: 'certain' if x is a tensor, else 'likely'. The sum
    needs no selection. None for other selections."""
    answers = scene.flows.summed
    if link[0] not in answers:
        answers[link[0]] = _summed(scene, link)
    return answers[link[0]]


def _summed(scene: Scene, link: Link) -> str | None:
    node, function, flows = link[0], scene.function(link), scene.flows
    if not (_is_summed(link) or _only_summed(node, flows.body(function), flows.reads(function[0]) if function else {})):
        return None
    certainty = same_shape(node.slice, node.value, scene, link)
    if certainty is None:
        return None
    return "certain" if certainty == "certain" and is_tensor(node.value, link, scene) else "likely"


def _is_summed(link: Link) -> bool:
    up = link[1]
    call = up[1] and up[1][0]
    called = up[0].__class__ is ast.Attribute and call.__class__ is ast.Call and call.func is up[0]
    return called and up[0].attr == "sum" and not call.args and not call.keywords


def _only_summed(node: ast.Subscript, flow: tuple[Body, Users] | None, reads: dict[str, list[ast.Subscript]]) -> bool:
    if flow is None or (picked := flow[0].at.get(node)) is None:
        return False
    body, users = flow
    sums = users.of(picked)
    if (
        not sums
        or not all(map(_is_total, sums))
        or any(picked in uses for uses in (body.traces.handed, body.returned, body.traces.stored))
    ):
        return False
    others = (
        n for several in reads.values() for n in several if n.lineno != node.lineno or n.col_offset != node.col_offset
    )
    return all(body.at.get(n) is not picked for n in others)  # equal values are one object


def _is_total(value: Value) -> bool:
    return value.op == "call" and value.info[0] in ("sum", "torch.sum") and len(value.args) == 1


def _first_use(scene: Scene, link: Link) -> bool:
    """Whether no line above selects by the same mask. A selection that is summed does not count, as it is rewritten."""
    index, function = ast.dump(link[0].slice), scene.function(link)
    around = scene.file.tree if function is None else function[0]
    flows, place = scene.flows, (link[0].lineno, link[0].col_offset)
    if (around, index) not in flows.kept:
        subscripts = sorted(flows.reads(around).get(index, ()), key=lambda n: (n.lineno, n.col_offset))
        links = ((n, scene.link_to(n)) for n in subscripts)
        flows.kept[around, index] = next(
            (n for n, read_link in links if read_link is None or not summed(scene, read_link)), None
        )
    first = flows.kept[around, index]
    return first is None or place <= (first.lineno, first.col_offset) or summed(scene, link) is not None


def _is_near(scene: Scene, link: Link) -> bool:
    """Whether a place is in a step or in `forward`, in a method of a class with `forward`, or in a function about a loss."""
    if scene.file.tested:
        return False
    owner = scene.owner(link)
    if owner is not None and is_beside(owner):
        return False
    model = owner is not None and "forward" in methods(owner)
    return model or "loss" in scene.function_name(link).lower() or bool(scene.where(link))
