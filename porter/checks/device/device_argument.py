"""What `x.cuda(device)` is given."""

from __future__ import annotations

import ast

from porter.engine.nodes import chain
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.regex import lazy

_INDEX = lazy(r"(?i)(?:rank|gpus?|ids?|id_|idx|index|ordinal|num|get_device|current_device)$|^[a-z]$")
_MAKER = "torch.device"
_DEVICE = lazy(r"(?i)(?:^|_)dev(?:ice)?s?$")

NAMES = ("device", "device_id")  # of the first argument of `cuda()`; torch 0.3 called it by the second


def modern(call: cst.Call) -> cst.Call:
    """The call without the name that today's torch does not know."""
    named = [arg.keyword is not None and arg.keyword.value == "device_id" for arg in call.args]
    if named[:1] != [True]:
        return call
    return call.with_changes(
        args=[call.args[0].with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT), *call.args[1:]]
    )


def certainty_of(call: cst.Call, file: RuleFile) -> str | None:
    """Of `x.cuda(device)`: 'known' for a device, 'named' for what is called one, 'likely' for what may be one; None for an index, which `npu()` takes, and
    without an argument. A module's `npu()` takes nothing but an index."""
    given = _given(call)
    if given is None:
        return None
    if _is_read_off(given, file):
        return "known"
    if file.meaning.int_kind(given) or file.meaning.may_be_none(given):
        return None
    if isinstance(given, (cst.SimpleString, cst.FormattedString)):
        return "known"
    maker = file.name(given.func) if isinstance(given, cst.Call) else file.meaning.made_by(given)
    if maker == _MAKER:
        return "known"
    if isinstance(given, cst.Attribute) and ".".join(chain(given)) in _kept_devices(file):
        return "likely"
    while isinstance(given, cst.Subscript):  # device_ids[0]
        given = given.value
    node = given.func if isinstance(given, cst.Call) else given
    word = getattr(getattr(node, "attr", node), "value", "")
    if not isinstance(word, str) or word == "None" or _INDEX.search(word):
        return None
    if _DEVICE.search(word):
        return "named"
    return None if isinstance(given, cst.Call) else "likely"


def _is_read_off(given: cst.BaseExpression, file: RuleFile) -> bool:
    """`device_id` after `device_id = weights.device`, whatever its name says."""
    link = file.link(given) if isinstance(given, cst.Name) else None
    bound = file.names.bindings(link[0].id, link) if link is not None else ()
    values = [getattr(up and up[0], "value", None) for _, up in bound]
    return bool(values) and all(isinstance(value, ast.Attribute) and value.attr == "device" for value in values)


@once_for_file
def _kept_devices(file: RuleFile) -> frozenset[str]:
    """What the file sets to a device anywhere: "args.gpu" of `args.gpu = torch.device("cuda", args.gpu)`."""
    assignments = file.buckets.get(ast.Assign, ()) if file.source.says(_MAKER.encode()) else ()
    return frozenset(
        ast.unparse(target)
        for link in assignments
        if isinstance(link[0].value, ast.Call) and file.names.resolve(link[0].value.func, link) == _MAKER
        for target in link[0].targets
        if isinstance(target, ast.Attribute)
    )


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
    return next((a.value for a in call.args if a.keyword is None or a.keyword.value in NAMES), None)


def keeps_literal(original: cst.Call, updated: cst.Call) -> bool:
    """Whether the name of a device among the arguments stays as it is, as the style has no spelling for it."""
    return any(isinstance(a.value, cst.BaseString) and a.value is b.value for a, b in zip(original.args, updated.args))
