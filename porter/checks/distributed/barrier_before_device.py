"""`dist.barrier()` between the start of a group and `set_device`: HCCL's meets on the current device, NCCL's on that of the rank."""

from __future__ import annotations

import ast

from porter.checks.distributed.device_not_set import names_hosts_alone
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, ancestors, walk

_STARTS, _CHOOSES = "init_process_group", "set_device"
# collectives before this one, and what else makes a device current
_EARLIER = frozenset({"all_reduce", "broadcast", "all_gather", "reduce", "device"})


class BarrierBeforeDevice(Rule):
    code = "PRT219"
    edits = False
    calls = {"torch.distributed.barrier", "torch.distributed.distributed_c10d.barrier"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        if original.args or link is None or names_hosts_alone(file):
            return None
        return Hit(original, "default") if _is_early(link) else None


def _is_early(link: Link) -> bool:
    """Whether the function around starts the group before this call, and chooses the device only after it."""
    function = next((up[0] for up in ancestors(link) if isinstance(up[0], FUNCTIONS[:2])), None)
    nodes = walk(function) if function is not None else ()
    calls = sorted((n for n in nodes if n.__class__ is ast.Call), key=lambda n: (n.lineno, n.col_offset))
    names = [call_name(call.func) for call in calls]
    at = next((n for n, call in enumerate(calls) if call.func is link[0]), 0)
    if _STARTS not in names[:at] or _CHOOSES not in names[at:]:
        return False
    start = calls[names.index(_STARTS)]
    bound = any(keyword.arg == "device_id" for keyword in start.keywords)
    return not bound and {_CHOOSES, *_EARLIER}.isdisjoint(names[:at])
