"""A Trainer of transformers that trains in float16 with torch's fused AdamW: accelerate scales with torch_npu's GradScaler."""

from __future__ import annotations

from porter.engine.nodes import positional, with_keyword
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import hints

_FUSED, _PLAIN = "adamw_torch_fused", "adamw_torch"
_DEFAULT_SINCE = (2, 8)  # of torch: from there on the fused one is what `optim` is, unless it is said
# `fp16` is then on wherever it trains on a device
_ANY_DEVICE = ("torch.cuda.is_available", "torch.accelerator.is_available")
_OTHERS = ("deepspeed", "fsdp", "fsdp_config")  # scale in their own way


class TrainerLossScaled(Rule):
    code = "PRT318"
    calls = hints("training-arguments")

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        half = positional(original, None, ("fp16",))
        others = positional(original, None, _OTHERS)
        optim = positional(original, None, ("optim",))
        if half is None or half[1] is None or _is_off(half[1].value) or others != (None, None) or optim is None:
            return None
        index, given = optim
        certain = _is_on(half[1].value, file)  # then the fused one raises at its first step
        plain = cst.SimpleString(f'"{_PLAIN}"')
        if index is None or given is None:
            if file.target.torch < _DEFAULT_SINCE:
                return None
            return Hit(half[1], "default", new=with_keyword(updated, "optim", plain), safe=certain)
        if not isinstance(given.value, cst.SimpleString) or given.value.raw_value != _FUSED:
            return None
        args = list(updated.args)
        args[index] = args[index].with_changes(value=plain)
        return Hit(given.value, "named", new=updated.with_changes(args=args), safe=certain)


def _is_on(node: cst.BaseExpression, file: RuleFile) -> bool:
    if isinstance(node, cst.Call):
        return file.name(node.func) in _ANY_DEVICE
    return isinstance(node, cst.Name) and node.value == "True"


def _is_off(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value in ("False", "None")
