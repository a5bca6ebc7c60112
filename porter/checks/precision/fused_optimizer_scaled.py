"""A GradScaler and an optimiser with `fused=True`: on an NPU the fused kernel overlooks the scale and the overflow that it is told."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.said_once import FUSED_ONES, OPTIMISER, first_fused, first_scaler

_RAISES = frozenset(
    f"{module}.GradScaler"
    for module in ("torch.cuda.amp", "torch.cuda.amp.grad_scaler", "torch.npu.amp", "torch_npu.npu.amp")
)
_SILENT = frozenset({"torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler"})  # torch's own


class FusedOptimizerScaled(Rule):
    code = "PRT316"
    calls = _RAISES | _SILENT | {f"torch.optim.{name}" for name in FUSED_ONES}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.tested:
            return None
        name = file.name(original.func) or ""
        return self._optimiser(original, updated, file) if "optim" in name else self._scaler(original, name, file)

    def _optimiser(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        """`fused=None` leaves the choice to torch, which takes its foreach form on an NPU; `fused=False` would take none."""
        index = next((i for i, arg in enumerate(original.args) if _asks_for_it(arg, file)), None)
        place = index is not None and self._scaled(file)
        if not place or index is None:
            return None
        args = [*updated.args]
        args[index] = args[index].with_changes(value=cst.Name("None"))
        new = updated.with_changes(args=args) if file.style.one_world else None
        return Hit(original.args[index].value, "fused", new=new, safe=True, values=(("place", place),))

    @staticmethod
    def _scaled(file: RuleFile) -> str:
        """Where the loss of this optimiser is scaled: here, or elsewhere if the file does not train by itself."""
        here = first_scaler({file.path: file.source.utf8})
        return here or ("" if file.source.says(b".backward(") else file.facts.once.scaled)

    def _scaler(self, original: cst.Call, name: str, file: RuleFile) -> Hit | None:
        """Said where no edit of an optimiser answers: the option comes from a dict, from settings or from a comparison."""
        place = first_fused({file.path: file.source.utf8})
        if not file.source.says(OPTIMISER):  # it is made in another file
            place = place or file.facts.once.fused
        device = file.text(original.args[0].value) if original.args else ""
        if not place or "cpu" in device or any(_gives(arg, "enabled", "False") for arg in original.args):
            return None
        return Hit(original.func, "scaled" if name in _RAISES else "silent", values=(("place", place),))


def _asks_for_it(arg: cst.Arg, file: RuleFile) -> bool:
    """`fused=True`, `fused=device.type == "cuda"`: the port of the second is true on an NPU."""
    named = arg.keyword is not None and arg.keyword.value == "fused"
    return _gives(arg, "fused", "True") or named and "cuda" in file.text(arg.value)


def _gives(arg: cst.Arg, keyword: str, value: str) -> bool:
    given = arg.value
    return (
        arg.keyword is not None
        and arg.keyword.value == keyword
        and isinstance(given, cst.Name)
        and given.value == value
    )
