"""Dicts whose keys are devices: `{"cuda": "HBM", "cpu": "DDR"}[device_type]`, `{("cuda", "fused"): 1.0}.get((device, kernel))`.

What looks a key up is ported, so that the keys have to be as well, and with them each place that looks up one of them by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from porter.python.blocks import once, place
from porter.python.evidence import DEVICES, constant, device_like, target_name
from porter.python.index import FUNCTIONS, Link, Node, parents, walk
from porter.python.names import Names


class Askers(NamedTuple):
    position: int  # of the device in each key; -1 where it is the whole key
    links: tuple[Link, ...]  # the expressions that look a device up
    certain: bool


def askers(names: Names, link: Link) -> Askers | None:
    """What looks up the key which a string is, or which it is a part of. None where it is no such key, or where something else
    reads the dict."""
    node, up, index = link[0], link[1], -1
    if up is not None and up[0].__class__ is ast.Tuple:
        index = place(up[0], node)[1]
        node, up = up
    if up is None:
        return None
    above = up[0]
    if above.__class__ is ast.Dict:
        known = _askers(above, names, up) if place(above, node)[0] == "keys" else None
    else:
        known = _askers_of_name(names, *asked) if (asked := container_of(node, up)) else None
    return known if known is not None and known.position == index and known.links else None


def _keeps_kernels(node: ast.Dict, position: int, names: Names, link: Link) -> bool:
    """Whether what stands at a key of CUDA speaks of CUDA itself: it may be the kernel for it. Names of torch.cuda are ported."""
    values = (v for k, v in zip(node.keys, node.values) if constant(_part(k, position)) == "cuda")
    parts = (part for value in values for part in walk(value))
    words = ((n, getattr(n, "id", "") or getattr(n, "attr", "") or constant(n)) for n in parts)
    return any("cuda" in str(word).lower() and names.resolve(n, link) != "torch.cuda" for n, word in words)


def _askers_of_name(names: Names, name: Node, link: Link) -> Askers | None:
    """Of the one dict that a name is bound to."""
    bound = names.bindings(name.id, link) if name.__class__ is ast.Name else []
    above = bound[0][1] if len(bound) == 1 else None
    value = getattr(above[0], "value", None) if above is not None else None
    return _askers(value, names, (value, above)) if isinstance(value, ast.Dict) else None


def _askers(node: ast.Dict, names: Names, link: Link) -> Askers | None:
    """Kept beside the tree: places kept at a node would hold on to all of it."""
    return names.once("askers of a dict", node.keys, lambda: _found(node, names, link))


def _found(node: ast.Dict, names: Names, link: Link) -> Askers | None:
    index = _index(node)
    if index is None:
        return None
    links = []
    for asked in _asked(names, link):
        key = asked and _part(asked[0], index)
        if asked is None or key is None or not (device_like(key) or constant(key) in DEVICES):
            return None
        if device_like(key):
            links.append((key, asked if index >= 0 else asked[1]))
    return Askers(index, tuple(links), not _keeps_kernels(node, index, names, link))


def _index(node: ast.Dict) -> int | None:
    """Where the device stands in each key. None where not all keys have one, or only one device has."""
    keys = node.keys
    lengths = {len(key.elts) if key.__class__ is ast.Tuple else 0 for key in keys}  # type: ignore[union-attr]
    for index in range(max(1, *lengths)) if len(lengths) == 1 else ():
        position = index if lengths != {0} else -1
        words = {constant(_part(key, position)) for key in keys}
        if len(words) > 1 and "npu" not in words and words <= DEVICES:
            return position
    return None


def _part(key: Node, position: int) -> Node:
    if position < 0:
        return key
    return key.elts[position] if key.__class__ is ast.Tuple and position < len(key.elts) else None


def _asked(names: Names, link: Link) -> Iterator[Link | None]:
    """The keys that are looked up in a dict; None where something else is done with it. One that other files may import says nothing."""
    if (key := _key(link)) is not None:
        yield key
        return
    above = link[1]
    name = name_of(link)
    local = name.startswith("_") or any(isinstance(node, FUNCTIONS) for node in parents(link))
    if above is None or not name or not local or len(names.bindings(name, above)) != 1:
        yield None
        return
    for reader in names.readers(name, above):
        yield _key(reader)


def name_of(link: Link) -> str:
    """The one name that a value is bound to by a statement; "" where there is none."""
    above = link[1] and link[1][0]
    if above.__class__ not in (ast.Assign, ast.AnnAssign) or above.value is not link[0]:
        return ""
    targets = getattr(above, "targets", None) or [above.target]
    return getattr(targets[0], "id", "") if len(targets) == 1 else ""


def _key(link: Link) -> Link | None:
    """The key that is looked up in a dict, or in what holds it: `link[key]`, `link.get(key)`, `key in link`."""
    node, up = link
    if up is None:
        return None
    above = up[0]
    if above.__class__ is ast.Subscript and above.value is node and above.ctx.__class__ is ast.Load:
        return above.slice, up
    if above.__class__ is ast.Attribute and above.attr == "get" and up[1] and up[1][0].__class__ is ast.Call:
        return (up[1][0].args[0], up[1]) if up[1][0].func is above and up[1][0].args else None
    if above.__class__ is ast.Compare and above.comparators == [node] and above.ops[0].__class__ in (ast.In, ast.NotIn):
        return above.left, up
    return None


def container_of(node: Node, up: Link) -> tuple[Node, Link] | None:
    """What a key is looked up in, with its place: of `node`, the key."""
    above = up[0]
    if above.__class__ is ast.Subscript and above.slice is node:
        return above.value, up
    if above.__class__ is ast.Call and above.args[:1] == [node] and getattr(above.func, "attr", "") == "get":
        return above.func.value, up
    if above.__class__ is ast.Compare and above.left is node and above.ops[0].__class__ in (ast.In, ast.NotIn):
        return above.comparators[0], up
    return None


def is_of_parts(link: Link) -> bool:
    """Whether a dictionary says where each part of a model goes: `device_map={"": "cuda:0"}`."""
    above: Node = link[1] and link[1][0]
    holder = above.targets[0] if above.__class__ is ast.Assign else above
    name = constant(holder.slice) if holder.__class__ is ast.Subscript else getattr(holder, "arg", target_name(holder))
    return bool(name == "device_map")


@once
def maps_devices(node: ast.Dict) -> bool:
    """Whether the keys of a dict are devices, without an NPU: `{"cuda": ..., "cpu": ...}`."""
    keys = [constant(k) for k in node.keys]
    return len(keys) > 1 and "npu" not in keys and all(isinstance(k, str) and k in DEVICES for k in keys)
