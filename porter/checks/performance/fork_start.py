"""Processes started with fork: a child cannot use an NPU that its parent has touched."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

MODULES = ("torch.multiprocessing", "multiprocessing")
CONTEXTS = frozenset(f"{m}.get_context" for m in MODULES)
SETTERS = frozenset(f"{m}.set_start_method" for m in MODULES)
STARTERS = frozenset({"torch.multiprocessing.start_processes", "torch.multiprocessing.spawn.start_processes"})
LAUNCHERS = frozenset({"torch.distributed.launcher.LaunchConfig", "torch.distributed.launcher.api.LaunchConfig"})
PROCESSES = frozenset(f"{m}.{name}" for m in MODULES for name in ("Process", "Pool"))


class ForkStart(Rule):
    code = "PRT635"
    edits = False
    calls = {*CONTEXTS, *SETTERS, *STARTERS, *LAUNCHERS, *PROCESSES}
    only = staticmethod(prefilters.may_fork)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func)
        link = file.scene.link(original)
        if link is None or file.tested:
            return None
        if name in PROCESSES:  # Linux forks unless told otherwise
            call = file.tensors.woken(link)
            return Hit(original.func, "asked", values=(("call", call),)) if call else None
        place = 5 if name in STARTERS else None if name in LAUNCHERS else 0
        argument = positional(original, place, ("method",) if place == 0 else ("start_method",))
        value = argument[1].value if argument and argument[1] else None
        if not isinstance(value, cst.SimpleString) or value.evaluated_value != "fork":
            return None
        if name in LAUNCHERS:  # of what trains
            return Hit(value, "fork")
        works = file.tensors.children_work(link)  # on the device; None where that is not in sight
        return Hit(value, "fork") if works or works is None and name not in CONTEXTS else None
