"""How a function that puts samples together pads them: to the longest of them, where nothing rounds that up."""

from __future__ import annotations

import ast
import re

from .dynamic import SIZE
from .evidence import constant
from .index import Link

_COLLATES = re.compile(r"(?i)collat")
_ROUNDS = re.compile(rb"[^\"']%|//|(?i:multiple|bucket|ceil|round)")
_PAD = "torch.nn.utils.rnn.pad_sequence"


def padded(scene, link: Link) -> str | None:
    """Of the call of a function that first says how long a batch becomes, how: 'collate', 'tokenizer', 'by-hand'."""
    function = scene.function(link)
    if scene.file.tested or not collates(scene, link) or not (why := _decides(scene, link, function)):
        return None
    before = (n for n in ast.walk(function[0]) if n.__class__ is ast.Call and _place(n) < _place(link[0]))
    links = (scene.link_to(call) for call in before)
    return None if any(other is not None and _decides(scene, other, function) for other in links) else why


def collates(scene, link: Link) -> bool:
    function, owner = scene.function(link), scene.owner(link)
    return function is not None and bool(_COLLATES.search(function[0].name) or owner and _COLLATES.search(owner.name))


def _decides(scene, link: Link, function: Link) -> str | None:
    call = link[0]
    if scene.names.resolve(call.func, link) == _PAD:
        return "collate"
    given = {k.arg: constant(k.value) for k in call.keywords}
    if given.get("padding") in (True, "longest"):
        return "tokenizer" if given.keys().isdisjoint({"pad_to_multiple_of", None}) else None
    if getattr(call.func, "id", "") != "max" or len(call.args) != 1 or call.args[0].__class__ is ast.Starred:
        return None
    start, end = scene.file.source.span(function[0])
    if _ROUNDS.search(scene.file.source.utf8, start, end):
        return None
    reach = scene.file.flows.reach(function, call, SIZE)
    return "by-hand" if reach is not None and reach.operators else None


def _place(call: ast.Call) -> tuple[int, int]:
    return call.func.end_lineno, call.func.end_col_offset
