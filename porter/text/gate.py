"""Asked of every file that is not Python before a parser is loaded: can it concern porter at all?"""

from __future__ import annotations

import re

from porter.files import kinds
from porter.rulebook.gate import GATE, PACKAGES

_SHELL = (
    rb"cuda|nccl|cublas|cudnn|nvidia|nvcc|nvprof|nsys|\bncu\b|gpu|torch|nvtop|deepspeed|accelerate|train|\bml[ \t]"
    rb"|--nv\b|flash|xformers|bitsandbytes|install"
)
# Of text in lower case; one search for each plain word takes a hundredth of the time of one for all in any case.
_SETTINGS = (
    b"cuda", b"nccl", b"nvidia", b"nvcr.io", b"apex", b"multi_gpu", b"--gpus", b"flash", b"xformers", b"load_in_", b"8bit",
    b"paged_", b"bnb", b"quantization_bit", b"tf32", b"fp8", b"sparse_attention", b"lamb\"", b"lion\"", b"gres:", b"pytorch_alloc",
    b"lightning", b"vocab_size", b"hidden_size", b"n_embd", b"d_model", re.compile(rb"gpus?[\"']?\s*[:=]"), re.compile(rb"gpu[\"']?\s*(?:$|[\n,}#])"), re.compile(rb"amp[\"']?\s*:"),
)  # fmt: skip
_LISTED = [word.lower().replace("_", "[-_.]") for word in PACKAGES.split() if word != "numba"]
_REQUIRED = (
    b"torch",
    b"cuda",
    b"nvidia",
    b"apex",
    re.compile(
        "|".join([*_LISTED, "gpu", "nvtx", "vllm", "rasterization", "kvikio", "pyg", r"\bcu\d", "nccl"]).encode()
    ),
)
_WORDS: dict[str, tuple] = {
    kinds.YAML: (*_SETTINGS, b"torch=", re.compile(rb"- [\"']?(?:py)?torch(?![\w./:-])")),
    kinds.JSON: _SETTINGS,
    kinds.TOML: (*_SETTINGS, *_REQUIRED),
    kinds.INI: (*_SETTINGS, *_REQUIRED),
    kinds.REQUIREMENTS: _REQUIRED,
}
# Words that some rule of that kind starts from, in any case.
_PATTERNS = {
    # JSON may spell a letter as \u0063; nobody who has no reason to does
    kinds.NOTEBOOK: rb"cuda|nccl|torch|apex|nvidia|nvcc|nvprof|\bnsys\b|gpu|deepspeed|flash|xformers|bitsandbytes|\\u00[4-7]",
    kinds.SHELL: _SHELL,
    kinds.MAKEFILE: _SHELL,
    kinds.DOCKERFILE: _SHELL,
    kinds.NATIVE: rb"__global__|<<<|cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|thrust::|cub::|cutlass|hipLaunch",
}
_RECORDS = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")  # a list is data
KINDS = frozenset({*_PATTERNS, *_WORDS})  # what porter reads beside Python
_SEARCH = {kind: re.compile(pattern, re.IGNORECASE).search for kind, pattern in _PATTERNS.items()}


# what porter itself wrote: findings, baselines, results of `verify`, as JSON or SARIF
_OWN = re.compile(
    rb'\s*\{\s*"(?:schema": \d+,\s*"porter"|porter-baseline"|format": \d+,\s*"verdict"|\$schema": "[^"]*sarif)'
)


def concerns(kind: str, data: bytes) -> bool:
    if kind == kinds.JSON and (_OWN.match(data) or _RECORDS.match(data)):
        return False
    if kind in _SEARCH:
        return _SEARCH[kind](data) is not None or kind == kinds.NOTEBOOK and GATE.search(data)
    low = data.lower()
    return any(word in low if word.__class__ is bytes else word.search(low) for word in _WORDS[kind])
