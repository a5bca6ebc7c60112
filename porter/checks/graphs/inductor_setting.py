"""`torch._inductor.config.X`: settings of a code generator that an NPU replaces by its own."""

from __future__ import annotations

from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

CONFIG = "torch._inductor.config"
GPU = tuple(
    f"{CONFIG}.{name}"
    for name in """triton cuda rocm max_autotune max_autotune_gemm max_autotune_gemm_backends max_autotune_pointwise
    coordinate_descent_tuning coordinate_descent_check_all_directions use_mixed_mm force_fuse_int_mm_with_mul
    epilogue_fusion benchmark_kernel autotune_in_subproc autotune_multi_device mixed_mm_choice""".split()
)
# of the code that is written, how it is called and what is kept of it: no tuning
HARMLESS = frozenset(f"{CONFIG}.triton.{name}" for name in ("unique_kernel_names", "descriptive_names", "store_cubin"))
MARKS = frozenset({"torch.compiler.cudagraph_mark_step_begin", "torch._inductor.cudagraph_mark_step_begin"})
# npugraph_mark_step_begin: torch_npu/utils/_graph_tree.py of the wheels 2.6.0.post5 to 2.14.0 hangs it into torch.compiler
_MARKED_FROM = (2, 6)


class InductorSetting(Rule):
    code = "PRT504"
    edits = False
    references = MARKS
    prefixes = frozenset(GPU)

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        name = file.name(original) or ""
        if isinstance(original, cst.Name) or name in HARMLESS:
            return None
        why = "graphs" if name in MARKS or "cudagraph" in name else "setting"
        if name in MARKS and file.target.torch >= _MARKED_FROM:
            why = "marks"
        cause = ((TOGETHER, why),) if why == "setting" else ()  # the first of them speaks for all that a file tunes
        return Hit(original, why, values=(("name", name), *cause))
