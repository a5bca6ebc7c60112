"""Cross-entropy over a vocabulary, with nothing but defaults: one fused operator can make it."""

from __future__ import annotations

from porter.checks.performance import prefilters
from porter.checks.performance.opportunity import Opportunity, Seen
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

VOCABULARY = lazy(r"(?i)vocab|logits\.(?:size\(-1\)|shape\[-1\])|n_?tokens?\b")


class VocabularyLoss(Opportunity):
    code = "PRT616"
    offers = "torch_npu.npu_cross_entropy_loss"
    calls = {"torch.nn.functional.cross_entropy"}
    only = staticmethod(prefilters.is_flattened)

    def find(self, original: cst.Call, file: RuleFile) -> Seen | None:
        if len(original.args) != 2 or any(a.star or a.keyword for a in original.args):
            return None  # for a backward pass the operator takes the defaults alone
        logits = original.args[0].value
        flat = (
            isinstance(logits, cst.Call)
            and isinstance(logits.func, cst.Attribute)
            and logits.func.attr.value in ("view", "reshape")
        )
        if not flat or not VOCABULARY.search(file.text(logits)):
            return None
        return original.func, "default", ()
