"""Finds the accelerators that a portable port of a project leaves to its code: Macs and XPUs.

A Mac is left where the project uses names of torch.cuda that torch.mps, its module, does not have, or numbers that it does not: in
the portable style the names would be asked of the accelerator's module. On a Mac, which ran such a program on its CPU, that is
torch.mps, and the program would stop. So it would where a tensor of float64 comes to the device, which arrays of NumPy make as a
rule. There the whole program stays on the CPU: one file alone could not, as tensors meet. Macs and XPUs are also left where the
project has code of its own for them, beside that for CUDA, which would run there as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from porter.regex import lazy
from porter.rulebook.table import any_of

_ELSEWHERE = "current_device|nvtx|set_device"  # which the style does not ask of a module
_USED = lazy(
    rb"(?m)^[^#\n]*?(?:\bfrom[ \t]+torch\.cuda[ \t]+import\b|(?<!backends\.)\b(?:cuda|accelerator_module)\.(?!(?:%s)\b)[A-Za-z_])"
    % f"{any_of('of-macs')}|{_ELSEWHERE}".encode()
)
_WIDE = lazy(
    rb"(?m)^[^#\n]*?(?:\.double\(\)|\bfrom_numpy\b|\b(?:float64|complex128)\b|\btorch\.c?double\b|\bDoubleTensor\b)"
)
_OWN = {  # code for them
    "mps": lazy(
        rb"(?m)^[^#\n]*?(?:\b(?:torch|th|backends)\.mps\b|\bhas_mps\b|\bis_(?:torch_)?mps_available\b|[\"']mps(?::\d+)?[\"'])"
    ),
    "xpu": lazy(rb"(?m)^[^#\n]*?(?:\btorch\.xpu\b|[\"']xpu(?::\d+)?[\"'])"),
}
_WIDE_WORDS = (b"double", b"Double", b"float64", b"complex128", b"from_numpy")


def left(texts: Iterable[bytes]) -> tuple[str, ...]:
    """The types of these accelerators, in the order of engine/portable.py (KINDS)."""
    known = [*texts]
    kinds = {kind: any(_has_code(data, kind) for data in known) for kind in _OWN}
    kinds["mps"] = kinds["mps"] or any(map(_lacks_names, known))
    return tuple(kind for kind, is_left in kinds.items() if is_left)


def _has_code(data: bytes, kind: str) -> bool:
    return kind.encode() in data and _OWN[kind].search(data) is not None


def _lacks_names(data: bytes) -> bool:
    if b"torch" in data and (b"cuda" in data or b"accelerator_module" in data) and _USED.search(data):
        return True
    return b"torch" in data and any(word in data for word in _WIDE_WORDS) and _WIDE.search(data) is not None
