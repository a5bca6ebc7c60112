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


def _is_harmless(link: Link | None) -> bool:
    """`flags(enabled=False)`: nothing of it has a counterpart, and nothing has to have one."""
    while link is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
    call: Node = link and link[1][0]
    return call.__class__ is ast.Call and not call.args and all(k.arg in HARMLESS for k in call.keywords)
