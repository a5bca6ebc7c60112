"""`from transformers import AdamW`: gone with transformers 4.50; torch's own has other defaults."""

from __future__ import annotations

from porter.checks.support.fresh_environment import is_chosen, matters
from porter.engine.nodes import imported
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

_GONE = frozenset({"transformers.AdamW", "transformers.optimization.AdamW"})


class TransformersNames(Rule):
    code = "PRT717"
    edits = False
    references = _GONE
    nodes = ("ImportFrom",)
    text = r"\bAdamW\b"
    # most files import torch's
    only = staticmethod(lambda _, link: (link[0].module or "").startswith("transformers"))

    def visit(
        self, original: cst.Attribute | cst.Name | cst.ImportFrom, updated: cst.CSTNode, file: RuleFile
    ) -> Answer:
        # where the project holds on to an older transformers, nothing stops
        if not matters(file) or file.facts.lists.below("transformers>=4.50", file.path):
            return None
        if isinstance(original, cst.ImportFrom):
            is_gone = not _GONE.isdisjoint(imported(original)) and not file.imported.import_guard()
            return Hit(original, "default") if is_gone and not is_chosen(file.scene.link_to(file.statement)) else None
        if isinstance(original, cst.Name) or not file.around.is_read(original) or file.imported.optional(original):
            return None  # the import answers for its names
        if is_chosen(file.link(original)):
            return None
        return Hit(original, "default")
