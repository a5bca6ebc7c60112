"""Calls as an older torch took them: `StepLR(verbose=True)`, `torch.stft(x, 400)`, `torch.fft(x, 2)`, `save_image(x, path, range=(0, 1))`,
`Variable(x, volatile=True)`, `_get_stream(0)`."""

from __future__ import annotations

from typing import Any

from porter.checks.support.grids import of_grid
from porter.checks.support.norm_asked import QUESTIONS, norm_asked
from porter.checks.support.stream_by_number import STREAM, of_stream
from porter.engine.nodes import without_arguments
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.guards import asked
from porter.python.torch_versions import other_branch_says
from porter.training.frozen import keeps_no_graph

_SCHEDULERS = frozenset(
    f"torch.optim.lr_scheduler.{name}"
    for name in """ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR LambdaLR LinearLR MultiStepLR
    MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR""".split()
)
_GRIDS = frozenset({"torchvision.utils.make_grid", "torchvision.utils.save_image"})
_VARIABLE = "torch.autograd.Variable"
# whose fourth argument is a type since torch 1.11, and was a tensor of that type
_BACKWARDS = frozenset({"torch._softmax_backward_data", "torch._log_softmax_backward_data"})
_BEFORE_COMPLEX = 9  # parameters of torch.stft that stand before `return_complex`


class OlderTorch(Rule):
    code = "PRT707"
    calls = _SCHEDULERS | _GRIDS | _BACKWARDS | QUESTIONS | {"torch.stft", "torch.fft", _VARIABLE, STREAM}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func) or ""
        if name in QUESTIONS:
            return norm_asked(original, updated, file)
        if name in _GRIDS:
            return of_grid(original, updated, name)
        if name in _BACKWARDS:
            return self._backward(original, updated, name, file)
        if name == _VARIABLE:
            if (link := file.scene.link(original)) is not None and keeps_no_graph(file.scene, link):
                return None
            given = (a for a in original.args if a.keyword and a.keyword.value == "volatile")
            return next((self._volatile(a, file) for a in given if self._asks(a.value, file)), None)
        link = file.link(original.func)
        if name == STREAM:
            return of_stream(original, link, file)
        if name == "torch.fft":
            return None if link is None or asked(link) else Hit(original.func, "fft")
        if name == "torch.stft":
            return None if link and other_branch_says(link, "return_complex") else self._stft(original, updated)
        return self._verbose(original, updated, name, file)

    @staticmethod
    def _asks(value: cst.BaseExpression, file: RuleFile) -> bool:
        """Whether `volatile=value` may ask for no graph. What another tensor has is always False."""
        of_tensor = isinstance(value, cst.Attribute) and value.attr.value == "volatile"
        return file.text(value) != "False" and (not of_tensor or file.text(value) == "self.volatile")

    @staticmethod
    def _volatile(given: cst.Arg, file: RuleFile) -> Hit:
        asked = file.text(given.value)
        why = "volatile" if asked == "True" else "volatile-where"
        return Hit(given, why, values=((TOGETHER, why), ("asked", asked)))

    @staticmethod
    def _verbose(original: Any, updated: cst.Call, name: str, file: RuleFile) -> Hit | None:
        index = next((n for n, a in enumerate(original.args) if a.keyword and a.keyword.value == "verbose"), None)
        if index is None or "verbose" in file.session.catalogue.signature(name):
            return None
        plain = file.text(original.args[index].value) in ("True", "False")
        values = (("name", name.rpartition(".")[2]), ("version", file.session.catalogue.torch))
        new = without_arguments(original, updated, {index})
        return Hit(original.args[index], "verbose", new=new, safe=plain, values=values)

    @staticmethod
    def _backward(original: cst.Call, updated: cst.Call, name: str, file: RuleFile) -> Hit | None:
        """`_softmax_backward_data(grad, output, dim, output)`"""
        given = original.args[3] if len(original.args) == 4 else None
        if given is None or given.keyword or any(a.star for a in original.args):
            return None
        value = given.value
        if not isinstance(value, (cst.Name, cst.Attribute)) or "dtype" in file.text(value) or file.name(value):
            return None
        args = [*updated.args]
        args[3] = args[3].with_changes(value=cst.Attribute(args[3].value, cst.Name("dtype")))
        values = (("name", name.rpartition(".")[2]), ("new", f"{file.text(value)}.dtype"))
        is_saved = file.text(value) == file.text(original.args[1].value)  # the output of the softmax: a tensor
        return Hit(given, "backward", new=updated.with_changes(args=args), safe=is_saved, values=values)

    @staticmethod
    def _stft(original: cst.Call, updated: cst.Call) -> Hit | None:
        given = {a.keyword.value for a in original.args if a.keyword}
        if "return_complex" in given or not original.args or any(a.star for a in original.args):
            return None
        if len(original.args) > _BEFORE_COMPLEX:
            return None
        last_arg = updated.args[-1]
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args = [*updated.args[:-1], last_arg.with_changes(comma=comma)]
        none = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        args.append(cst.Arg(cst.Name("False"), keyword=cst.Name("return_complex"), equal=none, comma=last_arg.comma))
        return Hit(original.func, "stft", new=updated.with_changes(args=args))
