"""What `x.cuda(device)` is given."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name
from porter.python.host_loads import PLACE
from porter.python.index import FUNCTIONS, Node
from porter.regex import lazy

_INDEX = lazy(r"(?i)(?:rank|gpus?|ids?|id_|idx|index|ordinal|num|get_device|current_device)$|^[a-z]$")
_DEVICE = lazy(r"(?i)(?:^|_)dev(?:ice)?s?$")


def certainty_of(call: cst.Call, file: RuleFile) -> str | None:
    """Of `x.cuda(device)`: 'known' for a device, 'named' for what is called one, 'likely' for what may be one; None for an index, which `npu()` takes, and
    without an argument. A module's `npu()` takes nothing but an index."""
    given = _given(call)
    if given is None:
        return None
    if file.meaning.int_kind(given) or file.meaning.may_be_none(given):
        return None
    if isinstance(given, (cst.SimpleString, cst.FormattedString)):
        return "known"
    maker = file.name(given.func) if isinstance(given, cst.Call) else file.meaning.made_by(given)
    if maker == "torch.device":
        return "known"
    while isinstance(given, cst.Subscript):  # device_ids[0]
        given = given.value
    node = given.func if isinstance(given, cst.Call) else given
    word = getattr(getattr(node, "attr", node), "value", "")
    if not isinstance(word, str) or word == "None" or _INDEX.search(word):
        return None
    if _DEVICE.search(word):
        return "named"
    return None if isinstance(given, cst.Call) else "likely"


def index_of(call: cst.Call, file: RuleFile) -> str | None:
    """Asked where `certainty_of` answers None. Of the index that `x.cuda(rank)` is given: 'known', 'likely', or 'nothing'
    where it may be None; None without an argument."""
    given = _given(call)
    if given is None:
        return None
    is_none = isinstance(given, cst.Name) and given.value == "None"
    return "nothing" if is_none or file.meaning.may_be_none(given) else file.meaning.int_kind(given) or "likely"


def _given(call: cst.Call) -> cst.BaseExpression | None:
    if any(a.star for a in call.args):
        return None
    return next((a.value for a in call.args if a.keyword is None or a.keyword.value == "device"), None)


def keeps_literal(original: cst.Call, updated: cst.Call) -> bool:
    """Whether the name of a device among the arguments stays as it is, as the style has no spelling for it."""
    return any(isinstance(a.value, cst.BaseString) and a.value is b.value for a, b in zip(original.args, updated.args))


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


def by_keyword(call: Any) -> Any:
    """`x.to(device)` as `x.to(device=device)`; anything else as it is."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.func.attr.value != "to":
        return call
    first, equal = call.args[0], cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    if first.keyword is not None or first.star:
        return call
    return call.with_changes(args=[first.with_changes(keyword=cst.Name("device"), equal=equal), *call.args[1:]])
