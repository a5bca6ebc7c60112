"""`torch.cuda.get_device_properties(0).major`: what a GPU says of itself and an NPU does not."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

NOTHING = ("max_threads_per_multi_processor", "warp_size", "regs_per_multiprocessor")
SHARED = "shared_memory_per_"
ABSENT = ("max_threads_per_block", f"{SHARED}block", f"{SHARED}block_optin", f"{SHARED}multiprocessor", "pci_bus_id")
KEYS = {"major": "capability", "minor": "capability", "multi_processor_count": "count"}
KEYS |= dict.fromkeys(NOTHING, "nothing") | dict.fromkeys(ABSENT, "absent")
CAPABILITY = frozenset({"major", "minor", "warp_size", "regs_per_multiprocessor"})
_COUNTED_SINCE = (2, 12)  # from this torch on each torch_npu gives the number of vector cores; before, some give None
MAKERS = frozenset(f"torch.{module}.get_device_properties" for module in ("cuda", "npu"))


class DeviceProperties(Rule):
    code = "PRT140"
    edits = False
    attributes = frozenset(KEYS)

    def visit(self, original: cst.Attribute, updated: cst.Attribute, file: RuleFile) -> Answer:
        value = original.value
        maker = file.name(value.func) if isinstance(value, cst.Call) else file.meaning.made_by(value)
        if maker not in MAKERS:
            return None
        name = original.attr.value
        if isinstance(value, cst.Call) and name in CAPABILITY and maker.startswith("torch.cuda."):
            return None  # PRT110, which leaves the call as it is
        is_known = KEYS[name] == "count" and file.target.torch >= _COUNTED_SINCE
        return Hit(original, KEYS[name], values=(("name", name),), severity="note" if is_known else None)
