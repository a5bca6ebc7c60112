"""Whether a tensor of float64 is copied to the device only to be broadcast and read back. No kernel computes with it, and HCCL
broadcasts float64."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.checks.precision.written_places import moved
from porter.python.blocks import below
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node
from porter.python.waits import READS

if TYPE_CHECKING:
    from porter.python.names import Names

_COPIES = frozenset({"tensor", "as_tensor"})  # these copy what the host has


def is_only_sent(names: Names, link: Link) -> bool:
    """`t = torch.tensor([stamp], dtype=torch.double).to(device)`, `dist.broadcast(t, src=0)`, `t.item()`. `link`: of the call that
    names the type."""
    if call_name(link[0].func) not in _COPIES and not moved(names, link):
        return False
    statement = link
    while statement[1] is not None and statement[0].__class__ in (ast.Call, ast.Attribute):
        statement = statement[1]
    target: Node = statement[0].targets[0] if statement[0].__class__ is ast.Assign else None
    if target.__class__ is not ast.Name or len(statement[0].targets) != 1:
        return False
    uses = [*_readers(names, target, statement)]
    sent = [use for use in uses if _is_broadcast(names, use)]
    return bool(sent) and all(use in sent or _is_read(use) for use in uses)


def _readers(names: Names, target: ast.Name, statement: Link) -> Iterator[Link]:
    """The reads of a name down to where its block sets it again."""
    sets = (s for s in below(statement) if s.__class__ is ast.Assign)
    last = next((s.end_lineno for s in sets if any(getattr(t, "id", "") == target.id for t in s.targets)), None)
    for use in names.readers(target.id, (target, statement)):
        if use[0].lineno > statement[0].end_lineno and (last is None or use[0].lineno <= last):
            yield use


def _is_broadcast(names: Names, use: Link) -> bool:
    call = use[1][1] if use[1] is not None and use[1][0].__class__ is ast.keyword else use[1]
    if call is None or call[0].__class__ is not ast.Call or call[0].func is use[0]:
        return False
    return names.resolve(call[0].func, call) == "torch.distributed.broadcast"


def _is_read(use: Link) -> bool:
    """`t.item()`, `t[0].cpu()`"""
    above = use[1]
    while above is not None and above[0].__class__ is ast.Subscript and type(constant(above[0].slice)) is int:
        above = above[1]
    if above is None or above[1] is None or above[0].__class__ is not ast.Attribute or above[0].attr not in READS:
        return False
    return above[1][0].__class__ is ast.Call and above[1][0].func is above[0]
