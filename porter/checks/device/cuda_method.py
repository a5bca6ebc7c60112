"""`x.cuda(...)`: made `.npu(...)` unless the evidence speaks against it."""

from __future__ import annotations

from typing import Any

from porter.checks.device.device_argument import NAMES, certainty_of, index_of, keeps_literal, modern
from porter.checks.device.moved_tensors import is_dropped, is_tensor
from porter.checks.device.only_moved import only_moved
from porter.checks.device.other_class import kept_call
from porter.checks.device.storages import is_storage, of_storage
from porter.checks.device.summarised import is_summarised
from porter.engine.nodes import chain, moved_to
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile
from porter.native.gpu_tests import needed
from porter.python.assigned import is_set_again
from porter.python.own_moves import may_be_own

UNBOUND = ("torch.Tensor.cuda", "torch.nn.Module.cuda", "torch.nn.modules.Module.cuda")


class CudaMethod(Rule):
    code = "PRT130"
    methods = {"cuda"}
    attributes = {"cuda"}
    references = frozenset(UNBOUND)

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        return of_storage(self._answer(original, updated, file), original, file)

    def _answer(self, original: Any, updated: Any, file: RuleFile) -> Hit | None:
        attribute = original.func if isinstance(original, cst.Call) else original
        if file.name(attribute) in UNBOUND:
            return Hit(original, "reference", new=self._renamed(attribute, updated, file), safe=True, loads=True)
        receiver = file.receiver(attribute)
        if receiver == "other":
            return None
        if isinstance(original, cst.Attribute):
            return self._reference(original, updated, receiver, file)
        called = file.name(attribute)
        if called and file.facts.accelerators.functions.moves(called, file.path):
            return Hit(original, "function", values=(("name", file.text(attribute)),))
        updated = modern(updated)
        if file.tested and (end := needed(file, file.scene.link(original))):
            return Hit(original, "tested", values=(("what", end), (TOGETHER, end)))
        if is_summarised(file, file.scene.link(original)):
            return Hit(original, "summarised")
        new = file.style.method(updated, file)
        in_module = self._module_function(original, file)
        named = (a.keyword.value for a in original.args if a.keyword is not None)
        is_own = may_be_own(file.facts.own, named) and not is_storage(original, file)
        if receiver != "torch" and (receiver != "unknown" or in_module or is_own):
            why = "own" if receiver == "own" else "of-a-module" if in_module else "unknown"
            if not file.style.one_world:  # what the class defines stays and is ported; `to()` it may not have
                return kept_call(original, why, file)
            return Hit(original, why, new=new, values=_called(new), loads=True)
        libraries = file.facts.accelerators.moved_by_to
        if libraries and not self._made_by_torch(original, file) and not is_storage(original, file):
            moved, values = file.style.moved(updated, file), (("libraries", ", ".join(libraries)),)
            places = [a for a in original.args if a.keyword is None or a.keyword.value in NAMES]
            indexed = any(file.name(getattr(a.value, "func", a)) != "torch.cuda.current_device" for a in places)
            known = receiver == "torch" and not (file.style.one_world and only_moved(original, file))
            if moved and not indexed or not known and certainty_of(original, file) is None:
                if moved is None:  # `x.cuda(*args)`
                    return Hit(original, "unknown", new=new, values=_called(new), loads=True)
                return Hit(original, "moved", new=moved, safe=not indexed, values=values, loads=True)
        if (certainty := certainty_of(original, file)) is None:
            if (kind := index_of(original, file)) is None:
                why = "dropped" if is_dropped(original, file) else "call"
                return Hit(original, why, new=new, safe=True, values=_called(new), loads=True)
            safe, new = kind == "known" or file.style.one_world, file.style.method(updated, file, kind)
            return Hit(original, "call", new=new, safe=safe, values=_called(new), loads=True)
        safe = certainty != "likely" or file.target.int_is_npu
        if certainty != "known" and file.style.one_world and not file.target.int_is_npu and is_tensor(original, file):
            return Hit(original, "call", new=new, safe=safe, values=_called(new), loads=True)  # it takes an index, too
        new = None if keeps_literal(original, updated) else moved_to(updated)
        return Hit(original, "device" if safe else "device-or-index", new=new, safe=safe, loads=True)

    @staticmethod
    def _renamed(original: cst.BaseExpression, updated: Any, file: RuleFile) -> Any:
        if not isinstance(original, cst.Attribute):  # a name: ported by the import that binds it
            return updated
        return file.style.attribute(updated)

    @staticmethod
    def _module_function(original: cst.Call, file: RuleFile) -> bool:
        """`lib.cuda()` of an imported module is a function of that module, not a method. `import model` may be followed by
        `model = torch.load(path)`."""
        name, link = file.name(original.func), file.link(original.func)
        if name is None or link is None or name.count(".") != 1 or name.startswith("."):
            return False
        return not is_set_again(file.names, link)

    @staticmethod
    def _made_by_torch(original: cst.Call, file: RuleFile) -> bool:
        """`torch.zeros(2).cuda()`: what a loader hands out, or a method returns, may be of any class."""
        receiver = original.func.value if isinstance(original.func, cst.Attribute) else None
        return isinstance(receiver, cst.Call) and (file.name(receiver.func) or "").startswith("torch.")

    def _reference(self, original: cst.Attribute, updated: cst.Attribute, receiver: str, file: RuleFile) -> Hit | None:
        """`move = x.cuda`, `map(x.cuda, ids)`: only where x is known to be torch's; `args.cuda` is anything."""
        is_own = chain(original.value)[:1] in (["self"], ["cls"])
        if receiver != "torch" or is_own or not file.around.is_value(original):
            return None
        return Hit(original, "reference", new=self._renamed(original, updated, file), safe=True, loads=True)


def _called(new: Any) -> tuple[tuple[str, str], ...]:
    """What the style writes in the place of `.cuda()`, for the message; where it writes nothing, `.to()` is left."""
    return named(new=f".{new.func.attr.value}()" if new is not None else ".to()")
