"""What runs when an API is called on the target: the kernels behind operators, and which operators are behind an API."""

from __future__ import annotations

from dataclasses import dataclass

NATIVE, CPU, COMPOSITE, MIXED = "native", "cpu", "composite", "mixed"


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload of one operator, as one torch_npu version registers it.

    kernel
        `native`     torch_npu registers a kernel of its own
        `composite`  it is written in terms of other operators, which decide
        `cpu`        nothing is registered: the fallback copies to the CPU, computes there and copies back

    `explicit` and `public` decide nothing: with them the tests count what is known of the sources of each version.
    """

    name: str  # "aten::add.Tensor", "npu::npu_rms_norm"
    kernel: str
    explicit: bool = False  # a composite whose backward is written down too (CompositeExplicitAutograd)
    schema: str = ""  # npu:: only, as registered: these are the keyword names that work
    public: bool = False  # npu:: only: torch_npu lists it in `__all__`
    implementations: tuple[str, ...] = ()  # npu:: only: acl_op, op_api
    says_cpu: bool = False  # native, but the library holds a warning that its kernel runs on the CPU on some paths

    @property
    def overload(self) -> str:
        return self.name.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Kernels:
    """What a call of one API runs, where the sources leave no doubt.

    kernel: `native`, `cpu` or `composite` where all overloads that a call without `out=` and dimension names reaches
    agree, else `mixed`: the operators say which. An operator that only forwards to its `out` variant counts as that one.
    """

    api: str
    kernel: str
    operators: tuple[Operator, ...]

    @property
    def on_cpu(self) -> tuple[Operator, ...]:
        """Those that fall back to the CPU."""
        return tuple(op for op in self.operators if op.kernel == CPU)


@dataclass(frozen=True, slots=True)
class Transfer:
    """What torch_npu.contrib.transfer_to_npu does to a name.

    effect: `replaced` (becomes `to`) | `arguments` (a CUDA device among its arguments becomes an NPU one) |
    `disabled` (gives back what it is given, or False) | `left` (a name of torch.cuda that stays CUDA's own) |
    `shielded` (a function of another library that goes on seeing CUDA's own torch.cuda.is_available)
    """

    effect: str
    to: str = ""  # what a replaced name becomes; "" where it is a wrapper that has no name of its own
    # whether a CUDA device among its arguments becomes an NPU one: always with the effect `arguments`, at times with `replaced`
    arguments: bool = False


@dataclass(frozen=True, slots=True)
class Deprecation:
    """An API that torch_npu calls deprecated, and what to write instead; no replacement where none is named.

    A catalogue is built from the wheels of one version and speaks of that alone: since when an API is deprecated, only a
    comparison of the catalogues (`versions()` in load.py) can tell. `porter catalog NAME` shows it, with the words of
    rules/words, and verdict.py gives it as the verdict on an API. No rule does: PRT620 reads rules/deprecated.toml.
    """

    api: str
    replacements: tuple[str, ...]
    source: str  # "wheel" (it warns when called) | "documents" (rules/catalog/deprecated.toml, whatever the version)
