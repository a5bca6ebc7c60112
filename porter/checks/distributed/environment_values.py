"""Says what becomes of a variable: it is set in a copy of the environment, or to what holds without it."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import ancestors, walk


def is_in_copy(target: ast.Name, link: Link, file: RuleFile) -> bool | None:
    """Whether a mapping is a copy of the environment that is not written back; None where it is no copy."""
    names: Any = file.names
    if not any(_is_copy(value, file, link) for value in values_of(names, target, link)):
        return None
    readers = names.readers(target.id, link)
    return not names.once("goes back", readers, lambda: any(_goes_back(use, file) for use in readers))


def _is_copy(value: Node, file: RuleFile, link: Link) -> bool:
    """`os.environ.copy()`, `dict(os.environ)`, `{**os.environ}`, `os.environ | {...}`: what is written there stays there."""
    if value.__class__ is ast.Call:
        func, args = value.func, value.args
        copied = func.value if isinstance(func, ast.Attribute) and func.attr == "copy" else None
        copied = args[0] if isinstance(func, ast.Name) and func.id == "dict" and args else copied
    elif value.__class__ is ast.Dict:
        copied = next((v for k, v in zip(value.keys, value.values, strict=True) if k is None), None)
    else:
        copied = value.left if value.__class__ is ast.BinOp else None
    return copied is not None and file.names.resolve(copied, link) == "os.environ"


def _goes_back(use: Link, file: RuleFile) -> bool:
    """`os.environ.update(env)`, `os.environ.update(**env)`, `os.environ |= env`"""
    up: Any = use[1]
    if up and up[0].__class__ is ast.keyword and up[0].arg is None:
        up = up[1]
    above: Node = up and up[0]
    if above.__class__ is ast.AugAssign:
        return file.names.resolve(above.target, use) == "os.environ"
    return above.__class__ is ast.Call and file.names.resolve(above.func, use) == "os.environ.update"


def names_all(link: Link, file: RuleFile) -> bool:
    """Whether the variable is set to all devices, if they were counted: `",".join(map(str, range(torch.cuda.device_count())))`.
    That changes nothing. Another branch may name fewer, if none but the branch that names all has counted them."""
    above = next((up for up in ancestors(link) if up[0].__class__ is ast.Assign), None)
    join: Node = above and above[0].value
    if above is None or join.__class__ is not ast.Call or call_name(join.func) != "join" or len(join.args) != 1:
        return False
    given: Node = join.args[0]
    if isinstance(given, (ast.GeneratorExp, ast.ListComp)):
        given = given.generators[0].iter if _is_of_each(given) else None
    elif given.__class__ is ast.Call and call_name(given.func) == "map":
        given = given.args[-1]
    names: Any = file.names
    named = values_of(names, given, above) if given.__class__ is ast.Name else [given]
    ways = [way for value in named for way in _ways(value)]
    all_named = [way for way in ways if _is_range_of_all(way)]
    if len(all_named) == len(ways):
        return bool(ways)
    scene: Any = file.scene
    return bool(all_named) and all(file.tensors.touched_before(scene.link_to(way)) is None for way in all_named)


def _is_of_each(made: ast.GeneratorExp | ast.ListComp) -> bool:
    """`str(x) for x in gpus`, and not `"0" for x in gpus`."""
    one = made.generators[0]
    named = {node.id for node in walk(made.elt) if node.__class__ is ast.Name}
    return not one.ifs and getattr(one.target, "id", "") in named


def _ways(value: Node) -> tuple[Node, ...]:
    return (value.body, value.orelse) if value.__class__ is ast.IfExp else (value,)


def _is_range_of_all(value: Node) -> bool:
    """`range(torch.cuda.device_count())`, also in a list."""
    while value.__class__ is ast.Call and call_name(value.func) in ("list", "range") and len(value.args) == 1:
        value = value.args[0]
    return value.__class__ is ast.Call and call_name(value.func) == "device_count"
