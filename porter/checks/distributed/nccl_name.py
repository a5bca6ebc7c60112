"""`dist.Backend.NCCL`, `dist.is_nccl_available()`, `ProcessGroupNCCL`: names of torch.distributed that mean NCCL."""

from __future__ import annotations

from typing import Any

from porter.checks.device.import_parts import From
from porter.checks.distributed.by_value import by_value
from porter.engine.nodes import as_last, chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

MODULES = ("torch.distributed", "torch.distributed.distributed_c10d", "torch._C._distributed_c10d")
GROUP = "ProcessGroupNCCL"
RENAMED = {"NCCL": "HCCL", "is_nccl_available": "is_hccl_available"}  # torch_npu adds these names to torch.distributed
IMPORTED = {  # an import goes through the real package: torch.distributed has the name only once torch_npu is loaded
    "is_nccl_available": ("torch_npu.distributed", "is_hccl_available"),
    GROUP: ("torch_npu._C._distributed_c10d", "ProcessGroupHCCL"),
}


class NcclName(Rule):
    code = "PRT203"
    references = frozenset(
        [f"{m}.Backend.NCCL" for m in MODULES[:2]]
        + [f"{m}.is_nccl_available" for m in MODULES[:2]]
        + [f"{m}.{GROUP}" for m in MODULES]
    )
    calls = frozenset(f"{m}.is_nccl_available" for m in MODULES[:2])
    nodes = ("ImportFrom",)
    text = (r"\bis_nccl_available\b", rf"\b{GROUP}\b")

    def visit(self, original: cst.Attribute | cst.Name | cst.ImportFrom, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.ImportFrom):
            return self._import(original, updated, file) if file.style.one_world else None
        if not file.style.one_world:
            return self._portable(original, updated, file)
        if isinstance(original, cst.Call):
            return None  # its name is what changes
        name = file.name(original) or ""
        word = name.rpartition(".")[2]
        values: tuple[tuple[str, str], ...] = (("name", name),)
        if isinstance(original, cst.Name):
            return None  # ported by the import that binds it
        if word in RENAMED:
            new = updated.with_changes(attr=updated.attr.with_changes(value=RENAMED[word]))
            values = (*values, ("new", RENAMED[word]))
            return Hit(original, "renamed", new=new, safe=True, values=values, loads=True)
        module, new = IMPORTED[GROUP]
        if file.around.member(original) not in (None, "Options"):  # NCCL_CTA_POLICY_ZERO and its kin
            return Hit(original, "member", values=values)
        node = dotted(f"{module}.{new}").with_changes(lpar=updated.lpar, rpar=updated.rpar)
        return Hit(original, "group", new=node, values=(*values, ("new", f"{module}.{new}")), loads=True)

    @staticmethod
    def _portable(original: cst.Attribute | cst.Name | cst.Call, updated: Any, file: RuleFile) -> Hit | None:
        """`dist.is_backend_available(...)`, which every kind of device answers."""
        new: cst.BaseExpression | None
        if isinstance(original, cst.Call):
            name = file.name(original.func) or ""
            new = file.style.backend_asked(updated, file)
        else:
            name = file.name(original) or ""
            if name.endswith("available") and file.around.is_function(original):
                return None  # the call speaks
            new = file.style.backend(cst.SimpleString('"nccl"'), file) if name.endswith(".NCCL") else None
        word = RENAMED.get(name.rpartition(".")[2], IMPORTED[GROUP][1])
        more = by_value(file, file.link(original)) if new is not None else ()
        return Hit(original, "renamed", new=new, safe=True, values=(("name", name), ("new", word)), more=more)

    def _import(self, original: From, updated: From, file: RuleFile) -> Hit | None:
        """`from torch.distributed import is_nccl_available, ReduceOp`: the other names stay where they are."""
        if original.relative or original.module is None or isinstance(original.names, cst.ImportStar):
            return None
        module = ".".join(chain(original.module))
        indices = [i for i, a in enumerate(original.names) if a.name.value in IMPORTED] if module in MODULES else []
        if not indices:
            return None
        names = list(updated.names)
        moved, group = [], False
        for index in indices:
            old = original.names[index]
            package, new = IMPORTED[old.name.value]
            bound = old.asname.name.value if old.asname else old.name.value
            moved.append(f"from {package} import {new} as {bound}")
            group = group or old.name.value == GROUP
        values = (("name", f"{module}.{original.names[indices[0]].name.value}"), ("new", moved[0].partition(" as ")[0]))
        why = "group" if group else "imported"
        kept = [n for i, n in enumerate(names) if i not in indices]
        if not kept:
            package, names = moved[0].split()[1], [self._alias(line) for line in moved]
            new = updated.with_changes(module=dotted(package), names=names, lpar=None, rpar=None)
            if len(moved) > 1:
                return Hit(original, why, values=values)
            return Hit(original, why, new=new, safe=not group, values=values)
        if not updated.lpar:
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        elif len(names) - 1 in indices:
            kept[-1] = kept[-1].with_changes(comma=as_last(kept[-1].comma, names[-1].comma))
        new = updated.with_changes(names=kept)
        return Hit(original, why, new=new, safe=not group, values=values, after=tuple(moved))

    @staticmethod
    def _alias(line: str) -> cst.ImportAlias:
        _, _, _, new, _, bound = line.split()
        return cst.ImportAlias(cst.Name(new), asname=cst.AsName(cst.Name(bound)))
