"""Finds imports of libraries whose objects have `cuda()` and `to()`, but no `npu()`. torch_npu adds `npu()` only to tensors,
modules and storages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.regex import lazy
from porter.rulebook.table import hints

LIBRARIES = tuple(sorted(hints("moved-by-to")))
_NAMES = tuple(name.encode() for name in LIBRARIES)
_IMPORT = lazy(rb"^[ \t]*(?:from|import)[ \t]+(%s)\b" % b"|".join(_NAMES), re.MULTILINE)


def moved_by_to(texts: Iterable[bytes]) -> tuple[str, ...]:
    """The libraries of this kind that the texts import."""
    naming = (text for text in texts if any(name in text for name in _NAMES))
    return tuple(sorted({name.decode() for text in naming for name in _IMPORT.findall(text)}))
