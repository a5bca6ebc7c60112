"""Finds batches that are padded to their own longest sequence, or resized to a size that is drawn: each has its own shape."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Node, RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import ancestors
from porter.regex import lazy

PAD = "torch.nn.utils.rnn.pad_sequence"
RESIZE = "torch.nn.functional.interpolate"
COLLATORS = frozenset(
    f"transformers.DataCollator{name}"
    for name in ("WithPadding", "ForSeq2Seq", "ForTokenClassification", "ForLanguageModeling")
)
# samples come to the collator with a fixed length: from a tokenizer, because they are packed, or cut into rows of one length
FIXED = lazy(
    rb"(?i)token\w*\([^()]*padding\s*=\s*[\"']max_length|pad_to_max_length|packing\s*=\s*True"
    rb"|\.view\(\s*-1,\s*\w*(?:context|block|seq)_?\w*(?:len|size)\w*\)"
    rb"|[\"']input_ids[\"'](?:\s*\])?\s*[:=][^\n]*\.(?:view|reshape)\(\s*-1\s*,\s*[a-z_]\w*\s*\)"
    rb"|\[\s*(\w+)\s*:\s*\1\s*\+\s*\w+\s*\]\s*for\s+\1\s+in\s+range\(\s*0\s*,"
    rb"|(?<!\w)TextDataset\([^()]*\bblock_size\b"  # of transformers, or one like it: `LineByLineTextDataset` cuts nothing
    rb"|=\s*\(\s*(\w+)\s*\+\s*1\s*\)\s*\*\s*\(?\s*(?:self\.)?\w*(?:chunk|block|context|seq)\w*_(?:size|len)"
)
TRAINS = lazy(rb"Trainer\b|\.train\(|backward\(")
LONGEST = r"padding\s*=\s*(?:True\b|[\"']longest[\"'])"


class PaddingToLongest(Rule):
    code = "PRT604"
    edits = False
    calls = {PAD, RESIZE, *COLLATORS}
    builtins = {"max"}
    nodes, text = ("Call",), LONGEST
    only = staticmethod(prefilters.pads)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func)
        if name in COLLATORS:
            return self._collator(original, name, file)
        if name == RESIZE:
            link = file.scene.link(original)
            drawn = link is not None and not file.tested and file.glance(prefilters.pads, link)
            return Hit(original.func, "drawn", values=file.session.anew) if drawn else None
        why = file.tensors.padded(original)  # of training/padding.py: collate | tokenizer | by-hand | cut
        if why == "cut" and not file.session.compiles:
            why = "cut-planned"
        return Hit(original.func, why, values=file.session.anew) if why else None

    @staticmethod
    def _collator(original: cst.Call, name: str, file: RuleFile) -> Hit | None:
        says = file.source.says
        if any(a.star for a in original.args) or file.scene.apart or not says(TRAINS) or says(FIXED):
            return None
        _, multiple = positional(original, None, ("pad_to_multiple_of",)) or (None, None)
        if multiple is not None:
            return None
        _, padding = positional(original, None, ("padding",)) or (None, None)
        if padding is not None and "max_length" in file.text(padding.value):
            return None
        if _one_by_one(original, file):
            return None
        return Hit(original.func, "collator", values=(("name", name.rpartition(".")[2]), *file.session.anew))


def _one_by_one(original: cst.Call, file: RuleFile) -> bool:
    """`DataLoader(samples, collate_fn=DataCollatorWithPadding(tokenizer))` takes one sample at a time, which pads nothing."""
    link = file.link(original.func)
    loader: Node = next(
        (up[0] for up in ancestors(link) if call_name(getattr(up[0], "func", None)) == "DataLoader"), None
    )
    if loader is None or not any(k.arg == "collate_fn" for k in loader.keywords) or len(loader.args) > 1:
        return False
    given = {k.arg: k.value for k in loader.keywords}
    one = "batch_size" not in given or constant(given["batch_size"]) == 1
    return one and None not in given and "batch_sampler" not in given
