"""Numerical differences of a target that its documents describe: whose they are, where that is said, what is assumed.

V: read in a document or source of the vendor. What these leave open, and the virtual device has to decide, is assumed, and
is said with the result (rules/words/verify.toml, `difference.NAME.assumed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from porter.errors import UserError

CHIPS = ("A2", "A3", "910")
_NEWER, _ALL = ("A2", "A3"), CHIPS


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    chips: tuple[str, ...]
    grade: str
    source: str
    by_default: bool = True
    setting: str = ""  # what takes it away, or brings it
    everywhere: bool = False  # torch_npu's own code: in every run, and taken out to see what it does
    fed_by: tuple[str, ...] = ()  # others that bring operators which it changes


DIFFERENCES = (
    Difference(
        "hf32-conv", _NEWER, "V", "op-plugin: torch_npu.npu.conv.allow_hf32; CANN: allow_hf32 (11 bits of mantissa)",
        setting="torch.npu.conv.allow_hf32 = False",
    ),
    Difference(
        "hf32-matmul", _NEWER, "V", "op-plugin: torch_npu.npu.matmul.allow_hf32; CANN: allow_hf32 (11 bits of mantissa)",
        by_default=False, setting="torch.npu.matmul.allow_hf32 = True",
    ),
    Difference(
        "tanh-gelu", _ALL, "V", "op-plugin: torch_npu.npu_gelu, and its kernels of gelu",
        setting="TORCH_NPU_USE_COMPATIBLE_IMPL=1",
    ),
    Difference("saturation", ("910",), "V", "torch_npu: INF_NAN_MODE_ENABLE", fed_by=("fp16-products", "no-bfloat16")),
    Difference(
        "fp16-products", ("910",), "V", "torch_npu: ACL_PRECISION_MODE, default allow_fp32_to_fp16",
        setting="torch.npu.set_option({'ACL_PRECISION_MODE': 'must_keep_origin_dtype'})", fed_by=("no-bfloat16",),
    ),
    Difference("no-bfloat16", ("910",), "V", "torch_npu: IsBF16Supported, torch_npu.npu.get_amp_supported_dtype"),
    Difference("float32-casts", _ALL, "V", "torch_npu: ToKernelNpu.cpp", everywhere=True),
)  # fmt: skip


def of(chip: str, only: Sequence[str] = ()) -> tuple[Difference, ...]:
    """Those of a chip, or those of them that are named."""
    if chip not in CHIPS:
        raise UserError(
            f"--as {chip}: nothing is documented that could be computed here; choose {', '.join(CHIPS)}",
            f"--as {chip}：没有可在此计算的、文档所述的差异；可选 {', '.join(CHIPS)}",
        )
    found = tuple(difference for difference in DIFFERENCES if chip in difference.chips)
    names = [difference.name for difference in found]
    for name in only:
        if name not in names:
            raise UserError(
                f"--only {name}: not a documented difference of {chip}; choose {', '.join(names)}",
                f"--only {name}：不是 {chip} 文档所述的差异；可选 {', '.join(names)}",
            )
    return tuple(difference for difference in found if not only or difference.name in only)


def watched(differences: Sequence[Difference]) -> str:
    """VIRTUAL_NPU_DIFFERENCES of a run that counts what each would change."""
    return " ".join(f"{difference.name}=watch" for difference in differences)


def alone(difference: Difference) -> str:
    return f"{difference.name}={'on' if difference.by_default else 'force'}"


def together(differences: Sequence[Difference], forced: bool) -> str:
    """What the chip does by itself; with `forced`, what was named, too."""
    return " ".join(alone(d) if forced else f"{d.name}=on" for d in differences if not d.everywhere)
