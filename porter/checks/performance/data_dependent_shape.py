"""`nonzero`, one-argument `where`, `unique`, boolean indexing: how large the result is only the device knows."""

from __future__ import annotations

import ast
from typing import Any

from porter.checks.performance.selection import averaged, chosen, counted, has_no_zero, repeats, short
from porter.engine.nodes import positional
from porter.engine.rule import TOGETHER, Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Link
from porter.python.waits import SIZED_BY_VALUES
from porter.regex import lazy
from porter.training import fixed_masks, host_masks, mask_queries
from porter.training.dynamic_sizes import SHAPE, SIZE
from porter.training.kept_selections import what_is_kept

SUPPRESSION = ("nms", "batched_nms")
COUNTS = lazy(r"(?i)(?:lens|lengths?|counts?|durations?|repeats?_?tensor|sizes)$")


class DataDependentShape(BatchRule):
    code = "PRT601"
    calls = frozenset(
        [f"torch.{name}" for name in (*SIZED_BY_VALUES, "where", "repeat_interleave")]
        + [f"torchvision.ops.{name}" for name in SUPPRESSION]
        + [f"torchvision.ops.boxes.{name}" for name in SUPPRESSION]
    )
    methods = {*SIZED_BY_VALUES, "repeat_interleave", *mask_queries.ASKED} - {"len"}
    builtins = {"len"}
    nodes = ("Subscript",)
    only = staticmethod(mask_queries.depends_on_data)

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        if type(original).__name__ == "Subscript":
            return self._selection(original, updated, file) if file.tensors.reads_mask(original) else None
        link, name = file.scene.link(original), file.name(original.func)
        if link is None or not file.scene.matters(link) or name is None and file.receiver(original) == "other":
            return None
        called = (name or getattr(original.func, "attr", original.func).value).rpartition(".")[2]
        if called in mask_queries.ASKED and name is None:
            return self._asked(original, updated, called, link, file)
        if repeats(link) or name is not None and name not in self.calls:
            return None
        scene: Any = file.scene
        if not self._depends(called, original, name is None, file) or mask_queries.is_settled(scene, link[1]):
            return None
        if called == "masked_select" and fixed_masks.selects(scene, link, is_method=name is None):
            return Hit(original, "fixed", values=(("name", short(file.text(original))), (TOGETHER, "fixed")))
        values = file.tensors.followed(original, SHAPE)
        return hit(original.func, f"{called}()" if name is None else name, values, file)

    def _selection(self, original: cst.Subscript, updated: cst.Subscript, file: RuleFile) -> Hit | None:
        scene: Any = file.scene
        link = scene.link_of(original, ast.Subscript)
        if link is not None and host_masks.selects_on_host(link[0].slice, scene, link):
            return None
        if link is not None and fixed_masks.is_fixed(link[0].slice, scene, link):
            return Hit(original, "fixed", values=(("name", short(file.text(original))), (TOGETHER, "fixed")))
        if link is not None and (kept := what_is_kept(scene, link)):
            told = Hit(original, kept, values=(("name", short(file.text(original))), (TOGETHER, kept)))
            return None if kept == "updated" else told
        if link is not None and fixed_masks.is_even(link):
            return Hit(original, "even", values=(("name", short(file.text(original))), (TOGETHER, "even")))
        certainty = file.tensors.summed(original) if file.names.torch else None
        if not certainty:
            values = file.tensors.followed(original, SHAPE)
            return hit(original, file.text(original), values, file)
        new = chosen(updated, file).with_changes(lpar=updated.lpar, rpar=updated.rpar)
        return Hit(
            original, "summed", new=new, safe=certainty == "certain", values=(("name", short(file.text(original))),)
        )

    @staticmethod
    def _asked(original: cst.Call, updated: cst.Call, called: str, link: Link, file: RuleFile) -> Hit | None:
        scene: Any = file.scene
        why = mask_queries.asks(scene, link)
        if why is None or why != "size" and not file.names.torch:
            return None
        if why == "size":
            return hit(original, f".{called}()", file.tensors.followed(original, SIZE), file, "size")
        new = (counted if why == "counted" else averaged)(updated, file)
        new = new.with_changes(lpar=updated.lpar, rpar=updated.rpar)
        return Hit(original, why, new=new, safe=why == "counted", values=(("name", short(file.text(original))),))

    @staticmethod
    def _depends(called: str, call: cst.Call, is_method: bool, file: RuleFile) -> bool:
        if any(a.star for a in call.args):
            return False
        if called == "nonzero":
            asked = call.func.value if isinstance(call.func, cst.Attribute) and is_method else call.args[0].value
            return not has_no_zero(asked, file)
        if called == "where":  # with three arguments the shape is known
            return len(call.args) == 1
        if called != "repeat_interleave":
            return True
        given = positional(call, 0 if is_method else 1, ("repeats",))
        if given is None or given[1] is None or positional(call, None, ("output_size",)) != (None, None):
            return False
        return bool(COUNTS.search(file.text(given[1].value).removesuffix("()")))


def hit(
    node: cst.BaseExpression, name: str, values: tuple[tuple[str, str], ...] | None, file: RuleFile, why: str = "shape"
) -> Hit | None:
    """A finding, unless nothing follows from the shape."""
    if values is None:
        return None
    return Hit(node, "compiled" if file.session.compiles else why, values=(("name", short(name)), *values))
