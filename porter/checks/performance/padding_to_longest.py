"""Batches padded to their own longest sequence: nearly every batch has a shape of its own."""

from __future__ import annotations

import re

from porter.checks.performance import prefilters
from porter.engine.nodes import positional
from porter.engine.rule import Hit, Rule

PAD = "torch.nn.utils.rnn.pad_sequence"
COLLATORS = frozenset(
    f"transformers.DataCollator{name}"
    for name in ("WithPadding", "ForSeq2Seq", "ForTokenClassification", "ForLanguageModeling")
)
FIXED = re.compile(rb"(?i)token\w*\([^()]*padding\s*=\s*[\"']max_length|pad_to_max_length|packing\s*=\s*True")  # before
TRAINS = re.compile(rb"Trainer\b|\.train\(|backward\(")
LONGEST = r"padding\s*=\s*(?:True\b|[\"']longest[\"'])"


class PaddingToLongest(Rule):
    code = "PRT604"
    edits = False
    calls = {PAD, *COLLATORS}
    builtins = {"max"}
    nodes, text = ("Call",), LONGEST
    only = staticmethod(prefilters.pads)

    def visit(self, original, updated, file):
        name = file.name(original.func)
        if name in COLLATORS:
            return self._collator(original, name, file)
        why = file.tensors.padded(original)
        return Hit(original.func, why, values=file.session.anew) if why else None

    @staticmethod
    def _collator(original, name: str, file):
        says = file.source.says
        if any(a.star for a in original.args) or file.scene.apart or not says(TRAINS) or says(FIXED):
            return None
        if positional(original, None, ("pad_to_multiple_of",))[1] is not None:
            return None
        padding = positional(original, None, ("padding",))[1]
        if padding is not None and "max_length" in file.text(padding.value):
            return None
        return Hit(original.func, "collator", values=(("name", name.rpartition(".")[2]), *file.session.anew))
