"""What ends in a kernel or a package that no NPU has, over definitions that read each other's names."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

Definition = TypeVar("Definition", bound=Hashable)


def endings(
    words: Mapping[Definition, Iterable[str]],
    ends: Mapping[str, str],
    called: Callable[[Definition], Iterable[str]],
) -> dict[Definition, str]:
    """Where each definition ends that does: `words` is what it reads, `ends` where a word is known to end, and what a
    definition is `called` ends where that does."""
    readers: dict[str, list[Definition]] = {}
    for definition, read in words.items():
        for word in dict.fromkeys(read):
            readers.setdefault(word, []).append(definition)
    known = dict(ends)
    found: dict[Definition, str] = {}
    todo = list(known)
    for word in todo:  # it grows
        for definition in readers.get(word, ()):
            if definition in found:
                continue
            found[definition] = known[word]
            fresh = [name for name in called(definition) if name not in known]
            known.update(dict.fromkeys(fresh, known[word]))
            todo += fresh
    return found
