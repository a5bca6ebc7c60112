"""Finds questions for a GPU in functions that plan what Ray is asked for: to Ray an NPU is no GPU, so that both are one decision."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, ancestors, walk
from porter.regex import rare

if TYPE_CHECKING:
    from porter.python.file import File

_PLANS = rare(rb"\b(?:with_resources|resources_per_trial|placement_group)\b")
# NPU: once the plan is ported
_GPUS, _OTHERS = frozenset({"gpu", "GPU", "NPU"}), frozenset({"cpu", "CPU", "memory"})


def key_of(file: File, link: Link) -> str | None:
    """The key by which the function around a question asks for GPUs."""
    function = next((up[0] for up in ancestors(link) if isinstance(up[0], FUNCTIONS[:2])), None)
    if function is None or not file.source.says(_PLANS):
        return None
    for node in walk(function):
        keys = (
            {key for key in map(constant, node.keys) if isinstance(key, str)} if isinstance(node, ast.Dict) else set()
        )
        if not keys.isdisjoint(_GPUS) and not keys.isdisjoint(_OTHERS):
            return repr(min(keys & _GPUS))
    return None
