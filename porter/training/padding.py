"""How a function that puts samples together pads them: to the longest of them, where nothing rounds that up."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.evidence import constant
from porter.python.index import Link, Node, walk
from porter.regex import lazy
from porter.training.dynamic_sizes import SIZE

if TYPE_CHECKING:
    from porter.python.file import File
    from porter.training.scene import Scene

_COLLATES = lazy(r"(?i)collat")
_ROUNDS = lazy(rb"[^\"']%|//|(?i:multiple|bucket|ceil|round)")
_PAD = "torch.nn.utils.rnn.pad_sequence"


@once_for_file
def may_collate(file: File) -> bool:
    """Whether anything in it is called so: most files never say the word."""
    return b"collat" in file.source.vocabulary.lower()


def padded(scene: Scene, link: Link) -> str | None:
    """How a call says how long a batch becomes: 'collate' (pad_sequence), 'tokenizer' (padding=True), 'by-hand' (max).

    None where it does not, or an earlier call of the same function has said so: one finding is enough.
    """
    function = scene.function(link)
    if scene.file.tested or function is None or not collates(scene, link):
        return None
    if not (why := _decides(scene, link, function)):
        return None
    first_places = scene.flows.padding
    if function[0] not in first_places:
        links = filter(None, map(scene.link_to, (n for n in walk(function[0]) if n.__class__ is ast.Call)))
        first_places[function[0]] = min(_place(other[0]) for other in links if _decides(scene, other, function))
    return why if first_places[function[0]] == _place(link[0]) else None


def collates(scene: Scene, link: Link) -> bool:
    """Whether the function around puts samples together, by its own name or by that of its class."""
    function, owner = scene.function(link), scene.owner(link)
    return function is not None and bool(_COLLATES.search(function[0].name) or owner and _COLLATES.search(owner.name))


def _decides(scene: Scene, link: Link, function: Link) -> str | None:
    call = link[0]
    if scene.names.resolve(call.func, link) == _PAD:
        return "collate"
    given = {k.arg: constant(k.value) for k in call.keywords}
    if given.get("padding") in (True, "longest"):
        return "tokenizer" if given.keys().isdisjoint({"pad_to_multiple_of", None}) else None
    if getattr(call.func, "id", "") != "max" or len(call.args) != 1 or call.args[0].__class__ is ast.Starred:
        return None
    if scene.file.source.says(_ROUNDS, function[0]):
        return None
    reach = scene.flows.reach(function, call, SIZE)
    return "by-hand" if reach is not None and reach.operators else None


def _place(call: Node) -> tuple[int, int]:
    return call.func.end_lineno, call.func.end_col_offset
