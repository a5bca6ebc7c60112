"""`torch.sparse.mm(adjacency, x)`: torch_npu builds sparse tensors, and has no kernel for what is made of them."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class SparseProduct(Rule):
    code = "PRT706"
    edits = False
    calls = {
        "torch.spmm", "torch.smm", "torch.hspmm", "torch.sspaddmm", "torch.sparse.mm", "torch.sparse.addmm",
        "torch.sparse.sampled_addmm", "torch.sparse.softmax", "torch.sparse.log_softmax",
    }  # fmt: skip

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        return Hit(original.func, "default", values=(("name", file.name(original.func) or ""),))
