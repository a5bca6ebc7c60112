"""Processes started with fork: a child cannot use an NPU that its parent has touched."""

from __future__ import annotations

from porter.checks.build import positional
from porter.checks.rule import Hit, Rule, cst

from .loader_arguments import LOADERS

MODULES = ("torch.multiprocessing", "multiprocessing")
SETTERS = frozenset(f"{m}.{name}" for m in MODULES for name in ("set_start_method", "get_context"))
STARTERS = frozenset({"torch.multiprocessing.start_processes", "torch.multiprocessing.spawn.start_processes"})


PROCESSES = frozenset(f"{m}.{name}" for m in MODULES for name in ("Process", "Pool"))


class ForkStart(Rule):
    code, slug = "PRT635", "fork-start"
    calls = {*SETTERS, *STARTERS, *LOADERS, *PROCESSES}
    only = "fork"

    def visit(self, original, updated, file):
        name = file.name(original.func)
        if name in PROCESSES:  # Linux forks unless told otherwise
            link = file.scene.link(original)
            found = file.scene.woken(link) if link is not None and not file.tested else None
            return Hit(original.func, "asked", values=(("call", found),)) if found else None
        if name in SETTERS:
            found = positional(original, 0, ("method",))
        elif name in STARTERS:
            found = positional(original, 5, ("start_method",))
        else:
            found = positional(original, None, ("multiprocessing_context",))
        value = found and found[1] and found[1].value
        fork = not file.tested and isinstance(value, cst.SimpleString) and value.evaluated_value == "fork"
        return Hit(value, "fork") if fork else None
