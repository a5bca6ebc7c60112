"""DropPath draws its random numbers in the forward pass; torch_npu has one that draws them ahead, on another stream."""

from __future__ import annotations

from porter.checks.performance.opportunity import Opportunity, Seen
from porter.engine.nodes import imported
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile

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
            is_drop_path = original.name.value == "DropPath" and any(
                (file.name(b.value) or "").endswith("nn.Module") for b in original.bases
            )
            return (original.name, "own", ()) if is_drop_path else None
        is_timm = "timm" in file.path.split("/")[:-1]  # then the class is in sight, and says it once for all
        return (original, "timm", ()) if not is_timm and not TIMM.isdisjoint(imported(original)) else None
