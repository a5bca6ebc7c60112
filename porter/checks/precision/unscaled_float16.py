"""float16 autocast around a backward pass with no GradScaler in sight."""

from __future__ import annotations

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

CALLS = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast", "torch.cuda.amp.autocast")
HALVES = frozenset({"torch.float16", "torch.half"})
_SCALES = lazy(rb"(?i)scaler|scale_loss|loss_scale")


class UnscaledFloat16(Rule):
    code = "PRT315"
    edits = False
    calls = frozenset(CALLS)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if not file.source.says(b".backward(") or file.source.says(_SCALES) or file.tested:
            return None
        if any(arg.keyword is not None and arg.keyword.value == "enabled" for arg in original.args):
            return None  # mostly False, or decided where the scaler is made
        argument = positional(original, 1, ("dtype",))
        if argument is None or argument[1] is not None and file.name(argument[1].value) not in HALVES:
            return None
        return Hit(original, "default" if argument[1] is None else "named")
