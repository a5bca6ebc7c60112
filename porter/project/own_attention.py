"""Finds files with their own code for "flash_attention_2", which is not that of transformers, and the programs that take it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from porter.engine.facts import OwnAttention
from porter.files.paths import is_test
from porter.python.graphs import reached
from porter.regex import lazy

_ENTRY = lazy(
    rb"""(?:^|[{,])[ \t]*["']flash_attention_2["'][ \t]*:[ \t]*(?!None\b|True\b|False\b)[A-Za-z_]""", re.MULTILINE
)
_ASKED = lazy(rb"""==\s*["']flash_attention_2["']|["']flash_attention_2["']\s*(?:==|in\b)""")
_FLASH_ATTN = lazy(rb"^[ \t]*(?:from|import)[ \t]+flash_attn\b", re.MULTILINE)
_PLAIN = lazy(rb"\.attn_implementation\b")
_TRANSFORMERS = b"_attn_implementation"  # which transformers reads as well


def own_attentions(texts: Mapping[str, bytes], imported: Callable[[str], Iterable[str]]) -> tuple[OwnAttention, ...]:
    """The files with an entry of that name in a table, or with a comparison beside an import of flash_attn. `imported`: the
    files that a file imports."""
    naming = [path for path in sorted(texts) if b"flash_attention_2" in texts[path] and not is_test(path)]
    own = [path for path in naming if _is_own(texts[path])]
    if not own:
        return ()
    importers: dict[str, list[str]] = {}
    for path in texts:
        for other in () if is_test(path) else imported(path):
            importers.setdefault(other, []).append(path)
    found = []
    for path in own:
        users = reached([path], lambda file: importers.get(file, ()))
        programs = reached(users, imported) if len(users) > 1 else set()
        reads_plain = _PLAIN.search(texts[path]) is not None and _TRANSFORMERS not in texts[path]
        found.append(OwnAttention(path, reads_plain, tuple(sorted(programs))))
    return tuple(found)


def _is_own(data: bytes) -> bool:
    return bool(_ENTRY.search(data) or _FLASH_ATTN.search(data) and _ASKED.search(data))
