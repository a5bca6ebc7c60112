"""Says by their names which classes and functions stand beside the training: they prepare, measure or show something."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache

from porter.python.evidence import call_name
from porter.regex import lazy
from porter.rulebook.table import hint

_AFTERWARDS, _ASIDE = map(hint, ("afterwards", "aside"))
# a radiance field asks such a sampler in each step; others order a data set, or draw pictures when all is trained
_ON_RAYS, _SAMPLER = lazy(r"(?i)ray_?sampler"), lazy(r"(?i)sampler")


def is_beside(owner: ast.ClassDef) -> bool:
    """Whether the `forward` of a class is not part of the training step: transforms of samples, metrics, post-processing."""
    return any(map(_AFTERWARDS.search, telling(owner.name, map(call_name, owner.bases))))


@lru_cache(maxsize=4096)
def is_aside(name: str) -> bool:
    """Whether a function, by its name, does something else than train on a batch."""
    return bool(_AFTERWARDS.search(name) or _ASIDE.search(name))


def telling(name: str, bases: Iterable[str]) -> list[str]:
    """The names of a class and of its bases; without the word where they say that it samples along rays."""
    names = [name, *bases]
    return [_SAMPLER.sub("", n) for n in names] if any(map(_ON_RAYS.search, names)) else names
