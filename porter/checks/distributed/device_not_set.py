"""`init_process_group(...)` in a program that never says which device a process uses: all ranks would share NPU 0."""

from __future__ import annotations

import ast
import re

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, parents, walk
from porter.regex import lazy
from porter.rulebook.table import any_of

CHOSEN = lazy(any_of("tells-its-device").encode())  # one is enough to stay silent

_TAKE_RANKS = frozenset({"init_process_group", "print", "int", "str", "seed", "manual_seed", "DistributedSampler"})


class DeviceNotSet(Rule):
    code = "PRT204"
    calls = {"torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.source.says(CHOSEN) or self._other_backend(original, file):
            return None
        rank, torch = file.meaning.local_rank(original.func), file.meaning.module_name(original.func, "torch")
        if rank is None or torch is None or not file.around.is_statement(original):
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
        return False


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
