"""The sections of a catalogue that are not needed to rename things, read when they are first asked.

operators.json.gz
    aten     {operator: {overload: flags}}: a letter for the kernel (`n` native, `c` CPU, `i` composite, `e` composite with
             an explicit backward), then `f` function, `m` method, `o` writes into `out`, `d` dimension names, `w` warns that
             it runs on the CPU, and `>add.out` where it only forwards to another overload
    npu      {operator: {overload: [schema, public, implementations]}}
    apis     {"torch.nn.functional": {"softmax": "softmax"}}: the operators an API runs, space-separated, in-place ones
             with their `_`; "" where the operator has the name of the API; {"torch.nn": {"ReLU": ...}} is its forward
    steps    {"softmax": "_softmax"}: composites that do nothing but prepare the call of one other operator
    transfer {"torch.cuda.Stream": "torch.npu.Stream"}: see Transfer; "=" arguments, "-" disabled, "!" shielded, "" a wrapper,
             "=" behind a name: of its arguments, too
    transferred ["device"]: the keyword arguments of which that is so, beside all positional ones
    deprecated {"torch_npu.npu_silu": ["wheel", "torch.nn.functional.silu"]}
torch.json.gz
    names    {"torch.linalg": "cholesky cond ..."}; "+" before what it only imports from elsewhere; a module that
             also binds names as it runs ends in "*"
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from porter.catalog.read.operators import COMPOSITE, CPU, MIXED, NATIVE, Deprecation, Kernels, Operator, Transfer

_KERNELS = {"n": NATIVE, "c": CPU, "i": COMPOSITE, "e": COMPOSITE}
_EFFECTS = {"=": "arguments", "-": "disabled", "!": "shielded"}
CLASSES = ("torch.Tensor", "torch.nn.Module")  # listed like modules; of their private names nothing is known
_SPACES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}


class Operators:
    def __init__(self, data: dict[str, Any]) -> None:
        self._aten: dict[str, dict[str, str]] = data["aten"]
        self._npu: dict[str, dict[str, list[Any]]] = data["npu"]
        self._apis: dict[str, dict[str, str]] = data["apis"]
        self._steps: dict[str, str] = data["steps"]
        self._transfer: dict[str, str] = data["transfer"]
        self._above: frozenset[str] | None = None
        self.transferred = frozenset(data.get("transferred", ()))
        self._deprecated: dict[str, list[str]] = data["deprecated"]

    def names(self) -> list[str]:
        """Every operator with its overload."""
        pairs = [("aten", name, o) for name, os in self._aten.items() for o in os]
        pairs += [("npu", name, o) for name, os in self._npu.items() for o in os]
        return sorted(f"{space}::{name}.{o}" if o else f"{space}::{name}" for space, name, o in pairs)

    def kernels(self) -> Counter[str]:
        """How many operators of torch run where, each overload counted."""
        return Counter(_KERNELS[marks[0]] for overloads in self._aten.values() for marks in overloads.values())

    def overloads(self, name: str) -> tuple[Operator, ...]:
        """All of `aten::eigh`, `npu::npu_rms_norm`, or the one of `aten::add.Tensor`; () where there is none."""
        space, _, operator = name.rpartition("::")
        base, dot, overload = operator.partition(".")
        make, known = (self._custom, self._npu) if space == "npu" else (self._built_in, self._aten)
        if space not in ("aten", "npu") or base not in known:
            return ()
        wanted = [overload] if dot else sorted(known[base])
        return tuple(make(base, o) for o in wanted if o in known[base])

    def of(self, api: str) -> Kernels | None:
        """What `torch.X`, `torch.Tensor.X`, `torch.nn.functional.X`, `torch.nn.X` (its forward), `torch.linalg.X`,
        `torch.fft.X`, `torch.special.X`, `torch_npu.X`, `torch.ops.aten.X` or `torch.ops.npu.X` runs; None where
        that is not certain.
        """
        module, _, name = api.rpartition(".")
        if module in ("torch_npu", "torch.ops.npu"):
            return _kernels(api, self.overloads(f"npu::{name}"))
        if module == "torch.ops.aten":
            return _kernels(api, tuple(self._reached([name], "")))
        names = self._apis.get(module, {}).get(name)
        if names is None:
            return None
        variant = {"torch": "f", "torch.Tensor": "m"}.get(module, "") if not names else ""
        operator = _SPACES.get(module.rpartition(".")[2], "") + name
        return _kernels(api, tuple(self._reached(names.split() or [operator], variant)))

    def transfer(self, name: str) -> Transfer | None:
        """What transfer_to_npu does to `torch.X`; None where it does not touch it and it is no name of torch.cuda."""
        effect = self._transfer.get(name)
        if effect is None:
            owner, _, member = name.rpartition(".")
            above = self._transfer.get(owner, "").removesuffix("=")  # what is replaced takes its members with it
            if "." in above:
                return Transfer("replaced", f"{above}.{member}")
            return Transfer("left") if name.startswith("torch.cuda.") else None
        if effect in _EFFECTS:
            return Transfer(_EFFECTS[effect], arguments=effect == "=")
        return Transfer("replaced", effect.removesuffix("="), effect.endswith("="))

    def transfers_below(self, name: str) -> bool:
        """Whether it touches anything below `torch.X`."""
        if self._above is None:
            words = [name.split(".") for name in self._transfer]
            self._above = frozenset(".".join(several[:i]) for several in words for i in range(1, len(several)))
        return name in self._above

    def deprecated(self, name: str) -> Deprecation | None:
        row = self._deprecated.get(name)
        return None if row is None else Deprecation(name, tuple(row[1:]), row[0])

    def _reached(self, names: list[str], variant: str) -> list[Operator]:
        """The overloads that a call reaches which passes neither `out` nor dimension names, forwarders resolved."""
        reached: dict[str, Operator] = {}
        for name in names:
            while name in self._steps:
                name = self._steps[name]
            for overload, flags in sorted(self._aten.get(name, {}).items()):
                marks, _, onward = flags.partition(">")
                if "o" in marks or "d" in marks or variant not in marks:
                    continue
                base, _, target_overload = (onward or name + "." + overload).partition(".")
                op = self._built_in(base, target_overload)
                reached.setdefault(op.name, op)
        return list(reached.values())

    def _built_in(self, base: str, overload: str) -> Operator:
        marks = self._aten[base][overload].partition(">")[0]
        name = f"aten::{base}.{overload}" if overload else f"aten::{base}"
        return Operator(name, _KERNELS[marks[0]], marks[0] == "e", says_cpu="w" in marks)

    def _custom(self, base: str, overload: str) -> Operator:
        schema, public, implementations = self._npu[base][overload]
        name = f"npu::{base}.{overload}" if overload else f"npu::{base}"
        return Operator(name, NATIVE, False, schema, bool(public), tuple(implementations.split()))


def _kernels(api: str, operators: tuple[Operator, ...]) -> Kernels | None:
    kinds = {op.kernel for op in operators}
    return Kernels(api, kinds.pop() if len(kinds) == 1 else MIXED, operators) if operators else None


class Torch:
    def __init__(self, data: dict[str, Any]) -> None:
        self._names: dict[str, frozenset[str] | str] = data["names"]

    def has(self, name: str) -> bool | None:
        """Whether this torch offers `torch.X...`: functions, classes, modules, members of Tensor.

        None where the catalogue cannot know: private names, modules it does not list, members of other classes.
        """
        module, _, last_word = name.rpartition(".")
        if "._" in name:
            return self._private(name)
        if name in self._names:
            return True
        if module not in self._names:
            return self._below(module)
        known = self._all(module)
        if last_word in known or f"+{last_word}" in self._all(module):
            return True
        unlisted = module == "torch" and (last_word[0].isupper() or re.fullmatch(r"u?int\d", last_word))
        return None if "*" in known or unlisted else False  # classes and small integers compiled into torch

    def below(self, module: str) -> frozenset[str]:
        """The public names of a module, without those that it only imports from elsewhere."""
        return frozenset(name for name in self._all(module) if name[0] not in "+-_")

    def gone(self, name: str) -> bool:
        """Whether the function is still there, but does nothing except raise."""
        module, _, last_word = name.rpartition(".")
        return f"-{last_word}" in self._all(module)

    def _all(self, module: str) -> frozenset[str]:
        listed = self._names.get(module, frozenset())
        if isinstance(listed, str):
            listed = self._names[module] = frozenset(listed.split())
        return listed

    def modules(self) -> list[str]:
        return sorted(self._names)

    def _private(self, name: str) -> bool | None:
        """Missing where something is read from a private name that does not exist; of private functions nothing is known."""
        module, _, tail = name.partition("._")
        first, more, _ = tail.partition(".")
        known = self._all(module)
        if not more or not known or module in CLASSES or first[:1] == "_" or "*" in known:
            return None
        return None if f"_{first}" in known else False

    def _below(self, module: str) -> bool | None:
        """A name below something that is no listed module: missing only where that itself is missing."""
        return False if module.startswith("torch.") and self.has(module) is False else None
