"""`"torch.cuda.FloatTensor"` as a string, and the default tensor type; the classes themselves stand in rules/*.toml."""

from __future__ import annotations

from typing import Any

from porter.checks.device.after_default import back_on_cpu
from porter.engine.nodes import chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.unmoved import IN_LAYERS

DTYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}  # what may be a default
SETTER = "set_default_tensor_type"


def is_left(name: str, file: RuleFile) -> bool:
    """Whether a call of that name sets a default type for which the style has no spelling here: the call stays."""
    return name == f"torch.{SETTER}" and file.style.device_type(file) is None


class TypedTensor(Rule):
    code = "PRT106"
    calls = {f"torch.{SETTER}"}
    literals = {"tensor-type"}

    def visit(self, original: cst.Call | cst.BaseString, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Call):
            return self._default(original, updated, file)
        if not isinstance(original, cst.SimpleString) or file.around.is_within(original, SETTER):
            return None
        if file.source.says(SETTER.encode()) and file.around.is_kept(original):
            return Hit(original, "setter-computed")  # it may end up there, where torch.npu's name raises
        old = str(original.evaluated_value)
        to = old.replace("torch.cuda", file.target.namespace, 1)
        if not file.session.has(to.replace(".sparse.", ".")):  # torch names sparse ones after the dense
            return Hit(original, "absent", values=(("name", old),))
        new = updated.with_changes(value=updated.value.replace("torch.cuda", file.target.namespace, 1))
        return Hit(original, "string", new=new, safe=True, values=(("name", old), ("to", to)), loads=True)

    def _default(self, original: cst.Call, updated: Any, file: RuleFile) -> Hit | None:
        """`set_default_tensor_type` refuses the classes of torch_npu: dtype and device are set apart."""
        if len(original.args) != 1 or original.args[0].star:
            return Hit(original, "setter-computed")
        value = original.args[0].value
        name = value.evaluated_value if isinstance(value, cst.SimpleString) else file.name(value)
        if isinstance(name, str) and name.startswith("torch.") and name.endswith("Tensor") and name.count(".") == 1:
            return None  # a type of the CPU
        words, kind = chain(original.func), str(name).removeprefix("torch.cuda.").removesuffix("Tensor")
        if len(words) != 2 or kind not in DTYPES or not file.around.is_statement(original):
            return Hit(original, "setter-computed")
        placed = file.style.device_type(file)
        where = cst.Module([]).code_for_node(placed) if placed else f'"{file.target.device}"'
        device = f"{words[0]}.set_default_device({where})"
        back = back_on_cpu(original, words[0], file)
        place = dict(file.facts.once.unmoved).get(file.path, "")
        if file.facts.once.unmoved and (back is None or place.endswith(IN_LAYERS)):
            place = place.removesuffix(IN_LAYERS)
            why = "setter-by-hand" if place else "setter-elsewhere"
            return Hit(original, why, values=(("device", device), ("place", place)))
        func = updated.func.with_changes(attr=cst.Name("set_default_dtype"))
        new = updated.with_changes(func=func, args=[cst.Arg(dotted(f"{words[0]}.{DTYPES[kind]}"))])
        values, more = (("device", device),), (back,) if back else ()
        return Hit(original, "setter", new=new, after=(device,), more=more, loads=True, values=values)
