"""`nonzero`, one-argument `where`, `unique`, boolean indexing: how large the result is only the device knows."""

from __future__ import annotations

import re

from porter.checks.build import positional
from porter.checks.rule import Hit, Rule, cst

NAMES = ("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive")
SUPPRESSION = ("nms", "batched_nms")
COUNTS = re.compile(r"(?i)(?:lens|lengths?|counts?|durations?|repeats?_?tensor|sizes)$")
LONGEST = 40  # of a piece of source in a message


class DataDependentShape(Rule):
    code, slug = "PRT601", "data-dependent-shape"
    calls = frozenset(
        [f"torch.{name}" for name in (*NAMES, "where", "repeat_interleave")]
        + [f"torchvision.ops.{name}" for name in SUPPRESSION]
        + [f"torchvision.ops.boxes.{name}" for name in SUPPRESSION]
    )
    methods = {*NAMES, "repeat_interleave"}
    nodes = ("Subscript",)
    only = "shape"

    def visit(self, original, updated, file):
        if type(original).__name__ == "Subscript":
            return self._selection(original, updated, file) if file.scene.reads_mask(original) else None
        link = file.scene.link(original)
        if link is None or not file.scene.matters(link) or file.scene.repeats(link):
            return None
        name = file.name(original.func)
        last = (name or original.func.attr.value).rpartition(".")[2]
        if name is not None and name not in self.calls or name is None and file.receiver(original) == "other":
            return None
        if not self._depends(last, original, name is None, file):
            return None
        return self._hit(original.func, f"{last}()" if name is None else name, file)

    def _selection(self, original, updated, file):
        torch = next((name for name, full in sorted(file.names.plain.items()) if full == "torch"), None)
        sure = file.scene.summed(original) if torch else None
        if not sure:
            return self._hit(original, file.text(original), file)
        inner = (updated.slice[0].slice.value, updated.value, cst.Integer("0"))
        where = cst.Call(cst.Attribute(cst.Name(torch), cst.Name("where")), [cst.Arg(node) for node in inner])
        new = where.with_changes(lpar=updated.lpar, rpar=updated.rpar)
        return Hit(original, "summed", new=new, safe=sure == "certain", values=(("name", _short(file.text(original))),))

    @staticmethod
    def _depends(last: str, call, method: bool, file) -> bool:
        if any(a.star for a in call.args):
            return False
        if last == "where":  # with three arguments the shape is known
            return len(call.args) == 1
        if last != "repeat_interleave":
            return True
        found = positional(call, 0 if method else 1, ("repeats",))
        if found is None or found[1] is None or positional(call, None, ("output_size",))[1] is not None:
            return False
        return bool(COUNTS.search(file.text(found[1].value).removesuffix("()")))

    @staticmethod
    def _hit(at, name: str, file):
        return Hit(at, "compiled" if file.target.early else "shape", values=(("name", _short(name)),))


def _short(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."
