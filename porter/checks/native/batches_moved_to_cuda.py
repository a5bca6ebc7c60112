"""Iterators of a torchtext that moves each batch with `.cuda(device)`: no device of an NPU reaches it."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile

_SINCE = "torchtext>=0.3.1"  # these take a torch.device
_MODULES = ("torchtext.data", "torchtext.data.iterator")
_ITERATORS = ("Iterator", "BucketIterator", "BPTTIterator")
_MADE = [f"{module}.{iterator}" for module in _MODULES for iterator in _ITERATORS]


class BatchesMovedToCuda(Rule):
    code = "PRT417"
    edits = False
    calls = frozenset({*_MADE, *(f"{name}.splits" for name in _MADE)})

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        asked = file.facts.lists.below(_SINCE, file.path)
        if not asked or file.target.shims:  # under the shim, `.cuda` goes to the NPU
            return None
        if any(argument.star for argument in original.args):
            return None
        given = next((file.text(a.value) for a in original.args if a.keyword and a.keyword.value == "device"), "None")
        if given == "-1":
            return None
        return Hit(original.func, "none" if given == "None" else "device", values=named(asked=asked))
