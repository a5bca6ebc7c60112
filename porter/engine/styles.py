"""Says how a port is written: one class per style. A rule decides what changes; a style writes it, with LibCST nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from porter.engine.rule import cst
from porter.regex import lazy
from porter.rulebook.table import hints
from porter.target import Target

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile


_BARE = hints("knows-a-bare-npu")
# a name for the index of a device; under another name, the value may be a device, which `to()` takes as it is
_INDEX = lazy(r"(?:\w+\.)*\w*(?:rank|gpu|gpu_id|index|idx)")


class Rename:
    """The style that people write by hand: `torch.npu`, "npu", "hccl". Methods answer None where they cannot write an edit."""

    loads = True  # its edits need torch_npu to be imported before them
    one_world = True  # its edits run on NPUs alone

    def __init__(self, target: Target, has: Callable[[str], bool]):
        self.target, self._has = target, has

    def fits(self, code: str, old: str, texts: Iterable[str]) -> bool:
        """Whether these texts may replace the old one in this style. `code`: of the finding."""
        return True

    def name(self, tail: str, old: str = "", file: RuleFile | None = None) -> str | None:
        """The full new name for `torch.cuda.{old}`. `tail`: its counterpart below the target's namespace. None where the
        target has no such name."""
        full = f"{self.target.namespace}.{tail}"
        return full if self._has(full) else None

    def device(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        """The new device for a string that starts with cuda, in the author's quotes."""
        device = self.target.device
        if isinstance(node, cst.SimpleString):
            head = len(node.prefix) + len(node.quote)
            end = node.quote if knows_bare_device(node, file) else node.value[head + 4 :]
            return node.with_changes(value=node.value[:head] + device + end)
        if isinstance(node, cst.FormattedString) and isinstance(node.parts[0], cst.FormattedStringText):
            first = node.parts[0]
            return node.with_changes(parts=[first.with_changes(value=device + first.value[4:]), *node.parts[1:]])
        return None  # an implicitly concatenated string

    def type_name(self, file: RuleFile) -> str | None:
        """The name that the file has for the type of device, in a style in which that has no text."""
        return None

    def device_type(self, file: RuleFile) -> cst.BaseExpression | None:
        """The type of device, for a call that would use CUDA without that argument."""
        return self.device(cst.SimpleString('"cuda"'), file)

    def backend(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        """The new backend for a string that holds nccl, alone or behind `cuda:`."""
        if not isinstance(node, cst.SimpleString):
            return None
        value, backend = node.value, self.target.backend
        for old in ("cuda:nccl", "CUDA:NCCL"):
            value = value.replace(old, f"{self.target.device}:{backend}")
        value = value.replace("nccl", backend).replace("NCCL", backend.upper())
        return node.with_changes(value=value) if value != node.value else None

    def backend_asked(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        """The new call for `dist.is_nccl_available()`; None where only its name changes."""
        return None

    def method(self, call: cst.Call, file: RuleFile, index: str = "") -> cst.Call | None:
        """The new call for `x.cuda(...)`. `index`: what is known of the number that it is given: known | likely | nothing (it
        may be None); "" where none is given."""
        called: Any = call.func  # an attribute, as it is a method
        return call.with_changes(func=self.attribute(called))

    def moved(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        """The new call for `x.cuda(...)` where x has `to()`, but perhaps no `npu()`. None where the argument may be something
        else than an index."""
        device = self.target.device
        if len(call.args) == 1 and (index := _plain_index(call.args[0])) is not None:
            placed = cst.parse_expression({"": f'"{device}"'}.get(index) or f'f"{device}:{{{index}}}"')
            return self._to(call.with_changes(args=[]), placed)
        return self._to(call, cst.SimpleString(f'"{device}"'))

    @staticmethod
    def _to(call: cst.Call, device: cst.BaseExpression) -> cst.Call | None:
        if any(a.keyword is None or a.keyword.value == "device" for a in call.args):
            return None
        space = cst.SimpleWhitespace(" ")
        first = cst.Arg(device, comma=cst.Comma(whitespace_after=space) if call.args else cst.MaybeSentinel.DEFAULT)
        called: Any = call.func
        func = called.with_changes(attr=called.attr.with_changes(value="to"))
        return call.with_changes(func=func, args=[first, *call.args])

    def attribute(self, node: cst.Attribute) -> cst.Attribute | None:
        """The new expression for `x.cuda` that is not called."""
        return node.with_changes(attr=node.attr.with_changes(value=self.target.device))

    def module(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None:
        """The new expression for `torch.cuda` itself, used as a value."""
        return node.with_changes(attr=node.attr.with_changes(value=self.target.namespace.rpartition(".")[2]))

    def on_device(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None:
        """The new expression for `x.is_cuda`."""
        if file.meaning.is_scripted():  # tensors in scripted code lack the attribute that torch_npu adds
            return self._has_type(node, f'"{self.target.device}"')
        return node.with_changes(attr=node.attr.with_changes(value=f"is_{self.target.device}"))

    @staticmethod
    def _has_type(node: cst.Attribute, type_text: str) -> cst.Comparison:
        kind = cst.Attribute(cst.Attribute(node.value, cst.Name("device")), cst.Name("type"))
        comparison = cst.ComparisonTarget(cst.Equal(), cst.parse_expression(type_text))
        return cst.Comparison(kind, [comparison], lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def knows_bare_device(node: cst.SimpleString, file: RuleFile) -> bool:
    """Whether the file hands devices to a function that knows one without its index, and this is the first."""
    return node.raw_value == "cuda:0" and bool(file.meaning.mentions.of(_BARE))


def _plain_index(argument: cst.Arg) -> str | None:
    """The expression of an argument that is surely an index: `args.gpu`. "" for `current_device()`, None for others."""
    if argument.star or argument.keyword is not None and argument.keyword.value != "device":
        return None
    text = cst.Module([]).code_for_node(argument.value)
    if text.endswith(".current_device()"):
        return ""
    return text if _INDEX.fullmatch(text) else None
