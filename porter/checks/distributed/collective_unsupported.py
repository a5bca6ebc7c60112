"""Collectives that HCCL does not have, and those that torch_npu makes of others."""

from __future__ import annotations

from porter.checks.rule import Hit, Rule

MODULES = ("torch.distributed", "torch.distributed.distributed_c10d")
BITWISE = ("BAND", "BOR", "BXOR")
GATHERS = ("gather", "gather_object")


class CollectiveUnsupported(Rule):
    code, slug = "PRT208", "collective-unsupported"
    references = frozenset(f"{m}.{kind}.{op}" for m in MODULES for kind in ("ReduceOp", "reduce_op") for op in BITWISE)
    calls = frozenset(f"{m}.{name}" for m in MODULES for name in GATHERS)

    def visit(self, original, updated, file):
        name = file.name(original)
        if name is not None:
            return Hit(original, "bitwise", values=(("name", name.rpartition(".")[2]),))
        return Hit(original.func, "gather", values=(("name", file.name(original.func)),))
