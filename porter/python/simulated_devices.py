"""Finds devices of a simulator by their name: `sim_device`, and what is read from it. It runs on CUDA or on the CPU alone.

The project hands a parameter of that name to the simulator (project/simulators.py), torch has a device of its own beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file, place
from porter.python.evidence import call_name, constant, like, looked_up
from porter.python.index import ancestors, walk
from porter.python.library_branches import is_function_of
from porter.python.parameters import defaulted, dotted

if TYPE_CHECKING:
    from porter.engine.rule_file import Link, Node, RuleFile

_PASSED_ON = (ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.IfExp, ast.BoolOp)  # between a value and what holds it
_READ = (ast.Subscript, ast.Attribute)


def simulator_of(file: RuleFile, value: Link) -> str | None:
    """The simulator whose device a value is, is compared with, or is chosen by."""
    if library := _taken_by(file, value):
        return library
    library = min((one.library for one in file.facts.own.simulated if not one.keys), default=None)
    if library is None:
        return None
    if any(_is_one(file, holder) for holder in _holders(value)):
        return library
    child = value[0]
    for above, _ in ancestors(value):
        if above.__class__ is ast.If and place(above, child)[0] == "body" and _is_chosen_by(file, above.test):
            return library
        child = above
    return None


def _taken_by(file: RuleFile, value: Link) -> str | None:
    """The simulator that a function of another file hands its device to: `erode(depth, device="cuda")`; and one that a star import
    brings, `wp.force_load(device="cuda")`."""
    keyword, call = value[1], value[1] and value[1][1]
    if not file.facts.own.simulated or keyword is None or keyword[0].__class__ is not ast.keyword or call is None:
        return None
    if call[0].__class__ is not ast.Call:
        return None
    root, _, method = ast.unparse(call[0].func).partition(".")
    by_star = method and "*" in file.names.imports and not file.names.bindings(root, call)
    for one in file.facts.own.simulated:
        if one.key == keyword[0].arg and one.path != file.path and is_function_of(file, call, one.path, one.name):
            return one.library
        if by_star and one.alias == root and like(keyword[0].arg, "device"):
            return one.library
    return None


def _is_chosen_by(file: RuleFile, test: Node) -> bool:
    """`if sim_device_type == "cuda":`"""
    compared = (node for node in walk(test) if node.__class__ is ast.Compare)
    return any(_is_one(file, compare.left) for compare in compared)


def _is_one(file: RuleFile, holder: Node | str) -> bool:
    """Whether a name holds a device of a simulator."""
    if isinstance(holder, str):
        return holder.lstrip("_") in _keys(file)
    name = _base(holder)
    return bool(name) and (name.rpartition(".")[2].lstrip("_") in _keys(file) or name in _read_from(file))


@once_for_file
def _keys(file: RuleFile) -> frozenset[str]:
    return frozenset(one.key for one in file.facts.own.simulated if not one.keys)


@once_for_file
def _read_from(file: RuleFile) -> frozenset[str]:
    """The names that get a part of such a device: `self.kind = sim_device.split(":")[0]`."""
    found: set[str] = set()
    for _ in range(2):  # a part of a part
        for assign, _up in file.buckets[ast.Assign]:
            name = _base(assign.value)
            if name and (name.rpartition(".")[2].lstrip("_") in _keys(file) or name in found):
                found.update(filter(None, map(dotted, _targets(assign))))
    return frozenset(found)


def _targets(assign: ast.Assign) -> Iterator[Node]:
    for target in assign.targets:
        yield from target.elts if isinstance(target, ast.Tuple) else (target,)


def _base(node: Node) -> str:
    """The name that a value is read from: `self.kind` of `self.kind.lower()`, `sim_device` of `sim_device.split(":")[0]`."""
    while not (name := dotted(node)) and node.__class__ in (ast.Call, *_READ):
        if node.__class__ is not ast.Call:
            node = node.value
        elif node.func.__class__ is ast.Attribute and not dotted(node.func):
            node = node.func.value
        else:  # parse_device_str(sim_device), sim_device.split(":")
            own = node.func.value if node.func.__class__ is ast.Attribute else None
            node = node.args[0] if "device" in call_name(node.func) and node.args else own
    return name


def _holders(value: Link) -> Iterator[Node | str]:
    """What holds a value or is compared with it: names, and keys as text."""
    child = value[0]
    for above, _ in ancestors(value):
        kind = above.__class__
        if kind is ast.Assign:
            yield from _targets(above)
        elif kind is ast.Compare:
            yield from (side for side in (above.left, *above.comparators) if side is not child)
        elif kind is ast.keyword:
            yield above.arg or ""
        elif kind is ast.arguments:
            yield defaulted(above, child).arg
        elif kind is ast.Dict:
            side, index = place(above, child)
            key = constant(above.keys[index]) if side == "values" else None
            yield key if isinstance(key, str) else ""
        elif kind is ast.Call and child is not above.func and child not in above.args[:1]:
            yield looked_up(above) or ""
        if kind not in _PASSED_ON and not (kind in (ast.Attribute, ast.Call) and _writes(above, child)):
            return
        child = above


def _writes(above: Node, child: Node) -> bool:
    """`"cuda:{}".format(gpu)`"""
    return getattr(above, "attr", "") == "format" or getattr(child, "attr", "") == "format"
