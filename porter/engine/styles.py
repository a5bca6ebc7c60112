"""How a port is spelled, one class per style. Rules decide what changes; a style writes it, on LibCST nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from porter.engine.rule import cst
from porter.target import Target

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile


class Rename:
    """What people write by hand: `torch.npu`, "npu", "hccl"."""

    loads = True  # torch_npu has to be imported before what this style writes

    def __init__(self, target: Target, has: Callable[[str], bool]):
        self.target, self.has = target, has

    def writes(self, code: str) -> bool:
        """Whether the style has a spelling for what this rule wants changed; else it stays a person's job."""
        return True

    def settles(self, code: str) -> bool:
        """Whether what it writes keeps its meaning wherever the rule says that the change does."""
        return True

    def name(self, tail: str) -> str | None:
        """The counterpart of a name below torch.cuda; None where the target has none."""
        full = f"{self.target.namespace}.{tail}"
        return full if self.has(full) else None

    def device(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        """A string that starts with cuda, in the author's quotes; None where it cannot be rewritten in place."""
        device = self.target.device
        if isinstance(node, cst.SimpleString):
            head = len(node.prefix) + len(node.quote)
            return node.with_changes(value=node.value[:head] + device + node.value[head + 4 :])
        if isinstance(node, cst.FormattedString) and isinstance(node.parts[0], cst.FormattedStringText):
            first = node.parts[0]
            return node.with_changes(parts=[first.with_changes(value=device + first.value[4:]), *node.parts[1:]])
        return None  # implicitly concatenated

    def backend(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        """A string that holds nccl, alone or behind `cuda:`."""
        if not isinstance(node, cst.SimpleString):
            return None
        value, backend = node.value, self.target.backend
        for old in ("cuda:nccl", "CUDA:NCCL"):
            value = value.replace(old, f"{self.target.device}:{backend}")
        value = value.replace("nccl", backend).replace("NCCL", backend.upper())
        return node.with_changes(value=value) if value != node.value else None

    def method(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        """`x.cuda(...)`."""
        called: Any = call.func  # an attribute, as it is a method
        return call.with_changes(func=self.attribute(called))

    def moved(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        """`x.cuda()` of what may have `to()` alone; None with an index, which `to()` takes for another device."""
        return self._to(call, cst.SimpleString(f'"{self.target.device}"'))

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
        """`x.cuda` that is not called."""
        return node.with_changes(attr=node.attr.with_changes(value=self.target.device))

    def on_device(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None:
        """`x.is_cuda`."""
        if file.meaning.is_scripted():  # its tensors have no attribute that torch_npu added
            return self._has_type(node, f'"{self.target.device}"')
        return node.with_changes(attr=node.attr.with_changes(value=f"is_{self.target.device}"))

    @staticmethod
    def _has_type(node: cst.Attribute, type_text: str) -> cst.Comparison:
        kind = cst.Attribute(cst.Attribute(node.value, cst.Name("device")), cst.Name("type"))
        comparison = cst.ComparisonTarget(cst.Equal(), cst.parse_expression(type_text))
        return cst.Comparison(kind, [comparison], lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


class Portable(Rename):
    """One code base that still runs on GPUs: torch.accelerator, which picks the device when the program runs.

    It writes what five rules ask for; everything else stays a finding.
    """

    loads = False
    _CODES = frozenset({"PRT101", "PRT120", "PRT130", "PRT132", "PRT201"})
    _NAMES = {
        "is_available": ("is_available", (2, 6)),
        "device_count": ("device_count", (2, 6)),
        "synchronize": ("synchronize", (2, 6)),
        "current_stream": ("current_stream", (2, 6)),
        "set_stream": ("set_stream", (2, 6)),
        "set_device": ("set_device_index", (2, 7)),
        "current_device": ("current_device_index", (2, 7)),
        **{
            name: (name, (2, 13))
            for name in "empty_cache memory_allocated max_memory_allocated memory_reserved max_memory_reserved".split()
        },
    }
    _HERE = "torch.accelerator.current_accelerator()"

    def writes(self, code: str) -> bool:
        return code in self._CODES

    def settles(self, code: str) -> bool:
        return code == "PRT101"  # the others ask for an accelerator that may not be there when the line runs

    def name(self, tail: str) -> str | None:
        new, since = self._NAMES.get(tail, ("", (99,)))
        return f"torch.accelerator.{new}" if self.target.torch >= since else None

    def device(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        plain = isinstance(node, cst.SimpleString) and node.raw_value == "cuda"
        return self._expression(f"{self._HERE}.type", node) if plain and self._reachable(file) else None

    def backend(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        plain = isinstance(node, cst.SimpleString) and node.raw_value.lower() == "nccl"
        if not plain or not self._reachable(file):
            return None
        return self._expression(f"torch.distributed.get_default_backend_for_device({self._HERE})", node)

    def method(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        return self._to(call, cst.parse_expression(self._HERE)) if self._reachable(file) else None

    def moved(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        return self.method(call, file)

    def attribute(self, node: cst.Attribute) -> cst.Attribute | None:
        return None

    def on_device(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None:
        if not self._reachable(file) or file.meaning.is_scripted():
            return None
        return self._has_type(node, f"{self._HERE}.type")

    @staticmethod
    def _reachable(file: RuleFile) -> bool:
        """Whether the word torch means torch everywhere in the file."""
        imported = {target for target, _ in file.names.imports.get("torch", ())}
        return imported == {"torch"} and "torch" not in file.names.others

    @staticmethod
    def _expression(text: str, old: cst.BaseExpression) -> cst.BaseExpression:
        return cst.parse_expression(text).with_changes(lpar=old.lpar, rpar=old.rpar)


STYLES: dict[str, type[Rename]] = {"rename": Rename, "portable": Portable}
