"""`torch.profiler.profile(activities=[..., ProfilerActivity.CUDA])`: the NPU's profiler lies in torch_npu.profiler."""

from __future__ import annotations

import ast
from typing import Any

from porter.checks.graphs.profiler_use import MOVED, OLD, doubt, import_follows, needed, package
from porter.engine.nodes import chain, dotted
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile


class Profiler(Rule):
    code = "PRT505"
    references = frozenset({f"{OLD}.ProfilerActivity.CUDA", *(f"{OLD}.{name}" for name in MOVED)})

    def visit(self, original: cst.Attribute | cst.Name, updated: Any, file: RuleFile) -> Answer:
        name = file.name(original) or ""
        if isinstance(original, cst.Name) or not needed(file):
            return None  # ported by its import; or a recording of the CPU alone, which torch itself makes
        if name == f"{OLD}.ProfilerActivity" and file.around.member(original) not in (None, "CPU"):
            return None  # XPU, HPU: of the class that stays
        device = file.target.device.upper()
        new = f"{package(file)}.{name.removeprefix(f'{OLD}.').replace('CUDA', device)}"
        if any(api == f"{OLD}.ProfilerActivity.{device}" for api in file.apis):
            return Hit(original, "both", values=(("name", name), ("to", package(file)), (TOGETHER, device)))
        values, why, words = (("name", name), ("to", new)), doubt(file), chain(original)
        if why == "results":  # what it is there for would be gone
            if len(words) == 2:  # ProfilerActivity.CUDA: told where the class is imported
                return None
            return None if _is_type(file.link(original)) else Hit(original, why, values=(*values, (TOGETHER, why)))
        if len(words) == 2 and words[1] == "CUDA":  # ProfilerActivity.CUDA: the class is moved where it is imported
            node = updated.with_changes(attr=updated.attr.with_changes(value=device))
            return Hit(original, why or "name", new=node, safe=why is None, values=values)
        known = file.session.has(new.removesuffix(f".{device}"))
        if not known or not import_follows(file):
            return Hit(original, "by-hand", values=values)
        node = dotted(new).with_changes(lpar=updated.lpar, rpar=updated.rpar)
        return Hit(original, why or "name", new=node, safe=why is None, values=values, loads=True)


def _is_type(link: Link | None) -> bool:
    """Whether a name stands in an annotation: nothing is recorded there."""
    while link is not None and link[1] is not None:
        node, above = link[0], link[1][0]
        if node in (getattr(above, "annotation", None), getattr(above, "returns", None)):
            return True
        if isinstance(above, ast.stmt):
            return False
        link = link[1]
    return False
