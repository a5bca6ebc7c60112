"""`init_process_group(...)` in a program that never says which device a process uses: all ranks would share NPU 0."""

from __future__ import annotations

import ast
import re

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, parents, walk
from porter.python.parameters import defaults
from porter.regex import lazy
from porter.rulebook.table import any_of

CHOSEN = lazy(any_of("tells-its-device").encode())  # one is enough to stay silent
_OF_DEVICES, _OF_HOSTS = lazy(rb"(?i)[nh]ccl(?!_)"), lazy(rb"[\"'](?:gloo|mpi)[\"']")
# the program says itself that there is one process, and asks no launcher
_ALONE = lazy(rb"environ\[[\"']WORLD_SIZE[\"']\][ \t]*=[ \t]*[\"']1[\"']")
_ASKS = lazy(rb"[\"']WORLD_SIZE[\"'](?!\][ \t]*=[ \t]*[\"']1[\"'])")

_TAKE_RANKS = frozenset({"init_process_group", "print", "int", "str", "seed", "manual_seed", "DistributedSampler"})


class DeviceNotSet(Rule):
    code = "PRT204"
    calls = {"torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.source.says(CHOSEN) or self._other_backend(original, file) or _is_alone(original, file):
            return None
        rank, torch = file.meaning.local_rank(original.func), file.meaning.module_name(original.func, "torch")
        if rank is None or torch is None or not file.around.is_statement(original) or _is_any_backend(original, file):
            handed = _handed_on(original, file)
            return Hit(
                original.func, "handed-on" if handed else "by-hand", values=(("rank", handed),) if handed else ()
            )
        line = f"{torch}.{file.target.device}.set_device({rank})"
        return Hit(original.func, "missing", after=(line,), values=(("new", line),), loads=True)

    @staticmethod
    def _other_backend(call: cst.Call, file: RuleFile) -> bool:
        """gloo and mpi work on host memory; what `**options` hold nobody knows."""
        argument = positional(call, 0, ("backend",))
        if argument is None:
            return True
        value = argument[1] and argument[1].value
        if isinstance(value, cst.SimpleString):
            return not re.search("(?i)nccl|hccl|cuda|npu", value.value)
        if value is None:
            return False
        return names_hosts_alone(file)  # what the name holds is written here


def names_hosts_alone(file: RuleFile) -> bool:
    """Whether a file writes a backend that works on host memory, and none of devices."""
    return not file.source.says(_OF_DEVICES) and file.source.says(_OF_HOSTS)


def _is_alone(call: cst.Call, file: RuleFile) -> bool:
    """Whether there is one process in all, which may stay on NPU 0: `world_size=1`."""
    size = positional(call, 3, ("world_size",))
    if size is not None and size[1] is not None:
        return getattr(size[1].value, "value", "") == "1"
    return file.source.says(_ALONE) and not file.source.says(_ASKS)


def _is_any_backend(call: cst.Call, file: RuleFile) -> bool:
    """Whether callers hand the backend over: a group of gloo may have more ranks than the machine has devices."""
    argument, link = positional(call, 0, ("backend",)), file.link(call.func)
    name = getattr(argument[1].value, "value", "") if argument and argument[1] is not None else ""
    bound = file.names.bindings(name, link) if isinstance(name, str) and link is not None else ()
    functions = (binding[1][1][0] for binding in bound if binding[0].__class__ is ast.arg)
    return any(not _OF_DEVICES.search(str(constant(defaults(f).get(name))).encode()) for f in functions)


def _handed_on(call: cst.Call, file: RuleFile) -> str:
    """The rank that the function around hands to more than the group, which may choose the device: `Trainer(rank=rank)`."""
    link, given = file.link(call.func), positional(call, 4, ("rank",))
    rank = file.text(given[1].value) if given is not None and given[1] is not None else ""
    function = next((above for above in parents(link) if isinstance(above, FUNCTIONS[:2])), None) if link else None
    calls = (n for n in walk(function) if isinstance(n, ast.Call)) if function is not None else ()
    handed = any(
        getattr(argument, "id", "") == rank
        for one in calls
        if call_name(one.func) not in _TAKE_RANKS
        for argument in (*one.args, *(keyword.value for keyword in one.keywords))
    )
    return rank if handed else ""
