"""Cheap looks at a place that a rule has the name of, before LibCST sees its statement: `Rule.only` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.checks.precision import halves, late_casts
from porter.python.evidence import call_name
from porter.python.index import Link

if TYPE_CHECKING:
    from porter.training.scene import Scene

_TAKERS = frozenset(name.rpartition(".")[2] for name in late_casts.TAKERS)


def takes_half(scene: Scene, link: Link) -> bool:
    return halves.takes_half(scene.file.names, link)


def takes_array(scene: Scene, link: Link) -> bool:
    """What takes an array of numpy, or casts one that was moved."""
    return call_name(link[0].func) in _TAKERS or late_casts.is_late(scene, link)
