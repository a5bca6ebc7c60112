"""`torch.optim.AdamW(...)` in a plain fp32 or fp16 training script: torch_npu has one that updates all parameters at once."""

from __future__ import annotations

import re
from typing import Any

from porter.checks.performance import prefilters
from porter.checks.performance.opportunity import Opportunity, Seen
from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.finding import Change
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.training.demos import names_no_device, stays_on_cpu

KNOWN = {  # what the fused constructor takes
    "SGD": {"params", "lr", "momentum", "dampening", "weight_decay", "nesterov"},
    "Adam": {"params", "lr", "betas", "eps", "weight_decay", "amsgrad"},
    "AdamW": {"params", "lr", "betas", "eps", "weight_decay", "amsgrad"},
    "Adadelta": {"params", "lr", "rho", "eps", "weight_decay"},
    "RMSprop": {"params", "lr", "alpha", "eps", "weight_decay", "momentum", "centered"},
}
LOOP = (lazy(rb"\.backward\("), lazy(rb"\.zero_grad\("))
# it refuses bfloat16 and set_to_none, and wants to keep the storage of parameters that others split, move or freeze, and that of
# their gradients, which others replace
AGAINST = lazy(any_of("against-fused-optimizers").encode(), re.IGNORECASE)


CLEARS = lazy(rb"(?<![\w.])([\w.]+)\.zero_grad\(")
STEPS = lazy(rb"(?<![\w.])([\w.]+)\.step\(([\w.]*)")  # `scaler.step(optimizer)`
CALLED = lazy(rb"(?<!def )\b(\w+)\(")
UNTOLD = frozenset({"amsgrad"})  # nothing says which maximum the fused form keeps


class FusedOptimizer(Opportunity):
    code = "PRT610"
    calls = frozenset(f"torch.optim.{name}" for name in KNOWN)
    only = staticmethod(prefilters.loops_over_batches)

    def find(self, original: cst.Call, file: RuleFile) -> Seen | None:
        says = file.source.says
        if (
            not file.scene.loops_over_batches
            or not all(map(says, LOOP))
            or says(AGAINST)
            or any(a.star for a in original.args)
            or _changes_gradients(file)
        ):
            return None
        scene: Any = file.scene
        if names_no_device(scene.file):  # its parameters have to be on the NPU
            return None
        link = scene.link(original)
        if link is not None and stays_on_cpu(scene.file, link):
            return None
        if not original.args or not file.text(original.args[0].value).endswith(".parameters()"):
            return None
        name = (file.name(original.func) or "").rpartition(".")[2]
        new = f"torch_npu.optim.NpuFused{name}"
        if not {a.keyword.value for a in original.args if a.keyword} <= KNOWN[name] or not file.session.has(new):
            return None
        values = (("name", f"torch.optim.{name}"), ("new", new))
        if cleared := _cleared(file):
            return original.func, "cleared", (*values, ("cleared", cleared))
        return original.func, "clipped" if says(b"clip_grad_norm") else "plain", values

    def fuse(self, original: cst.Call, file: RuleFile) -> tuple[Change, ...]:
        """Where nothing else belongs to the change."""
        opportunity = self.find(original, file)
        if (
            opportunity is None
            or opportunity[1] != "plain"
            or file.facts.once.bfloat16
            or any(a.keyword and a.keyword.value in UNTOLD for a in original.args)
        ):
            return ()
        return (Change(*file.span(original.func), dict(opportunity[2])["new"].encode()),)


def _changes_gradients(file: RuleFile) -> bool:
    """Whether a function of another file is called that replaces gradients, or freezes parameters."""
    called = {match[1].decode() for match in CALLED.finditer(file.source.utf8)}
    return not called.isdisjoint(file.facts.once.gradient_changers)


def _cleared(file: RuleFile) -> str:
    """What has its gradients cleared and is no optimiser, which something steps: a module, whose `zero_grad()` drops them."""
    text = file.source.utf8
    stepped = {name for match in STEPS.finditer(text) for name in match.groups()}
    cleared = (match[1] for match in CLEARS.finditer(text))
    return next((name.decode() for name in cleared if name not in stepped), "")
