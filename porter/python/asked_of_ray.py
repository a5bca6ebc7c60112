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
GPUS, OTHERS = ("GPU", "gpu"), frozenset({"CPU", "cpu", "memory"})  # keys of what Ray is asked for
_ASKED = frozenset({*GPUS, "NPU"})  # as the plan is, and as it is once it is ported


def key_of(file: File, link: Link) -> str | None:
    """The key by which the function around a question asks for GPUs."""
    if not file.source.says(_PLANS):
        return None
    function = next((up[0] for up in ancestors(link) if isinstance(up[0], FUNCTIONS[:2])), None)
    for node in walk(function) if function is not None else ():
        keys = {str(constant(key)) for key in node.keys} if isinstance(node, ast.Dict) else frozenset[str]()
        if not keys.isdisjoint(OTHERS) and not keys.isdisjoint(_ASKED):
            return repr(min(keys & _ASKED))
    return None
