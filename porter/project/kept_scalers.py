"""Finds optimizers of a project that put the object which scales losses into their state, as NVIDIA's FP16_Optimizer does, of which
many programs have a copy: `torch.load` refuses it from 2.6 on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from porter.project.numpy_values import Place
from porter.regex import lazy

_KEPT = lazy(rb"\[[\"']loss_scaler[\"']\][ \t]*=[ \t]*self\.loss_scaler[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_CLASS = lazy(rb"^class[ \t]+(\w+)", re.MULTILINE)


def kept_scalers(texts: Mapping[str, bytes]) -> frozenset[Place]:
    """The files and names of such classes."""
    found: set[Place] = set()
    for path, data in texts.items():
        kept = _KEPT.search(data) if b"loss_scaler" in data else None
        if kept and (names := _CLASS.findall(data[: kept.start()])):
            found.add((path, names[-1].decode()))
    return frozenset(found)
