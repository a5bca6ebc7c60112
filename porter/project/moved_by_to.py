"""Finds libraries whose objects have `cuda()` and `to()`, but no `npu()` that does the same. torch_npu adds it only to tensors,
modules and storages; a module of Lightning keeps its `device` where `to()` and `cuda()` move it, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.regex import lazy
from porter.rulebook.table import hints

LIBRARIES = tuple(sorted(hints("moved-by-to")))
_NAMES = tuple(name.encode() for name in LIBRARIES)
_IMPORT = lazy(rb"^[ \t]*(?:from|import)[ \t]+(%s)\b" % b"|".join(_NAMES), re.MULTILINE)
_MODULES = lazy(rb"^[ \t]*class[ \t]+\w+[ \t]*\([^)]*\bLightningModule\b", re.MULTILINE)


def moved_by_to(texts: Iterable[bytes], owners: Iterable[str] = ()) -> tuple[str, ...]:
    """The libraries of this kind that the texts import, or build on, and classes of the project, by `owners`, as "path:Class"."""
    texts = tuple(texts)
    lightning = any(b"LightningModule" in text and _MODULES.search(text) for text in texts)
    naming = (text for text in texts if any(name in text for name in _NAMES))
    imported = {name.decode() for text in naming for name in _IMPORT.findall(text)}
    return (
        *sorted(imported | ({"Lightning"} if lightning else set())),
        *sorted({owner.rpartition(":")[2] for owner in owners}),
    )
