"""`x.cuda(...)`: made `.npu(...)` unless the evidence speaks against it."""

from __future__ import annotations

from porter.engine.nodes import chain
from porter.engine.rule import Hit, Rule, cst

UNBOUND = ("torch.Tensor.cuda", "torch.nn.Module.cuda", "torch.nn.modules.Module.cuda")


class CudaMethod(Rule):
    code = "PRT130"
    methods = {"cuda"}
    attributes = {"cuda"}
    references = frozenset(UNBOUND)

    def visit(self, original, updated, file):
        attribute = original.func if isinstance(original, cst.Call) else original
        if file.name(attribute) in UNBOUND:
            return Hit(original, "reference", new=self._renamed(attribute, updated, file), safe=True, loads=True)
        said = file.receiver(attribute)
        if said == "other":
            return None
        if isinstance(original, cst.Attribute):
            return self._reference(original, updated, said, file)
        new = file.style.method(updated, file)
        free = not file.facts.own.cuda and not self._module_function(original, file)
        if said == "torch" or said == "unknown" and free:
            return Hit(original, "call", new=new, safe=True, loads=True)
        return Hit(original, "own" if said == "own" else "unknown", new=new, loads=True)

    @staticmethod
    def _renamed(original, updated, file):
        if not isinstance(original, cst.Attribute):  # a name: ported by the import that binds it
            return updated
        return file.style.attribute(updated)

    @staticmethod
    def _module_function(original, file) -> bool:
        """`lib.cuda()` of an imported module is a function of that module, not a method."""
        name = file.name(original.func)
        return name is not None and name.count(".") == 1 and not name.startswith(".")

    def _reference(self, original, updated, said, file):
        """`move = x.cuda`, `map(x.cuda, ids)`: only where x is known to be torch's; `args.cuda` is anything."""
        if said != "torch" or chain(original.value)[:1] in (["self"], ["cls"]) or not file.around.is_value(original):
            return None
        return Hit(original, "reference", new=self._renamed(original, updated, file), safe=True, loads=True)
