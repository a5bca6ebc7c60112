"""`_get_stream(0)`: copies of mmcv's data parallelism call what torch keeps for itself, which takes a device and took its number."""

from __future__ import annotations

import ast

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.guards import asked
from porter.python.index import FUNCTIONS, Link, parents
from porter.python.walks import walk

STREAM = "torch.nn.parallel._functions._get_stream"
_OF_DEVICE = (2, 1)  # the first torch whose function takes a device


def of_stream(original: cst.Call, link: Link | None, file: RuleFile) -> Hit | None:
    if file.target.torch < _OF_DEVICE or link is None or asked(link) or _makes_devices(link):
        return None
    return Hit(original.func, "stream")


def _makes_devices(link: Link) -> bool:
    """Whether a function makes devices, which it may hand to what it calls."""
    function = next((node for node in parents(link) if node.__class__ in FUNCTIONS), None)
    calls = (node for node in walk(function) if isinstance(node, ast.Call)) if function is not None else ()
    return any(call_name(call.func) == "device" for call in calls)
