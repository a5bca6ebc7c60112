"""Finds calls of autocast that are given what CUDA's autocast is: `torch.cuda.amp.autocast(**ctx.gpu_autocast_kwargs)`.

Before torch 2.4 the questions for that know no device. A port that leaves them to a person leaves what they are given to as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

SINCE = (2, 4)  # the torch that made these functions take a device
# torch.X -> what takes a device there
ASKED = {"is_autocast_enabled": "is_autocast_enabled", "get_autocast_gpu_dtype": "get_autocast_dtype"}
_AUTOCASTS = frozenset(
    "torch.autocast torch.amp.autocast torch.amp.autocast_mode.autocast torch.cuda.amp.autocast torch.cuda.amp.autocast_mode.autocast".split()
)
_WORDS = frozenset(map(str.encode, ASKED))


def given_state(file: RuleFile, link: Link | None) -> str | None:
    """The question that stays in this port, and whose answer the autocast around a place is given: `torch.is_autocast_enabled`."""
    if file.style.one_world or file.target.torch >= SINCE or _WORDS.isdisjoint(file.source.words):
        return None
    call = next((up for up in ancestors(link) if isinstance(up[0], (ast.Call, ast.stmt))), None)
    if call is None or call[0].__class__ is not ast.Call or file.names.resolve(call[0].func, call) not in _AUTOCASTS:
        return None
    given = [*call[0].args, *(keyword.value for keyword in call[0].keywords)]
    parts = (part for value in given for part in (value, *_held(file, value, call)))
    return next((f"torch.{name}" for part in parts if (name := _asked(part))), None)


def _held(file: RuleFile, value: Node, link: Link) -> Iterator[Node]:
    """What is assigned to a name or attribute in the file: `ctx.kwargs = {"enabled": torch.is_autocast_enabled()}`."""
    if value.__class__ is ast.Name:
        bound = file.names.bindings(value.id, link)
    elif value.__class__ is ast.Attribute:
        named = (use for use in file.buckets[ast.Attribute] if use[0].attr == value.attr)
        bound = [use for use in named if use[0].ctx.__class__ is ast.Store]
    else:
        return
    for binding in bound:
        above: Node = binding[1] and binding[1][0]
        if above.__class__ in (ast.Assign, ast.AnnAssign) and above.value is not None:
            yield above.value


def _asked(part: Node) -> str | None:
    calls = (inner for inner in walk(part) if inner.__class__ is ast.Call and not inner.args)
    return next((name for call in calls if (name := call_name(call.func)) in ASKED), None)
