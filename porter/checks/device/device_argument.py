"""What `x.cuda(device)` is given, and `x.to(...)` in its place."""

from __future__ import annotations

from typing import Any

from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

_INDEX = lazy(r"(?i)(?:rank|gpus?|ids?|id_|idx|index|ordinal|num|get_device|current_device)$|^[a-z]$")
_DEVICE = lazy(r"(?i)(?:^|_)dev(?:ice)?s?$")


def certainty_of(call: cst.Call, file: RuleFile) -> str | None:
    """Of `x.cuda(device)`: 'known' for a device, 'likely' for what may be one; None for an index, which `npu()` takes, and
    without an argument. A module's `npu()` takes nothing but an index."""
    given = next((a.value for a in call.args if a.keyword is None or a.keyword.value == "device"), None)
    if given is None or any(a.star for a in call.args):
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
        return "known"
    return None if isinstance(given, cst.Call) else "likely"


def keeps_literal(original: cst.Call, updated: cst.Call) -> bool:
    """Whether the name of a device among the arguments stays as it is, as the style has no spelling for it."""
    return any(isinstance(a.value, cst.BaseString) and a.value is b.value for a, b in zip(original.args, updated.args))


def moved_to(call: Any) -> Any:
    """`x.to(device, non_blocking=True)`: what stands behind the device has other places there."""
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    names = ("", "non_blocking", "memory_format")
    args = [
        a.with_changes(keyword=cst.Name(names[index]), equal=plain) if index and a.keyword is None else a
        for index, a in enumerate(call.args)
    ]
    return call.with_changes(func=call.func.with_changes(attr=call.func.attr.with_changes(value="to")), args=args)
