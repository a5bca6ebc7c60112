"""`@torch.jit.script` and settings of the fusers behind it: kept, and of less use on an NPU. Told once for each file.

Calls, `torch.jit.script(model)`, are the matter of PRT509 (torchscript_call.py): here only decorators and values count.
"""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Link

MARKS = frozenset(f"torch.jit.{name}" for name in "script script_method".split())
FUSERS = frozenset(
    ["torch.jit.fuser", "torch.jit.set_fusion_strategy"]
    + [f"torch._C._jit_{n}" for n in "set_nvfuser_enabled set_texpr_fuser_enabled override_can_fuse_on_gpu".split()]
    + [f"torch._C._jit_{n}" for n in "override_can_fuse_on_cpu set_profiling_executor set_profiling_mode".split()]
    + ["torch._C._debug_set_autodiff_subgraph_inlining"]
)


class TorchScript(Rule):
    code = "PRT501"
    edits = False
    references = MARKS | FUSERS

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if file.tested:
            return None
        name = file.name(original) or ""
        values = (("name", name),)
        if name in FUSERS:
            return Hit(original, "fuser", values=values) if file.meaning.mentions.is_first(original, FUSERS) else None
        if file.around.is_function(original):  # what a call calls: PRT509
            return None
        first = next((link for link in file.meaning.mentions.of(MARKS) if not _called(link)), None)
        is_first = first is not None and file.source.span(first[0])[0] == file.span(original)[0]
        return Hit(original, "compiles", values=values) if is_first else None


def _called(link: Link) -> bool:
    return getattr(link[1][0], "func", None) is link[0]
