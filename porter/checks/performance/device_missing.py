"""A tensor made in `forward` without a device that meets one of the model's: they are on different devices."""

from __future__ import annotations

from typing import Any

from porter.checks.performance import device_mismatch, prefilters
from porter.engine.nodes import dotted, with_keyword
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

FACTORIES = ("zeros", "ones", "empty", "full", "rand", "randn", "randint", "arange", "linspace", "eye", "tensor")
NUMBERS = ("Integer", "Float", "UnaryOperation", "Name", "Attribute", "Call", "BinaryOperation")


class DeviceMissing(Rule):
    code = "PRT637"
    calls = frozenset(f"torch.{name}" for name in FACTORIES)
    only = staticmethod(prefilters.makes_without_device)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if (
            file.tested  # where all lies on the host
            or any(a.star or a.keyword is not None and a.keyword.value in ("device", "out") for a in original.args)
            or not original.args
        ):
            return None
        first = original.args[0].value
        name = (file.name(original.func) or "").rpartition(".")[2]
        if (
            name == "tensor"
            and type(first).__name__ in NUMBERS
            or name != "tensor"
            and isinstance(first, cst.Tuple)
            and not first.elements
        ):
            return None  # a tensor without dimensions may meet any other
        link = file.scene.link(original)  # of `original.func`; link[1] is the link of the call
        if link is None or file.scene.where(link) != "forward" or file.source.says(b"set_default_device"):
            return None
        scene: Any = file.scene  # `met` asks more than the protocol of rules has
        # the parameter of `forward` that the result meets
        other = device_mismatch.met(scene, link)
        if other is None:
            return None
        new = with_keyword(updated, "device", dotted(f"{other}.device"))
        return Hit(original, "meets", new=new, values=(("name", f"torch.{name}()"), ("other", other)))
