"""Settings of the fusers behind TorchScript: of no effect on an NPU. Told once for each file.

What is scripted runs there as it is: the inventory counts it, and of a whole model `torch.jit.script(model)` speaks PRT509.
"""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

FUSERS = frozenset(
    ["torch.jit.fuser", "torch.jit.set_fusion_strategy"]
    + [f"torch._C._jit_{n}" for n in "set_nvfuser_enabled set_texpr_fuser_enabled override_can_fuse_on_gpu".split()]
    + [f"torch._C._jit_{n}" for n in "override_can_fuse_on_cpu set_profiling_executor set_profiling_mode".split()]
    + ["torch._C._debug_set_autodiff_subgraph_inlining"]
)


class TorchScript(Rule):
    code = "PRT501"
    edits = False
    references = FUSERS

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if file.tested or not file.meaning.mentions.is_first(original, FUSERS):
            return None
        return Hit(original, "fuser", values=(("name", file.name(original) or ""),))
