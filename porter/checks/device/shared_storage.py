"""`storage._share_cuda_()`, `rebuild_cuda_tensor`: tensors that processes on one machine share, as RLHF hands weights on."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

METHODS = {"_share_cuda_": "_share_npu_", "_new_shared_cuda": "_new_shared_npu"}
REBUILD = "torch.multiprocessing.reductions.rebuild_cuda_tensor"
OURS = "torch_npu.multiprocessing.reductions.rebuild_npu_tensor"


class SharedStorage(Rule):
    code = "PRT147"
    attributes = frozenset(METHODS)
    references = frozenset({REBUILD, "torch.UntypedStorage._new_shared_cuda"})

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute, file: RuleFile) -> Answer:
        old = file.text(original).rpartition(".")[2]
        if not file.session.has(OURS):
            return Hit(original, "absent", values=(("old", old),))
        if not isinstance(original, cst.Attribute) or old not in METHODS:
            return Hit(original, "rebuilt", values=(("old", old), ("new", OURS)))
        new = updated.with_changes(attr=cst.Name(METHODS[old]))
        return Hit(original, "shared", new=new, values=(("old", old), ("new", METHODS[old])))
