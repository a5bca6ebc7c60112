"""C++ and CUDA sources: which kernels are in a file, what they use and which Python stops with them. Nothing is edited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from porter.errors import Unreadable
from porter.native import cpp
from porter.native.bindings import AICORE
from porter.regex import lazy, rare
from porter.text.document import Document

MARK, READS = "//", "source"

_LAUNCH = rare(rb"<<<|\bcudaLaunch(?:Cooperative)?Kernel\w*\s*\(|\bhipLaunchKernelGGL\s*\(")
_GUARD = rare(
    rb"^[ \t]*#[ \t]*if(?:def[ \t]+|[ \t]+)(?:defined[ \t]*(?:\([ \t]*)?)?(?:\w*_)?(?:CUDA|GPU|CUDACC|NCCL|ROCM)(?:_\w+)?\b",
    re.M,
)
_LIBRARIES = {
    "cuBLAS": r"\bcublas(?:Lt)?[A-Z_]\w*|cublas\w{0,40}\.h",
    "cuDNN": r"\bcudnn[A-Z]\w*|cudnn\w{0,40}\.h",
    "cuFFT": r"\bcufft[A-Z]\w*",
    "cuRAND": r"\bcurand[A-Z_]\w*",
    "cuSOLVER": r"\bcusolver[A-Z]\w*",
    "cuSPARSE": r"\bcusparse[A-Z]\w*",
    "NCCL": r"\bnccl[A-Z]\w*|nccl\.h",
    "Thrust": r"\bthrust::",
    "CUB": r"\bcub::",
    "CUTLASS": r"\bcutlass::",
    "CuTe": r"\bcute::",
    "CUDA": r"cuda(?<!\wcuda)(?:[A-Z]\w*|_runtime\w*\.h|::)",
}
# a call, a name from which templates are made, a header that is not there without CUDA; `cudaStream_t stream` is none
_NEEDED = lazy(
    rb"\b(?:cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl)[A-Z_]\w*\s*\(|\b(?:cuda|thrust|cub|cutlass|cute)::"
    rb"|\b\w{0,80}CUDA\w{0,80}\s{0,9}\(|#[ \t]{0,80}include[^\n]{0,200}?(?:cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|thrust|cub/|THC)"
)
_INCLUDE = rare(rb"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
_SAID = lazy(
    rb"(?i:cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|thrust)|\bc(?:ub|utlass|ute)::|THC|\bdim3\b|__\w+__|__half|__(?:nv_)?bfloat|__float2|nv_bfloat|\bhalf2?\s*[*&>]|\bhalf2?[ \t]+[A-Za-z_]"
)
# plain structures that CUDA's headers define, and what makes them
_VECTORS = lazy(rb"\b(?:make_)?(?:(?:u?(?:char|short|int|long|longlong)|float|double)[1-4])\b")
HEADERS = (".h", ".hh", ".hpp", ".hxx")
# of device code: what has to be thought of anew, and not only written anew
_FEATURES = {
    "PTX": r"asm(?:[ \t]+volatile)?[ \t]*\(",
    "WMMA": r"\bwmma::|\bmma_sync\b",
    "cooperative groups": r"\bcooperative_groups\b",
    "__shfl": r"__shfl(?:_\w{1,40})?[ \t]*\(",
    "__ballot": r"__ballot(?:_sync)?[ \t]*\(",
    "atomicAdd": r"\b(?:gpu)?[aA]tomicAdd\w*[ \t]*\(",
    "tex": r"\btex[123]D\w*[ \t]*[<(]|\btexture<|\bcudaTextureObject_t\b",
}


def _searches(patterns: dict[str, str]) -> dict[str, tuple[bytes, re.Pattern[bytes]]]:
    """With the first plain letters of each, which are found at a hundred times the speed."""
    return {
        name: (match[1].encode(), lazy(text.encode()))
        for name, text in patterns.items()
        if (match := re.match(r"(?:\\b)?(?:\(\?:gpu\)\?\[aA\])?(\w+)", text))
    }


_USED, _USES = _searches(_LIBRARIES), _searches(_FEATURES)
_STARTS = (b"<<<", b"cudaLaunch", b"hipLaunch")
_DEVICE = (".cu", ".cuh", ".hip")
_ON_DEVICE = lazy(rb"\b(?:__device__|(?:CUTLASS|CUTE)_(?:HOST_)?DEVICE)\b")


@dataclass(frozen=True)
class Native:
    kernels: tuple[cpp.Kernel, ...]
    launches: tuple[int, ...]
    libraries: tuple[tuple[int, str], ...]
    used: tuple[str, ...]  # of the libraries, those of which more is there than a header
    features: tuple[str, ...]
    exports: tuple[str, ...]
    device: bool  # there is code for the device in it, as kernels or as what kernels call
    included: bool  # headers of CUDA's are all that it has of it: nothing in it says more
    vectors: tuple[str, ...]  # `float3`, where these types are all that is used of those headers
    declares: bool  # a header with types of CUDA's in what it declares, and no more: what it declares stands elsewhere


def read(document: Document) -> Native:
    data = document.data
    if b"\0" in data:
        raise Unreadable("text", "binary", 1)
    source = cpp.read(data)
    bare = _unguarded(source.bare)
    is_for_npus = AICORE.encode() in bare  # what is launched there are kernels for NPUs
    launched = not is_for_npus and any(start in bare for start in _STARTS)
    exports = dict.fromkeys(export.name for export in source.exports)
    device = bool(source.kernels) or document.path.endswith(_DEVICE) or _ON_DEVICE.search(bare) is not None
    code = _INCLUDE.sub(lambda line: b" " * len(line[0]), bare)  # what includes a header need not use it
    bare_of_cuda = not device and not launched and not _SAID.search(code)
    vectors = tuple(sorted({match[0].decode() for match in _VECTORS.finditer(code)})) if bare_of_cuda else ()
    return Native(
        tuple(kernel for kernel in source.kernels if bare[kernel.start : kernel.start + 1].strip()),
        tuple(match.start() for match in (_LAUNCH.finditer(bare) if launched else ())),
        tuple(_first_uses(_USED, bare)),
        tuple(name for _, name in _first_uses(_USED, code)),
        tuple(name for _, name in _first_uses(_USES, bare)) if device else (),
        tuple(exports),
        device,
        bare_of_cuda and not vectors,
        vectors,
        not device and not launched and document.path.endswith(HEADERS) and not _NEEDED.search(bare),
    )


def _first_uses(searches: dict[str, tuple[bytes, re.Pattern[bytes]]], bare: bytes) -> Iterator[tuple[int, str]]:
    for name, (letters, pattern) in searches.items():
        if letters in bare and (match := pattern.search(bare)):
            yield match.start(), name


def _unguarded(code: bytes) -> bytes:
    """Without what stands below `#ifdef WITH_CUDA`: it is left out where there is no CUDA."""
    if not _GUARD.search(code):
        return code
    open_, guards, lines = [], 0, code.splitlines(keepends=True)  # whether each branch is a guard, and how many are
    for number, line in enumerate(lines):
        bare = line.lstrip().removeprefix(b"#").lstrip() if line.lstrip().startswith(b"#") else b""
        if bare.startswith(b"if"):
            open_.append(_GUARD.match(line) is not None)
            guards += open_[-1]
        elif bare.startswith((b"else", b"elif")) and open_:
            guards -= open_[-1]
            open_[-1] = False
        elif bare.startswith(b"endif") and open_:
            guards -= open_.pop()
        elif guards:
            lines[number] = re.sub(rb"[^\r\n]", b" ", line)
    return b"".join(lines)
