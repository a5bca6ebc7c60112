"""Processes started with fork: a child cannot use an NPU that its parent has touched."""

from __future__ import annotations

from porter.checks.build import positional
from porter.checks.rule import Hit, Rule, cst

MODULES = ("torch.multiprocessing", "multiprocessing")
CONTEXTS = frozenset(f"{m}.get_context" for m in MODULES)
SETTERS = frozenset(f"{m}.set_start_method" for m in MODULES)
STARTERS = frozenset({"torch.multiprocessing.start_processes", "torch.multiprocessing.spawn.start_processes"})
PROCESSES = frozenset(f"{m}.{name}" for m in MODULES for name in ("Process", "Pool"))


class ForkStart(Rule):
    code, slug = "PRT635", "fork-start"
    calls = {*CONTEXTS, *SETTERS, *STARTERS, *PROCESSES}
    only = "fork"

    def visit(self, original, updated, file):
        name = file.name(original.func)
        link = file.scene.link(original)
        if link is None or file.tested:
            return None
        if name in PROCESSES:  # Linux forks unless told otherwise
            found = file.scene.woken(link)
            return Hit(original.func, "asked", values=(("call", found),)) if found else None
        found = positional(original, 5, ("start_method",)) if name in STARTERS else positional(original, 0, ("method",))
        value = found and found[1] and found[1].value
        if not isinstance(value, cst.SimpleString) or value.evaluated_value != "fork":
            return None
        works = file.scene.children_work(link)  # on the device; None where that is not in sight
        return Hit(value, "fork") if works or works is None and name not in CONTEXTS else None
