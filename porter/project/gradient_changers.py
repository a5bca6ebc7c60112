"""Finds functions of a project that replace the gradients of parameters, or freeze parameters: `p.grad = None` in
`cancel_gradients(model)`. A program that calls one changes tensors whose storage a fused optimiser keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from porter.files.paths import is_test
from porter.regex import lazy, rare

_LINES = rare(rb"grad[^\n]*")  # the ends of the lines with the word, which alone are searched for a change
_CHANGES = lazy(
    rb"\.grad[ \t]*=(?!=)|\bdel [\w.]+\.grad\b|\.requires_grad_\((?![ \t]*(?:True|\)))"
    rb"|\b(?:p|v|w|\w*param\w*|weight|bias)\.requires_grad[ \t]*=[ \t]*(?:False|[a-z])"
)
# a line that may begin or end a block, with the name of the function that it defines
_LINE = lazy(rb"(?m)^([ \t]*)(?:(?:async[ \t]+)?def[ \t]+(\w+)|[^\s#)])")
# names that say nothing of what they call, or that run before the optimiser is made
_PLAIN = frozenset("main train eval fit run test forward backward step zero_grad update get load build create".split())


def gradient_changers(texts: Mapping[str, bytes]) -> tuple[str, ...]:
    """The names of these functions and methods."""
    names: set[str] = set()
    for path, text in texts.items():
        if b"grad" in text and not is_test(path):
            lines = ((text.rfind(b"\n", 0, match.start()) + 1, match.end()) for match in _LINES.finditer(text))
            names.update(_around(text, [start for start, end in lines if _CHANGES.search(text, start, end)]))
    return tuple(sorted(name for name in names if name not in _PLAIN and not name.startswith("__")))


def _around(text: bytes, places: list[int]) -> Iterator[str]:
    """The names of the innermost functions around the starts of lines, which are sorted. Outside of functions there is none."""
    blocks: list[
        tuple[int, str]
    ] = []  # around a line, from the outside: how far each is indented, and a function's name
    lines = _LINE.finditer(text) if places else iter(())
    line = next(lines, None)
    for place in places:
        while line is not None and line.start() <= place:
            margin = len(line[1])
            while blocks and blocks[-1][0] >= margin:
                blocks.pop()
            blocks.append((margin, line[2].decode() if line[2] else ""))
            line = next(lines, None)
        # the last one is the line itself
        if name := next((name for _, name in reversed(blocks[:-1]) if name), ""):
            yield name
