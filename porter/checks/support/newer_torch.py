"""What the target's torch lacks and a later one has: a newer target answers for all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from porter.catalog.read.load import load, versions
from porter.catalog.read.verdict import Support
from porter.engine.rule import NEEDED, TOGETHER, Hit, named
from porter.python.index import Link
from porter.versions import release, sure

_SHOWN = 3  # names that a message lists


def newer_names(found: Mapping[str, tuple[Link, str]], support: Support) -> Iterator[Hit]:
    """One finding for all names that some later torch has: who takes that torch is done with all of them."""
    if not found:
        return
    npu = max((npu for _, npu in found.values()), key=sure)
    values = named(
        **{NEEDED: npu, TOGETHER: NEEDED},
        version=support.catalogue.torch,
        calls=", ".join(list(found)[:_SHOWN]) + (f" (+{len(found) - _SHOWN})" if len(found) > _SHOWN else ""),
    )
    for place, _ in found.values():
        yield Hit(place, "newer", code="PRT701", values=values)


@cache
def later(name: str, torch: str) -> str | None:
    """The first torch_npu for a later torch, if that torch has the name."""
    candidates = (v for v in versions() if release(load(v).torch, 3) > release(torch, 3))
    return next((v for v in candidates if load(v).surface.has(name) is not False), None)


@cache
def is_elsewhere(name: str) -> bool:
    """Whether some torch that porter knows has it, if another than the target's."""
    return any(load(version).surface.has(name) is not False for version in versions())
