"""Finds functions of a project that replace the gradients of parameters, or freeze parameters: `p.grad = None` in
`cancel_gradients(model)`. A program that calls one changes tensors whose storage a fused optimiser keeps."""

from __future__ import annotations

from collections.abc import Mapping

from porter.files.paths import is_test
from porter.regex import lazy

_MARKS = (b".grad", b"requires_grad")
_CHANGES = lazy(
    rb"\.grad[ \t]*=(?!=)|\bdel [\w.]+\.grad\b|\.requires_grad_\([ \t]*(?!True|\))"
    rb"|\b(?:p|v|w|\w*param\w*|weight|bias)\.requires_grad[ \t]*=[ \t]*(?:False|[a-z])"
)
_DEFINES = lazy(rb"[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
# names that say nothing of what they call, or that run before the optimiser is made
_PLAIN = frozenset("main train eval fit run test forward backward step zero_grad update get load build create".split())


def gradient_changers(texts: Mapping[str, bytes]) -> tuple[str, ...]:
    """The names of these functions and methods."""
    names: set[str] = set()
    for path, text in texts.items():
        if any(mark in text for mark in _MARKS) and not is_test(path):
            names.update(name for match in _CHANGES.finditer(text) if (name := _around(text, match.start())))
    return tuple(sorted(name for name in names if name not in _PLAIN and not name.startswith("__")))


def _around(text: bytes, place: int) -> str:
    """The name of the function around a place; "" outside of functions."""
    start = text.rfind(b"\n", 0, place) + 1
    margin = _margin(text, start)
    while start > 0 and margin:
        start = text.rfind(b"\n", 0, start - 1) + 1
        own = _margin(text, start)
        if own < margin and text[start + own : start + own + 1] not in (b"\n", b"\r", b"#", b")", b""):
            if match := _DEFINES.match(text, start):
                return match[1].decode()
            margin = own
    return ""


def _margin(text: bytes, start: int) -> int:
    end = start
    while text[end : end + 1] in (b" ", b"\t"):
        end += 1
    return end - start
