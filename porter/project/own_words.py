"""Finds names that the project holds against "cuda" and against words that are no devices: `context == "gl"` beside
`context == "cuda"`. What such a name holds is a word of the program."""

from __future__ import annotations

from collections.abc import Iterable

from porter.python.evidence import DEVICES, like
from porter.regex import lazy

_WITH_CUDA = lazy(rb"==[ \t]*[\"']cuda[\"']")
_COMPARED = lazy(rb"\b([A-Za-z_]\w*)[ \t]*([=!])=[ \t]*[\"']([^\"'\n]+)[\"']")
_OF_DEVICES = DEVICES | {"gpu"}


def own_words(texts: Iterable[bytes]) -> tuple[str, ...]:
    """Such names. The names of devices are not among them, nor the type of one."""
    names: set[str] = set()
    for data in texts:
        if (b'"cuda"' not in data and b"'cuda'" not in data) or _WITH_CUDA.search(data) is None:
            continue
        words: dict[bytes, set[bytes]] = {}
        equal: set[bytes] = set()
        for name, sign, word in _COMPARED.findall(data):
            words.setdefault(name, set()).add(word)
            equal.update([name] if sign == b"=" and word == b"cuda" else [])
        names.update(name.decode() for name in equal if any(map(_is_no_device, words[name])))
    return tuple(sorted(name for name in names if name != "type" and not like(name, "device")))


def _is_no_device(word: bytes) -> bool:
    return word.decode("utf-8", "replace").partition(":")[0].lower() not in _OF_DEVICES
