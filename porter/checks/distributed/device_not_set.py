"""`init_process_group(...)` in a program that never says which device a process uses: all ranks would share NPU 0."""

from __future__ import annotations

import re

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.rulebook.table import any_of

CHOSEN = lazy(any_of("tells-its-device").encode())  # one is enough to stay silent


class DeviceNotSet(Rule):
    code = "PRT204"
    calls = {"torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.source.says(CHOSEN) or self._other_backend(original, file):
            return None
        rank, torch = file.meaning.local_rank(original.func), file.meaning.module_name(original.func, "torch")
        if rank is None or torch is None or not file.around.is_statement(original):
            return Hit(original.func, "by-hand")
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
