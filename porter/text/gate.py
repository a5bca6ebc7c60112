"""Asked of every file that is not Python before a parser is loaded: can it concern porter at all?"""

from __future__ import annotations

import re

from porter.files import kinds

_SHELL = (
    rb"cuda|nccl|cublas|cudnn|nvidia|nvcc|nvprof|nsys|\bncu\b|gpu|torch|nvtop|deepspeed|accelerate|train|\bml[ \t]"
    rb"|--nv\b|flash|xformers|bitsandbytes|install"
)
# Words that some rule of that kind starts from, in any case.
_PATTERNS = {
    kinds.NOTEBOOK: rb"cuda|nccl|torch|apex|nvidia",
    kinds.SHELL: _SHELL,
    kinds.MAKEFILE: _SHELL,
    kinds.DOCKERFILE: _SHELL,
}
KINDS = frozenset(_PATTERNS)  # what porter reads beside Python
_SEARCH = {kind: re.compile(pattern, re.IGNORECASE).search for kind, pattern in _PATTERNS.items()}


def concerns(kind: str, data: bytes) -> bool:
    return _SEARCH[kind](data) is not None
