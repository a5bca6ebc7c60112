"""Finds values that stay on the host: copies of a module made before the module is moved, what was loaded there, and what a
dataset answers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy
from porter.training.loops import loops_around
from porter.training.on_the_host import is_test_of_host
from porter.training.transfers import moves
from porter.training.value_uses import is_on_host

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene

_DATASET = lazy(r"(?i)(?:^|_)dataset$")
_COPIES = frozenset({"deepcopy", "clone"})


def lies_on_host(scene: AnyScene, node: Node, link: Link) -> bool:
    """Whether a value is on the host: made there, copied before its module is moved, loaded there, answered by a dataset, or in
    a test that uses no device."""
    if is_on_host(scene, node, link) or _is_copy(scene, node, link) or is_test_of_host(scene.file, link):
        return True
    return _is_loaded(scene, node, link) or _is_of_dataset(scene, node, link)


def _is_loaded(scene: AnyScene, node: Node, link: Link) -> bool:
    """Whether a value was loaded to the host, `load(path, map_location="cpu")`, and nothing in the file moves it to the device in
    the type that it has. Who asks wants to know of float64: a move that also converts does no harm."""
    if node.__class__ is not ast.Call or not any(_names_host(k) for k in node.keywords):
        return False
    for above, up in ancestors(link):
        if above.__class__ is ast.Return:
            return True
        if above.__class__ is ast.Assign:
            names = {getattr(target, "id", "") or getattr(target, "attr", "") for target in above.targets}
            return not any(_keeps_type(move[0]) for name in names for move in _moves_of(scene, name))
        if above.__class__ not in (ast.Call, ast.Attribute) or _puts_on_device(above) or up is None:
            return False
    return False


def _names_host(keyword: ast.keyword) -> bool:
    """`map_location="cpu"`, `device=torch.device("cpu")`"""
    value: Node = keyword.value
    if value.__class__ is ast.Call and call_name(value.func) == "device" and value.args:
        value = value.args[0]
    return keyword.arg in ("map_location", "device") and constant(value) == "cpu"


def _keeps_type(move: Node) -> bool:
    return not any(k.arg == "dtype" for k in move.keywords)


def _is_of_dataset(scene: AnyScene, node: Node, link: Link) -> bool:
    """`poses[:, :3]` after `poses = eval_dataset.get_poses()`: what is loaded lies on the host until it is moved."""
    while node.__class__ in (ast.Attribute, ast.Subscript):
        node = node.value
    if node.__class__ is not ast.Name or any(_moves_of(scene, node.id)):
        return False
    bound = [binding[1] and binding[1][0] for binding in scene.names.bindings(node.id, link)]
    return bool(bound) and all(above.__class__ is ast.Assign and _asks_dataset(above.value) for above in bound)


def _asks_dataset(value: Node) -> bool:
    return value.__class__ is ast.Call and value.func.__class__ is ast.Attribute and _is_dataset(value.func.value)


def _is_dataset(node: Node) -> bool:
    return bool(_DATASET.search(getattr(node, "id", "") or getattr(node, "attr", "")))


def _is_copy(scene: AnyScene, node: Node, link: Link) -> bool:
    """Whether a node is a copy of a module made before the module is moved: `average = copy.deepcopy(model)` above
    `model.to(device)`. In a loop around both, the second copy would be made of what was moved."""
    copied, kept = _copied(node), _kept_as(link)
    if copied is None or not kept or kept == copied.id or any(_moves_of(scene, kept)):
        return False
    function = scene.function(link)
    places = [move for move in _moves_of(scene, copied.id) if _is_same(scene.function(move), function)]
    is_later = all(place[0].lineno > link[0].end_lineno for place in places)
    if not places or not is_later or any(set(loops_around(place)) & set(loops_around(link)) for place in places):
        return False
    values = (getattr(b[1] and b[1][0], "value", None) for b in scene.names.bindings(copied.id, link))
    return not any(_puts_on_device(n) for v in values if v is not None and v.lineno <= link[0].lineno for n in walk(v))


def _copied(node: Node) -> ast.Name | None:
    """The copied name: `model` of `copy.deepcopy(model)` and `model.clone()`."""
    if node.__class__ is not ast.Call or call_name(node.func) not in _COPIES:
        return None
    source = node.args[0] if node.args else getattr(node.func, "value", None)
    return source if source.__class__ is ast.Name else None


def _kept_as(link: Link) -> str:
    """The name to which a copy is assigned; "" where it has none, or is moved to the device before."""
    for above in (link, *ancestors(link)):
        node = above[0]
        if node.__class__ in (ast.Assign, ast.AnnAssign):
            targets = getattr(node, "targets", None) or [node.target]
            return getattr(targets[0], "id", "") if len(targets) == 1 else ""
        if node.__class__ not in (ast.Call, ast.Attribute) or _puts_on_device(node):
            break
    return ""


def _moves_of(scene: AnyScene, name: str) -> list[Link]:
    """The calls in the file that move a name: `name.to(device)`, `name.cuda()`."""
    calls = (use[1][1] for use in scene.names.spelled(name) if use[1][0].__class__ is ast.Attribute)
    return [call for call in calls if call[0].__class__ is ast.Call and _puts_on_device(call[0])]


def _puts_on_device(node: Node) -> bool:
    return node.__class__ is ast.Call and (call_name(node.func) in ("cuda", "npu") or moves(node))


def _is_same(one: Link | None, other: Link | None) -> bool:
    return (one and one[0]) is (other and other[0])
