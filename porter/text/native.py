"""C++ and CUDA sources: which kernels are in a file, what they use and what Python gets of them. Nothing is edited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from porter.text.document import Document, TextHit

MARK = "//"

# An include keeps its string.
_TOKEN = re.compile(
    r'#[ \t]*include[^\n]*|//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|$)|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
_KERNEL = re.compile(
    r"\b__global__\b(?P<head>[^;{}]*?)\b(?P<name>[A-Za-z_]\w*)\s*\((?![^()]*\)\s*(?:void|static|inline)\b)"
)
_BOUNDS = re.compile(
    r"\b__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)|\b__attribute__\s*\(\(.*?\)\)|\btemplate\s*<[^;{}()]*?>\s*(?=__global__)"
)
_LAUNCH = re.compile(r"<<<|\bcudaLaunch(?:Cooperative)?Kernel\w*\s*\(|\bhipLaunchKernelGGL\s*\(")
_EXPORT = re.compile(r'\b(?:\w+\s*\.\s*)?(?:def|impl)\s*\(\s*"([^"\n(]+)')
_MODULE = re.compile(r"\b(?:PYBIND11_MODULE|TORCH_LIBRARY(?:_IMPL|_FRAGMENT)?|NB_MODULE)\s*\(\s*([\w:]+)")
_GUARD = re.compile(
    r"^[ \t]*#[ \t]*if(?:def[ \t]+|[ \t]+)(?:defined[ \t]*\(?[ \t]*)?(?:\w*_)?(?:CUDA|GPU|CUDACC|NCCL|ROCM)(?:_\w+)?\b",
    re.M,
)
_LIBRARIES = {
    "cuBLAS": r"\bcublas(?:Lt)?[A-Z_]\w*|cublas\w*\.h",
    "cuDNN": r"\bcudnn[A-Z]\w*|cudnn\w*\.h",
    "cuFFT": r"\bcufft[A-Z]\w*",
    "cuRAND": r"\bcurand[A-Z_]\w*",
    "cuSOLVER": r"\bcusolver[A-Z]\w*",
    "cuSPARSE": r"\bcusparse[A-Z]\w*",
    "NCCL": r"\bnccl[A-Z]\w*|nccl\.h",
    "Thrust": r"\bthrust::",
    "CUB": r"\bcub::",
    "CUTLASS": r"\bcutlass::",
    "CUDA": r"cuda(?<!\wcuda)(?:[A-Z]\w*|_runtime\w*\.h|::)",
}
# the first plain letters of each, which are found at a hundred times the speed
_USED = {name: (re.match(r"(?:\\b)?(\w+)", text)[1], re.compile(text)) for name, text in _LIBRARIES.items()}
_STARTS = ("<<<", "cudaLaunch", "hipLaunch")
_SHOWN = 4


@dataclass(frozen=True)
class Native:
    kernels: tuple[tuple[int, str], ...]
    launches: tuple[int, ...]
    libraries: tuple[tuple[int, str], ...]
    exports: tuple[str, ...]
    device: bool  # there is code for the device in it, as kernels or as what kernels call


def read(document: Document) -> Native:
    bare = _TOKEN.sub(lambda found: _blank(found, "/\"'R"), document.text)
    bare = _unguarded(bare)
    kernels: dict[str, int] = {}
    plain = _BOUNDS.sub(lambda found: " " * len(found[0]), bare) if "__global__" in bare else ""
    for found in _KERNEL.finditer(plain):
        kernels.setdefault(found["name"], found.start("name"))
    libraries = [
        (found.start(), name)
        for name, (letters, pattern) in _USED.items()
        if letters in bare and (found := pattern.search(bare))
    ]
    exports: dict[str, None] = {}
    if _MODULE.search(bare):  # their names stand in strings
        code = _TOKEN.sub(lambda found: _blank(found, "/"), document.text)
        exports = dict.fromkeys([*_MODULE.findall(code), *_EXPORT.findall(code)])
    launched = any(start in bare for start in _STARTS)
    return Native(
        tuple((at, name) for name, at in kernels.items()),
        tuple(found.start() for found in (_LAUNCH.finditer(bare) if launched else ())),
        tuple(libraries),
        tuple(name for name in exports if name != "TORCH_EXTENSION_NAME"),
        bool(kernels) or document.path.endswith((".cu", ".cuh", ".hip")) or "__device__" in bare,
    )


def _unguarded(code: str) -> str:
    """Without what stands below `#ifdef WITH_CUDA`: it is left out where there is no CUDA."""
    if not _GUARD.search(code):
        return code
    open_, lines = [], code.splitlines(keepends=True)
    for number, line in enumerate(lines):
        bare = line.lstrip().removeprefix("#").lstrip() if line.lstrip().startswith("#") else ""
        if bare.startswith("if"):
            open_.append(_GUARD.match(line) is not None)
        elif bare.startswith(("else", "elif")) and open_:
            open_[-1] = False
        elif bare.startswith("endif") and open_:
            open_.pop()
        elif any(open_):
            lines[number] = re.sub(r"[^\r\n]", " ", line)
    return "".join(lines)


def look(document: Document, native: Native) -> Iterator[TextHit]:
    places = [at for at, _ in (*native.kernels, *native.libraries)] + list(native.launches)
    if not places:
        return
    at = min(place for place, _ in native.kernels) if native.kernels else min(places)
    values = TextHit.values_of(
        count=str(len(native.kernels)),
        names=_shown([name for _, name in native.kernels]),
        launches=str(len(native.launches)),
        libraries=_shown([name for _, name in native.libraries]),
        exports=_shown(list(native.exports)),
    )
    severity = "note" if document.session.facts.knows_npus(document.path) else ""  # NPUs have sources of their own
    if native.device or native.launches:
        yield TextHit(at, at + 1, "PRT850", "kernels", values=values, severity=severity)
    else:
        yield TextHit(at, at + 1, "PRT850", "host", values=values, severity=severity)


def _blank(found: re.Match[str], first: str) -> str:
    """Blanks where a comment, or a string, stood: no place moves."""
    text = found[0]
    if text[0] not in first:
        return text
    return re.sub(r"[^\r\n]", " ", text) if "\n" in text else " " * len(text)


def _shown(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" (+{more})" if more > 0 else "") or "-"
