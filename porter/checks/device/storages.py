"""`storage.cuda()`: the `to()` of a storage takes no device by place, and came later than that of tensors. Before, torch's own
function that puts a loaded storage where it belongs does it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from porter.engine.nodes import dotted
from porter.engine.portable import TYPE
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name
from porter.python.host_loads import PLACE
from porter.python.index import FUNCTIONS, Node

_RESTORE = "default_restore_location"
_MOVE = (2, 4)  # the first torch whose storages have `to()`


def of_storage(hit: Hit | None, original: Any, file: RuleFile) -> Hit | None:
    """A hit of `x.cuda()` as it is where `x` is a storage."""
    if hit is None or hit.new is None or not is_storage(original, file):
        return hit
    new = _by_keyword(hit.new)
    if new is not hit.new and file.target.torch < _MOVE:
        put = _put(original, hit.new, file)
        return replace(hit, new=put) if put else Hit(original, "storage", loads=True)
    return replace(hit, new=new)


def _put(original: Any, moved: Any, file: RuleFile) -> cst.Call | None:
    """`torch.serialization.default_restore_location(storage, "npu:0")` for a call of `to`."""
    torch, place = file.imported.head(), moved.args[0].value
    if torch is None or len(moved.args) > 1:
        return None
    if isinstance(place, cst.Call) and len(place.args) == 2:  # torch.device(accelerator_type, index)
        index = file.text(original.args[0].value)
        if all(part.isidentifier() or part.isdecimal() for part in index.split(".")):
            place = cst.parse_expression(f'f"{{{TYPE}}}:{{{index}}}"')
        else:
            place = cst.Call(cst.Name("str"), [cst.Arg(place)])
    elif not isinstance(place, cst.Name):
        return None
    elif place.value != TYPE:  # a device of the user's: the function takes a string
        place = cst.Call(cst.Name("str"), [cst.Arg(place)])
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    args = [cst.Arg(moved.func.value, comma=comma), cst.Arg(place)]
    return cst.Call(dotted(f"{torch}.serialization.{_RESTORE}"), args, lpar=moved.lpar, rpar=moved.rpar)


def is_storage(call: cst.CSTNode, file: RuleFile) -> bool:
    """Whether `torch.FloatStorage(4)`, `x.untyped_storage()` or what torch hands to a function `map_location` is moved: its
    `to()` takes no device by place."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return False
    held = call.func.value
    if isinstance(held, cst.Call) and isinstance(held.func, cst.Attribute):
        if held.func.attr.value in ("storage", "untyped_storage"):
            return True
    if isinstance(held, cst.Name) and (held.value == "storage" or b"load" in file.source.words):
        if _is_handed_on(held.value, file.scene.link(call)):
            return True
    made = file.name(held.func) if isinstance(held, cst.Call) else file.meaning.made_by(held)
    return bool(made and made.startswith("torch.") and made.endswith("Storage"))


def _is_handed_on(name: str, link: Link | None) -> bool:
    """Whether a name is the first of the two parameters of a function that says where torch.load puts a storage. `to()` of a
    tensor takes its device by name as well, so that the words of the function are enough."""
    while link is not None:
        node: Node = link[0]
        if node.__class__ in FUNCTIONS:
            first = [parameter.arg for parameter in node.args.args][:1]
            return first == [name] and (name == "storage" or len(node.args.args) == 2 and _is_place(link))
        link = link[1]
    return False


def _is_place(link: Link) -> bool:
    """Whether a lambda is the `map_location` of a call: by its keyword, or as the second argument of `load`."""
    above = link[1]
    node: Node = above[0] if above is not None else None
    if node.__class__ is ast.Call:
        return call_name(node.func) == "load" and link[0] in node.args[1:2]
    return node.__class__ is ast.keyword and bool(node.arg == PLACE)


def _by_keyword(call: Any) -> Any:
    """`x.to(device)` as `x.to(device=device)`; anything else as it is."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.func.attr.value != "to":
        return call
    first, equal = call.args[0], cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    if first.keyword is not None or first.star:
        return call
    return call.with_changes(args=[first.with_changes(keyword=cst.Name("device"), equal=equal), *call.args[1:]])
