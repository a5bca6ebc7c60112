"""`torch.backends.cudnn.deterministic = True` and its kin: settings of libraries that an NPU does not have.

`benchmark` and `enabled` have no effect there and do no harm: the inventory counts them.
"""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile

CUDNN, CUDA = "torch.backends.cudnn", "torch.backends.cuda"
ASKED = (f"{CUDNN}.is_available", f"{CUDA}.is_built")
DETERMINISTIC = f"{CUDNN}.deterministic"
ALGORITHMS = frozenset({"torch.use_deterministic_algorithms", "torch.set_deterministic_debug_mode"})
FLAGS = f"{CUDNN}.flags"
WHY = {**dict.fromkeys(ASKED, "asked"), FLAGS: "flags"}
HARMLESS = frozenset({"enabled", "benchmark", "benchmark_limit"})  # which choose among cuDNN's own


class CudaBackendSetting(Rule):
    code = "PRT305"
    references = frozenset({*WHY, DETERMINISTIC})

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        name = file.name(original) or ""
        values = (("name", name),)
        if name == DETERMINISTIC:
            return self._deterministic(original, values, file)
        if file.around.is_set(original) or name == FLAGS and _is_harmless(file.link(original)):
            return None
        if name == ASKED[0] and _is_condition(file.link(original)) and (spelled := _of_the_npu(original, file)):
            new = cst.parse_expression(spelled)
            return Hit(original, "condition", new=new, values=(*values, ("new", spelled)), loads=True)
        return Hit(original, WHY[name], values=values)

    @staticmethod
    def _deterministic(
        original: cst.Attribute | cst.Name, values: tuple[tuple[str, str], ...], file: RuleFile
    ) -> Hit | None:
        value = file.around.assigned(original)
        if getattr(value, "value", None) is False or file.around.is_read(original) or isinstance(original, cst.Name):
            return None
        if not ALGORITHMS.isdisjoint(file.apis):
            return Hit(original, "deterministic-set", values=values)
        torch = file.meaning.module_name(original, "torch")
        text = "" if value is None else file.source.utf8[slice(*file.source.span(value))].decode("utf-8")
        if not text or "\n" in text or torch is None:
            return Hit(original, "deterministic", values=values)
        line = f"{torch}.use_deterministic_algorithms({text}, warn_only=True)"
        return Hit(original, "deterministic", after=(line,), values=values)


def _of_the_npu(original: cst.Attribute | cst.Name, file: RuleFile) -> str | None:
    """`torch.npu.is_available`, as the file calls torch."""
    torch = file.meaning.module_name(original, "torch")
    full = file.style.name("is_available", "is_available", file) if file.style.one_world else None
    return None if full is None or torch is None else torch + full.removeprefix("torch")


def _is_condition(link: Link | None) -> bool:
    """Whether an `if` asks by itself, or together with others: what it guards is meant to run beside an accelerator."""
    while link is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
    if link is None or link[1][0].__class__ is not ast.Call or link[1][0].func is not link[0]:
        return False
    link = link[1]
    while link[1][0].__class__ in (ast.BoolOp, ast.UnaryOp):
        link = link[1]
    return link[1][0].__class__ is ast.If and link[1][0].test is link[0]


def _is_harmless(link: Link | None) -> bool:
    """`flags(enabled=False)`: nothing of it has a counterpart, and nothing has to have one."""
    while link is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
    call: Node = link and link[1][0]
    return call.__class__ is ast.Call and not call.args and all(k.arg in HARMLESS for k in call.keywords)
