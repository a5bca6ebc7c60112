"""Batches padded to their own longest sequence: nearly every batch has a shape of its own."""

from __future__ import annotations

import re

from porter.checks.build import positional
from porter.checks.rule import Hit, Rule

PAD = "torch.nn.utils.rnn.pad_sequence"
COLLATORS = frozenset(
    f"transformers.DataCollator{name}"
    for name in ("WithPadding", "ForSeq2Seq", "ForTokenClassification", "ForLanguageModeling")
)
TRAINS = re.compile(rb"Trainer\b|\.train\(|backward\(")
COLLATES = re.compile(r"(?i)collat")


class PaddingToLongest(Rule):
    code, slug = "PRT604", "padding-to-longest"
    calls = {PAD, *COLLATORS}

    def visit(self, original, updated, file):
        name = file.name(original.func)
        if name == PAD:
            link = file.scene.link(original)
            inside = link is not None and file.scene.first(link) and file.scene.inside(original, COLLATES)
            return Hit(original.func, "collate") if inside else None
        if any(a.star for a in original.args) or file.scene.apart or not TRAINS.search(file.source.utf8):
            return None
        if positional(original, None, ("pad_to_multiple_of",))[1] is not None:
            return None
        padding = positional(original, None, ("padding",))[1]
        if padding is not None and "max_length" in file.text(padding.value):
            return None
        return Hit(original.func, "collator", values=(("name", name.rpartition(".")[2]),))
