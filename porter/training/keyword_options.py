"""Finds what `**options` of a call holds: the items of a literal, of a name, or of an attribute of the class."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from porter.python.assigned import values_of
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents, walk

if TYPE_CHECKING:
    import libcst as cst

    from porter.training.scene import Scene

Given: TypeAlias = "dict[str, Node]"
_DEPTH = 4  # steps through which a mapping is followed


def spread(scene: Scene, call: cst.Call) -> dict[str, str] | None:
    """The items of all `**` of a call: keyword and text of the value. None where one of them may hold more."""
    options: Given = {}
    if (link := scene.link(call)) is None:
        return None
    for keyword in link[1][0].keywords:
        if keyword.arg is None:
            given = _mapping(scene, keyword.value, link, _DEPTH)
            if given is None:
                return None
            options.update(given)
    return {key: ast.unparse(value) for key, value in options.items()}


def _mapping(scene: Scene, node: Node, link: Link, depth: int) -> Given | None:
    """The items of a mapping; None where it may have more. `link`: the place from which the names in it are seen."""
    if depth == 0:
        return None
    if node.__class__ is ast.Dict:
        return _literal(scene, zip(node.keys, node.values), link, depth)
    if node.__class__ is ast.Call and call_name(node.func) == "dict" and not node.args:
        pairs = ((k.arg and ast.Constant(k.arg), k.value) for k in node.keywords)
        return _literal(scene, pairs, link, depth)
    if node.__class__ is ast.IfExp:  # `{...} if use_cuda else {}`: the items of both sides
        otherwise, options = (_mapping(scene, side, link, depth - 1) for side in (node.orelse, node.body))
        return None if otherwise is None or options is None else {**otherwise, **options}
    if node.__class__ is ast.Name:
        return _named(scene, node, link, depth)
    if node.__class__ is ast.Attribute and getattr(node.value, "id", "") in ("self", "cls"):
        return _attribute(scene, node.attr, link, depth)
    return None


def _literal(scene: Scene, pairs: Iterable[tuple[Node, Node]], link: Link, depth: int) -> Given | None:
    options: Given = {}
    for key, value in pairs:
        if key is None:
            more = _mapping(scene, value, link, depth - 1)
            if more is None:
                return None
            options.update(more)
        elif constant(key).__class__ is str:
            options[key.value] = value
        else:
            return None
    return options


def _named(scene: Scene, node: ast.Name, link: Link, depth: int) -> Given | None:
    """All items that are put into a name in its scope. None where other code gets the mapping and may put more into it."""
    values = values_of(scene.names, node, link)
    bound = scene.names.bindings(node.id, link)
    if not values or not bound:
        return None
    options: Given = {}
    for value in values:
        given = _mapping(scene, value, link, depth - 1)
        if given is None:
            return None
        options.update(given)
    for use in scene.names.readers(node.id, bound[0]):
        above = use[1][0]
        if above.__class__ is ast.Subscript and above.value is use[0] and above.ctx.__class__ is ast.Store:
            if constant(above.slice).__class__ is not str:
                return None
            options[above.slice.value] = getattr(use[1][1][0], "value", above.slice)
        elif above.__class__ is ast.Attribute and above.attr in ("update", "setdefault"):
            more = _updated(scene, use, depth)
            if more is None:
                return None
            options.update(more)
        elif above.__class__ is ast.Call and use[0] in above.args or above.__class__ in (ast.Return, ast.Assign):
            return None
    return options


def _updated(scene: Scene, use: Link, depth: int) -> Given | None:
    call = use[1][1][0]
    if call.__class__ is not ast.Call or use[1][0].attr != "update" or len(call.args) > 1:
        return None
    options = {k.arg: k.value for k in call.keywords if k.arg}
    more = _mapping(scene, call.args[0], use, depth - 1) if call.args else {}
    return None if more is None or len(options) < len(call.keywords) else {**more, **options}


def _attribute(scene: Scene, name: str, link: Link, depth: int) -> Given | None:
    """The items of `options = {...}` in a class body, or of the only assignment to `self.options`."""
    owner: Node = next((a for a in parents(link) if a.__class__ is ast.ClassDef), None)
    values: list[Node] = []
    for node in walk(owner) if owner is not None else ():
        if node.__class__ is ast.Assign:
            values += [node.value for target in node.targets if _sets(target, name, node in owner.body)]
        grows = node.__class__ is ast.Subscript and node.ctx.__class__ is ast.Store
        grows = grows or node.__class__ is ast.Attribute and node.attr == "update"
        if grows and getattr(node.value, "attr", "") == name:
            return None
    if len(values) != 1 or values[0].__class__ is ast.Name:
        return None
    around = next((a for a in ancestors(link) if a[0].__class__ in FUNCTIONS), link)
    return _mapping(scene, values[0], around, depth - 1)


def _sets(target: Node, name: str, shared: bool) -> bool:
    if target.__class__ is ast.Name:
        return shared and target.id == name
    return getattr(target, "attr", "") == name and getattr(target.value, "id", "") == "self"
