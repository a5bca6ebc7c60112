"""`x[mask] = scalar`: written as an index it is a scatter of unknown size, written as a fill it is one kernel."""

from __future__ import annotations

from typing import Any

from porter.checks.performance import prefilters
from porter.engine.rule import Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

_WHOLE = lazy(r"(-?\d{1,3})(?:\.0*)?")


class MaskAssignment(BatchRule):
    code = "PRT602"
    nodes = ("Assign", "AugAssign")
    only = staticmethod(prefilters.assigns_by_mask)

    def visit(self, original: cst.Assign | cst.AugAssign, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.AugAssign):
            return Hit(original.target, "added") if file.tensors.mask_assigned() else None
        target = original.targets[0].target
        if len(original.targets) != 1 or not isinstance(target, cst.Subscript) or len(target.slice) != 1:
            return None
        # of the statement: None | "other" (no mask of its own shape) | "likely" | "certain"; `x[mask] = y[mask]` has one mask
        mask = file.tensors.mask_assigned()
        if mask is None:
            return None
        value = file.text(original.value)
        if merges := isinstance(original.value, cst.Subscript):
            new = self._merged(updated, file)
        else:
            new = self._filled(updated)
        if mask == "other" or new is None or "#" in file.text(original):  # a comment would be lost
            return Hit(target, "other-mask")
        values = (("new", " ".join(cst.Module([]).code_for_node(new).rstrip("; ").split())),)
        if merges:
            return Hit(target, "merged", new=new, safe=mask == "certain", values=values)
        safe = mask == "certain" and _is_small(value)
        return Hit(target, "equal" if safe else "fill", new=new, safe=safe, values=values)

    @staticmethod
    def _merged(updated: Any, file: RuleFile) -> cst.Expr | None:
        """`x.copy_(torch.where(mask, y, x))` for `x[mask] = y[mask]`."""
        target, index = updated.targets[0].target, updated.value.slice[0].slice
        if file.names.torch is None or not isinstance(index, cst.Index) or index.star:
            return None
        inner = (index.value, updated.value.value, target.value)
        where = cst.Call(
            cst.Attribute(cst.Name(file.names.torch), cst.Name("where")), [cst.Arg(node) for node in inner]
        )
        copied = cst.Call(cst.Attribute(target.value, cst.Name("copy_")), [cst.Arg(where)])
        return cst.Expr(copied, semicolon=updated.semicolon)

    @staticmethod
    def _filled(updated: Any) -> cst.Expr | None:
        target = updated.targets[0].target
        index = target.slice[0].slice
        if not isinstance(index, cst.Index) or index.star:
            return None
        func = cst.Attribute(target.value, cst.Name("masked_fill_"))
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args = [cst.Arg(index.value, comma=comma), cst.Arg(updated.value)]
        return cst.Expr(cst.Call(func, args), semicolon=updated.semicolon)


def _is_small(value: str) -> bool:
    """A whole number of one byte: every signed dtype has it, while a fill refuses what overflows one."""
    whole = _WHOLE.fullmatch(value)
    return whole is not None and -128 <= int(whole[1]) <= 127
