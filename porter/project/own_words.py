"""Finds names that the project holds against "cuda" and against words that are no devices: `context == "gl"` beside
`context == "cuda"`. What such a name holds is a word of the program."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.python.evidence import DEVICES, like
from porter.regex import lazy

_WITH_CUDA = lazy(rb"==[ \t]*[\"']cuda[\"']")
_NAME = lazy(rb"([A-Za-z_]\w*)[ \t]*$")
_WIDTH = 80  # bytes before a comparison in which the name stands


def own_words(texts: Iterable[bytes]) -> tuple[str, ...]:
    """Such names. The names of devices are not among them, nor the type of one."""
    names: set[str] = set()
    for data in texts:
        if b'"cuda"' not in data and b"'cuda'" not in data:
            continue
        for match in _WITH_CUDA.finditer(data):
            written = _NAME.search(data, max(0, match.start() - _WIDTH), match.start())
            name = written[1].decode() if written else "type"
            if name != "type" and name not in names and not like(name, "device") and _has_others(name, data):
                names.add(name)
    return tuple(sorted(names))


def _has_others(name: str, data: bytes) -> bool:
    others = re.finditer(rb"\b%s[ \t]*[=!]=[ \t]*[\"']([^\"'\n]+)[\"']" % name.encode(), data)
    words = (match[1].decode("utf-8", "replace").partition(":")[0].lower() for match in others)
    return any(word not in DEVICES | {"gpu"} for word in words)
