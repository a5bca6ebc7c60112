"""`x.cuda(...)`: made `.npu(...)` unless the evidence speaks against it."""

from __future__ import annotations

from typing import Any

from porter.engine.nodes import chain
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.native.gpu_tests import needed
from porter.regex import lazy

UNBOUND = ("torch.Tensor.cuda", "torch.nn.Module.cuda", "torch.nn.modules.Module.cuda")

_INDEX = lazy(r"(?i)(?:rank|gpus?|ids?|id_|idx|index|ordinal|num|get_device|current_device)$|^[a-z]$")
_DEVICE = lazy(r"(?i)(?:^|_)dev(?:ice)?s?$")


class CudaMethod(Rule):
    code = "PRT130"
    methods = {"cuda"}
    attributes = {"cuda"}
    references = frozenset(UNBOUND)

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        attribute = original.func if isinstance(original, cst.Call) else original
        if file.name(attribute) in UNBOUND:
            return Hit(original, "reference", new=self._renamed(attribute, updated, file), safe=True, loads=True)
        receiver = file.receiver(attribute)
        if receiver == "other":
            return None
        if isinstance(original, cst.Attribute):
            return self._reference(original, updated, receiver, file)
        if file.tested and (end := needed(file, file.scene.link(original))):
            return Hit(original, "tested", values=(("what", end), (TOGETHER, end)))
        new = file.style.method(updated, file)
        free = not file.facts.own.cuda and not self._module_function(original, file)
        if receiver != "torch" and not (receiver == "unknown" and free):
            return Hit(original, "own" if receiver == "own" else "unknown", new=new, loads=True)
        if (libraries := file.facts.own.moved_by_to) and not self._made_by_torch(original, file):
            moved, values = file.style.moved(updated, file), (("libraries", ", ".join(libraries)),)
            if moved or receiver != "torch" and _device(original, file) is None:
                return Hit(original, "moved", new=moved or new, safe=moved is not None, values=values, loads=True)
        if (certainty := _device(original, file)) is None:
            return Hit(original, "call", new=new, safe=True, loads=True)
        safe = certainty == "known" or file.target.int_is_npu
        new = None if _keeps_literal(original, updated) else _moved_to(updated)
        return Hit(original, "device", new=new, safe=safe, loads=True)

    @staticmethod
    def _renamed(original: cst.BaseExpression, updated: Any, file: RuleFile) -> Any:
        if not isinstance(original, cst.Attribute):  # a name: ported by the import that binds it
            return updated
        return file.style.attribute(updated)

    @staticmethod
    def _module_function(original: cst.Call, file: RuleFile) -> bool:
        """`lib.cuda()` of an imported module is a function of that module, not a method."""
        name = file.name(original.func)
        return name is not None and name.count(".") == 1 and not name.startswith(".")

    @staticmethod
    def _made_by_torch(original: cst.Call, file: RuleFile) -> bool:
        """`torch.zeros(2).cuda()`: what a loader hands out, or a method returns, may be of any class."""
        receiver = original.func.value if isinstance(original.func, cst.Attribute) else None
        return isinstance(receiver, cst.Call) and (file.name(receiver.func) or "").startswith("torch.")

    def _reference(self, original: cst.Attribute, updated: cst.Attribute, receiver: str, file: RuleFile) -> Hit | None:
        """`move = x.cuda`, `map(x.cuda, ids)`: only where x is known to be torch's; `args.cuda` is anything."""
        if (
            receiver != "torch"
            or chain(original.value)[:1] in (["self"], ["cls"])
            or not file.around.is_value(original)
        ):
            return None
        return Hit(original, "reference", new=self._renamed(original, updated, file), safe=True, loads=True)


def _device(call: cst.Call, file: RuleFile) -> str | None:
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


def _keeps_literal(original: cst.Call, updated: cst.Call) -> bool:
    """Whether the name of a device among the arguments stays as it is, as the style has no spelling for it."""
    return any(isinstance(a.value, cst.BaseString) and a.value is b.value for a, b in zip(original.args, updated.args))


def _moved_to(call: Any) -> Any:
    """`x.to(device, non_blocking=True)`: what stands behind the device has other places there."""
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    names = ("", "non_blocking", "memory_format")
    args = [
        a.with_changes(keyword=cst.Name(names[index]), equal=plain) if index and a.keyword is None else a
        for index, a in enumerate(call.args)
    ]
    return call.with_changes(func=call.func.with_changes(attr=call.func.attr.with_changes(value="to")), args=args)
