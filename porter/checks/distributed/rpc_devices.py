"""RPC that sends tensors from device to device: torch_npu has a backend and options of its own for it."""

from __future__ import annotations

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

OPTIONS = frozenset(f"torch.distributed.rpc.{module}TensorPipeRpcBackendOptions" for module in ("", "options."))
NEW = "torch_npu.distributed.rpc.options.NPUTensorPipeRpcBackendOptions"


class RpcDevices(Rule):
    code = "PRT212"
    edits = False
    calls = OPTIONS
    methods = {"set_device_map", "set_devices"}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.name(original.func) in OPTIONS:
            given = [positional(original, None, (name,)) for name in ("device_maps", "devices")]
            if not any(g is not None and g[1] is not None for g in given):
                return None
        elif not file.source.says(b"TensorPipeRpcBackendOptions"):
            return None
        return Hit(original.func, "options", values=(("new", NEW),))
