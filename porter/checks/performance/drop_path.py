"""DropPath draws its random numbers in the forward pass; torch_npu has one that draws them ahead, on another stream."""

from __future__ import annotations

import ast

from porter.checks.performance.opportunity import Opportunity, Seen
from porter.engine.nodes import imported
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.python.walks import walk

TIMM = frozenset(
    f"timm.{module}.DropPath" for module in ("layers", "layers.drop", "models.layers", "models.layers.drop")
)


class DropPath(Opportunity):
    code = "PRT617"
    offers = "torch_npu.contrib.module.NpuDropPath"
    imports = {"timm"}
    nodes = ("ClassDef",)
    text = r"class\s+DropPath\b"

    def find(self, original: cst.ClassDef | cst.Import | cst.ImportFrom, file: RuleFile) -> Seen | None:
        if file.facts.once.drop_path not in ("", file.path):
            return None
        if isinstance(original, cst.ClassDef):
            is_module = any((file.name(b.value) or "").endswith("nn.Module") for b in original.bases)
            is_drop_path = original.name.value == "DropPath" and is_module and _drops_samples(file.statement)
            return (original.name, "own", ()) if is_drop_path else None
        is_timm = "timm" in file.path.split("/")[:-1]  # then the class is in sight, and says it once for all
        return (original, "timm", ()) if not is_timm and not TIMM.isdisjoint(imported(original)) else None


def _drops_samples(owner: ast.AST) -> bool:
    """Whether it takes one tensor and drops what comes out of it: one that skips a module it holds only has the name."""
    forward = next((n for n in getattr(owner, "body", ()) if getattr(n, "name", "") == "forward"), None)
    if not isinstance(forward, ast.FunctionDef):
        return False
    given = forward.args
    takes_one = len(given.args) == 2 and not given.vararg and not given.kwarg and not given.kwonlyargs
    return takes_one and not any(map(_is_part, walk(forward)))


def _is_part(node: ast.AST) -> bool:
    """`self.module(x)`"""
    func = getattr(node, "func", None)
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
