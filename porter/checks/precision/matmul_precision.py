"""`torch.set_float32_matmul_precision("high")`: torch_npu never asks for it."""

from __future__ import annotations

from porter.checks.precision.tf32_switch import SWITCHES
from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class MatmulPrecision(Rule):
    code = "PRT304"
    calls = {"torch.set_float32_matmul_precision"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        switch = f"{file.target.namespace}.matmul.allow_hf32"
        switches = {switch, next(n for n, part in SWITCHES.items() if part == "matmul")}
        if not switches.isdisjoint(file.apis):
            return None  # the file sets the real switch too, or will once PRT303 is applied
        argument = positional(original, 0, ("precision",))
        value = argument[1].value if argument and argument[1] else None
        if isinstance(value, cst.SimpleString):
            setting = "False" if value.evaluated_value == "highest" else "True"
        else:
            setting = f'{file.text(value)} != "highest"' if value is not None else ""
        values = (("new", f"{switch} = {setting}" if setting else switch),)
        if setting == "False":
            return Hit(original, "highest", values=values)
        torch = file.meaning.module_name(original.func, "torch")
        plain = setting and "\n" not in setting and file.around.is_statement(original) and file.session.has(switch)
        if torch is None or not plain:
            return Hit(original, "high", values=values)
        line = f"{torch}.{switch.partition('.')[2]} = {setting}"
        return Hit(original, "high", after=(line,), values=values, loads=True)
