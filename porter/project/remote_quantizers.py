"""Finds programs that quantise a model with code of its own, which transformers downloads with it and which starts CUDA kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from porter.engine.facts import Lists
from porter.regex import lazy

ONE_OF_ITS_MODELS = rb"(?:\w+\.)?(?:Auto\w+|ChatGLM\w+)\.from_pretrained\("
CHECKPOINT = lazy(
    rb"(?i)chatglm[\w.-]*-int[48]\b"
)  # its weights are kept as integers, and computed anew for each product
_CALL = b".quantize("
# what is handed over: an option of the program
_OPTION = lazy(rb"(?m)^[^#\n]*\.quantize\([ \t]*(?:bits[ \t]*=[ \t]*)?\w+\.(\w*(?:quant|bit)\w*)[ \t]*[,)]")
_KERNELS = frozenset(
    {"cpm_kernels", "cpm-kernels"}
)  # the package that starts the kernels; nothing but such models needs it


def remote_quantizers(texts: Mapping[str, bytes], lists: Lists) -> Iterator[tuple[str, str]]:
    """(program, its option for the number of bits; "" where there is none)."""
    has_kernels = any(name in _KERNELS for name, _, _ in lists.asked)
    for path, data in sorted(texts.items()):
        if b"trust_remote_code" in data and (_CALL in data or CHECKPOINT.search(data)):
            if has_kernels or "chatglm" in path.lower() or b"chatglm" in data.lower():
                option = _OPTION.search(data)
                yield path, option[1].decode() if option else ""
