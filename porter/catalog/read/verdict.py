"""What one API is on the target: existence, kernel class and documentation status, weighed against each other.

The wheel knows what is registered, the documents what was tried. "Unsupported" in the vendor's tables often means that
nobody verified it: it counts as such unless the wheel confirms it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from porter.catalog.read import documents
from porter.catalog.read.documents import CONSTRAINED, UNSUPPORTED, Documents, Fact
from porter.catalog.read.load import Catalogue, fitting
from porter.catalog.read.operators import COMPOSITE, CPU, MIXED, NATIVE, Kernels
from porter.regex import lazy
from porter.target import Target

SUPPORTED, MISSING, UNKNOWN, ON_CPU = "supported", "missing", "unknown", "cpu"
INFERENCE, DEPRECATED, LIMITED, UNVERIFIED, SILENT = "inference", "deprecated", "constrained", "unverified", "silent"
# what the names alone cannot tell: a type, a format or a switch is there on every chip; of report/verdicts.py, but for `moved`
VALUE, DEPENDS, IDLE, UNFIT, MOVED = "value", "depends", "idle", "unfit", "moved"
# the worst first: the order in which they are shown
KINDS = (
    MISSING, UNKNOWN, UNFIT, ON_CPU, INFERENCE, DEPRECATED, IDLE, UNVERIFIED, DEPENDS, LIMITED, VALUE, SILENT, MOVED, SUPPORTED,
)  # fmt: skip
SEVERITY = {MISSING: "blocker", UNKNOWN: "blocker", ON_CPU: "slow", INFERENCE: "wrong"}
_TYPE = lazy(
    r"(?:b?float\d+(?:_e\d+m\d+\w*)?|u?int\d+|bits\d\w*|complex\d+|half|float|double|short|int|long|bool|chalf|cfloat|cdouble|qu?int\w+"
    r"|strided|sparse_\w+|jagged|\w+_format|channels_last\w*|(?:\w+\.)?\w+Tensor|\w+Storage)$"
)  # made in C++: no source names them all
# other accelerators, whose packages put their names there, as torch_npu puts one; and what is taken over from Python's own modules
_ELSEWHERE = lazy(
    r"torch\.(?:cpu|dipu|gaudi|gcu|hpu|ipu|maia|mlu|mps|mtia|musa|neuron|privateuseone|sdaa|supa|tpu|vacc|xla|xpu|multiprocessing)\."
    r"|torch\.compiler\.npugraph_mark_step_begin$"
)
_SWITCH = lazy(r"torch\.backends\.")  # settings of libraries: that one may be set says nothing of who reads it
_QUANTISED = lazy(r"quant")  # whoever quantises for NPUs does it with operators of torch_npu
# operators without a kernel for the CPU: the fallback has nothing to call
_CUDA_ONLY = lazy(
    r"cudnn|miopen|_flash_attention|_efficient_attention|_cuda\b|cufft|cublas"
    r"|int4pack(?!\w*_for_cpu)|_cslt_|_semi_structured|_mixed_dtypes_linear"
)


class Limit(NamedTuple):
    """What rules/limits.toml says of an API, of one of its arguments, or of it on some chips."""

    argument: str  # "" for the API as a whole
    socs: tuple[str, ...]  # () for all of them
    idle: bool  # torch_npu never asks for it
    text: dict[str, str]  # in each language


@dataclass(frozen=True, slots=True)
class Verdict:
    api: str
    kind: str  # of KINDS
    kernel: str | None = None  # native | composite | cpu | mixed, from the wheel; None where it leaves doubt
    operators: tuple[str, ...] = ()  # what falls back to the CPU
    status: str | None = None  # supported | constrained | unsupported, from the documents; None where they are silent
    dtypes: tuple[str, ...] = ()  # those that the documents name; () for no statement
    may_run_on_cpu: bool = False  # the documents say so
    disagree: bool = False  # wheel and documents say different things
    to: tuple[str, ...] = ()  # what stands in its place
    rules: tuple[str, ...] = ()  # codes of porter's rules that can speak of it on this chip
    limits: tuple[Limit, ...] = ()  # what is known of its arguments, and of chips

    @property
    def severity(self) -> str:
        return SEVERITY.get(self.kind, "note")


def verdict(api: str, catalogue: Catalogue, documents: Documents, soc: str) -> Verdict | None:
    """None where the name is none of torch's."""
    root, _, tail = api.partition(".")
    if root == "torch_npu" or api == "torch.npu" or api.startswith("torch.npu."):
        return _npu(api, catalogue)
    if root != "torch":
        return None
    usual = _documented(api, documents)
    fact = documents.fact(usual, soc)
    if api == "torch.cuda" or api.startswith("torch.cuda."):
        return _cuda(api, catalogue, fact)
    if _TYPE.match(tail) and fact is None:
        return Verdict(api, VALUE)
    kernels = catalogue.operators.of(api) or catalogue.operators.of(usual)
    if kernels is None and fact is None and not _ELSEWHERE.match(api) and catalogue.surface.has(api) is False:
        return Verdict(api, UNKNOWN)
    if kernels and all(_CUDA_ONLY.search(op.name) for op in kernels.operators):
        return Verdict(api, MISSING, operators=tuple(op.name for op in kernels.operators))
    kernel = _kernel(kernels) if kernels and not _QUANTISED.search(tail) else None
    fallen = tuple(op.name for op in kernels.on_cpu) if kernels else ()
    if (kernel is None or kernel in (NATIVE, COMPOSITE)) and not _QUANTISED.search(tail):
        kernel, fallen = _traced(usual, kernel, catalogue)
    stated = fact or Fact("")
    kind, disagree = _weigh(kernel, stated)
    if kind in (SUPPORTED, LIMITED, SILENT) and _SWITCH.match(api):
        kind = VALUE
    return Verdict(
        api, kind, kernel, fallen, stated.status or None, stated.dtypes, stated.may_run_on_cpu, disagree, _place(stated)
    )


def _kernel(kernels: Kernels) -> str:
    """Of the operator that has the API's name, where one has: what else is called only serves it."""
    operator = _snake(kernels.api.rpartition(".")[2])
    main = {op.kernel for op in kernels.operators if op.name.partition("::")[2].partition(".")[0] == operator}
    return CPU if main == {CPU} else kernels.kernel


def _traced(api: str, kernel: str | None, catalogue: Catalogue) -> tuple[str | None, tuple[str, ...]]:
    """What the sources leave open was seen when torch's own samples ran: of a module that computes in Python, and of
    every backward. Which operators an API runs is torch's business and hardly changes; their class is this target's."""
    from porter.catalog.read import traced

    trace = traced.newest().get(api)
    if trace is None:
        return kernel, ()
    names = sorted({*trace.forward, *(() if trace.own_derivatives else trace.backward)})
    fallen = tuple(
        name
        for name in names
        if (all_of := catalogue.operators.overloads(name)) and {o.kernel for o in all_of} == {CPU}
    )
    if fallen:
        return MIXED, fallen
    return kernel or (NATIVE if NATIVE in trace.forward.values() else COMPOSITE), ()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _documented(api: str, documents: Documents) -> str:
    """The name that the tables have for a class: `torch.nn.modules.linear.Linear` is torch.nn.Linear there."""
    if api in documents:
        return api
    *parts, last_word = api.split(".")
    if not last_word[:1].isupper():
        return api
    near = [".".join((*parts[:n], last_word)) for n in range(len(parts) - 1, 1, -1)]
    return next((name for name in (*near, ".".join((*parts, _snake(last_word), last_word))) if name in documents), api)


def _weigh(kernel: str | None, fact: Fact) -> tuple[str, bool]:
    """The kind, and whether wheel and documents disagree."""
    if kernel == CPU:
        return ON_CPU, bool(fact.status) and fact.status != UNSUPPORTED and not fact.may_run_on_cpu
    if fact.status == UNSUPPORTED:
        return UNVERIFIED, kernel == NATIVE
    if fact.inference_only and not fact.dtypes:  # a note that names types as well speaks of one use, not of the API
        return INFERENCE, False
    if fact.may_run_on_cpu:
        return LIMITED, kernel == NATIVE
    if fact.status == CONSTRAINED or kernel == MIXED:
        return LIMITED, False
    return SUPPORTED if fact.status or kernel else SILENT, False


def _npu(api: str, catalogue: Catalogue) -> Verdict:
    if old := catalogue.deprecated(api):
        return Verdict(api, DEPRECATED, to=old.replacements)
    module, _, name = api.rpartition(".")
    private = any(part.startswith("_") for part in api.split("."))  # from C++, where no source names it
    # `import torch_npu` puts every operator of its own there, public or not
    known = not module or api == "torch.npu" or private or catalogue.has(api)
    operator = module == "torch_npu" and catalogue.operators.overloads(f"npu::{name}")
    return Verdict(api, SUPPORTED if known or operator else MISSING, NATIVE if operator else None)


def _cuda(api: str, catalogue: Catalogue, fact: Fact | None) -> Verdict:
    stated = fact or Fact("")
    to = stated.npu_name if stated.npu_name and catalogue.has(stated.npu_name) else catalogue.counterpart(api)
    if api != "torch.cuda" and to is None:
        return Verdict(api, MISSING, status=stated.status or None)
    found = MOVED if to else SUPPORTED
    kind = INFERENCE if stated.inference_only else UNVERIFIED if stated.status == UNSUPPORTED else found
    return Verdict(api, kind, status=stated.status or None, to=(to,) if to else ())


def _place(fact: Fact) -> tuple[str, ...]:
    return (fact.npu_name,) if fact.npu_name else ()


class Support:
    """Verdicts for one target, each made once."""

    def __init__(self, catalogue: Catalogue, documents: Documents, soc: str) -> None:
        self.catalogue, self.documents, self.soc = catalogue, documents, soc
        self._verdicts: dict[str, Verdict | None] = {}
        self._methods: dict[str, bool] = {}

    def of(self, api: str) -> Verdict | None:
        if api not in self._verdicts:
            self._verdicts[api] = verdict(api, self.catalogue, self.documents, self.soc)
        return self._verdicts[api]

    def is_method(self, name: str) -> bool:
        """Whether only a tensor has a method of this name: no module has it, no dictionary, no string."""
        known = self._methods.get(name)
        if known is None:
            known = self._methods[name] = name not in _SHARED and bool(
                self.catalogue.surface.has(f"torch.Tensor.{name}")
            )
        return known


def support_on(target: Target) -> Support:
    return Support(fitting(target.torch_npu), documents.load(target.torch_npu), target.soc)


# methods of tensors that other things have as well: modules, dictionaries, strings, sizes, optimizers
_SHARED = frozenset(
    """apply bfloat16 count cpu cuda double float half index indices int ipu name names npu register_hook requires_grad_ share_memory
    share_memory_ size split to type values xpu zero_grad pop copy keys items get add_module""".split()
)
