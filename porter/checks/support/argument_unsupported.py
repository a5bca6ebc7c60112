"""Arguments that the tables of torch_npu leave out, of functions that they list: `topk(sorted=False)`."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.training.there_and_back import stays_on_host

# resolved name -> the argument, and the values of it that the tables do cover
LIMITS = {
    "torch.nn.LSTM": ("proj_size", ("0",)),
    "torch.nn.KLDivLoss": ("log_target", ("False",)),
    "torch.nn.functional.kl_div": ("log_target", ("False",)),
    "torch.nn.functional.interpolate": ("scale_factor", ("None",)),
    "torch.topk": ("sorted", ("True",)),
}
_SWITCHES = ("sorted", "log_target")
_OF_TENSORS = {"topk": "torch.topk"}
_ARGUMENTS = frozenset(argument for argument, _ in LIMITS.values())
# the size has the same ratio to the size before
_WHOLE = lazy(r"[(\[]?[1-9]\d*(?:\.0*)?(?:,\s*[1-9]\d*(?:\.0*)?)*,?[)\]]?")
_WORKERS = lazy(r"(?i)collate(?!d)")  # what makes batches lies on the CPU


class ArgumentUnsupported(Rule):
    code = "PRT710"
    edits = False
    calls = frozenset(LIMITS)
    methods = tuple(_OF_TENSORS)
    # few calls name such an argument: the others are not parsed for it
    only = staticmethod(lambda _, link: any(keyword.arg in _ARGUMENTS for keyword in link[1][0].keywords))

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func) or ""
        if name not in LIMITS and isinstance(original.func, cst.Attribute):
            name = _OF_TENSORS.get(original.func.attr.value, "")
        if name not in LIMITS or file.tested or file.scene.inside(original, _WORKERS, dataset=True):
            return None
        if file.scene.makes_items(original):
            return None
        argument, covered = LIMITS[name]
        given = next((a for a in original.args if a.keyword is not None and a.keyword.value == argument), None)
        if given is None or file.text(given.value) in covered:
            return None
        text = file.text(given.value)
        if argument == "scale_factor" and (_becomes_a_size(original) or _either(original, given, file)):
            return None
        if argument == "scale_factor" and _is_of_host(original, file):
            return None
        if argument in _SWITCHES and text not in ("True", "False"):
            return None  # computed: nobody knows
        spelled = argument if argument == "scale_factor" else f"{argument}={text}"
        values = (("argument", spelled), ("name", name.rpartition(".")[2]))
        why = "whole" if argument == "scale_factor" and _WHOLE.fullmatch(text) else argument.replace("_", "-")
        return Hit(given, why, values=values)


def _is_of_host(call: cst.Call, file: RuleFile) -> bool:
    """Whether what is scaled lies on the host: it was fetched from the device, or is sent there later."""
    scene: Any = file.scene
    link = scene.link(call) if file.source.says(b"cpu") else None
    return link is not None and bool(link[1][0].args) and stays_on_host(scene, link[1][0].args[0], link)


def _either(call: cst.Call, given: cst.Arg, file: RuleFile) -> bool:
    """Whether a size is handed over as well, and the factor is a name that is None where there is one: torch takes one of them."""
    sized = any(a.keyword is not None and a.keyword.value == "size" and file.text(a.value) != "None" for a in call.args)
    link = file.link(call.func) if sized and isinstance(given.value, cst.Name) else None
    bound = file.names.bindings(file.text(given.value), link) if link is not None else ()
    values = (binding[1][0].value for binding in bound if binding[1] and isinstance(binding[1][0], ast.Assign))
    return any(isinstance(value, ast.Constant) and value.value is None for value in values)


def _becomes_a_size(call: cst.Call) -> bool:
    """Whether torch makes a size of the factor, and hands that to the kernel: `recompute_scale_factor=True`."""
    return any(
        a.keyword is not None
        and a.keyword.value == "recompute_scale_factor"
        and getattr(a.value, "value", "") not in ("False", "None")
        for a in call.args
    )
