"""Libraries whose objects have `cuda()` and `to()`: torch_npu gives `npu()` to tensors, modules and storages alone."""

from __future__ import annotations

import re

from porter.regex import lazy
from porter.rulebook.table import hints

LIBRARIES = tuple(sorted(hints("moved-by-to")))
_NAMES = tuple(name.encode() for name in LIBRARIES)
_IMPORT = lazy(rb"^[ \t]*(?:from|import)[ \t]+(%s)\b" % b"|".join(_NAMES), re.MULTILINE)


def imported(text: bytes) -> set[str]:
    """Those that a file of Python imports."""
    return {name.decode() for name in _IMPORT.findall(text)} if any(name in text for name in _NAMES) else set()
