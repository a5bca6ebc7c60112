"""`torch.amp.GradScaler()`, FSDP's `ShardedGradScaler()`: they scale for CUDA unless they are told another device."""

from __future__ import annotations

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

SHARDED = "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler"
TAKES_DEVICE = (2, 3)  # before, the sharded one is for CUDA whatever it is told


class GradScalerDevice(Rule):
    code = "PRT302"
    calls = {"torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler", SHARDED}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.name(original.func) == SHARDED and file.target.torch < TAKES_DEVICE:
            return Hit(original.func, "sharded")
        argument = positional(original, 0, ("device",))
        if argument is None:
            return Hit(original.func, "starred")
        if argument[1] is not None:
            return None
        device = file.style.device_type(file)
        new = device and updated.with_changes(args=[cst.Arg(device), *updated.args])
        values = (("new", f'"{file.target.device}"'),)
        return Hit(original.func, "missing", new=new, safe=True, values=values, loads=True)
