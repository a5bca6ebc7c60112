"""Where the answer to a question for a GPU goes: `p["use_cuda"] = torch.cuda.is_available()` above `if p["use_cuda"]:`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.evidence import constant, is_log_call
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.python.file import File


def readers(file: File, call: Link) -> Iterator[Link]:
    """The places of a file that read what a call is assigned to: a name, an attribute, a key of a dictionary."""
    above = call[1]
    if above is None or above[0].__class__ is not ast.Assign or above[0].value is not call[0]:
        return
    for target in above[0].targets:
        if target.__class__ is ast.Name:
            yield from file.names.readers(target.id, (target, above))
        elif _word(target):
            links = (link for link in file.buckets[target.__class__] if link[0].ctx.__class__ is ast.Load)
            same = (link for link in links if _word(link[0]) == _word(target))
            yield from (link for link in same if ast.dump(link[0].value) == ast.dump(target.value))


def handed_on(call: Link) -> str:
    """The function that gets the answer in a dictionary: `train(model, {"use_cuda": torch.cuda.is_available()})`."""
    above = call[1]
    taker = above[1] if above is not None and above[0].__class__ is ast.Dict else None
    if above is None or taker is None or taker[0].__class__ is not ast.Call or above[0] not in taker[0].args:
        return ""
    return "" if is_log_call(taker[0]) else ast.unparse(taker[0].func)


def _word(node: Node) -> str:
    if node.__class__ is ast.Attribute:
        return str(node.attr)
    return str(constant(node.slice) or "") if node.__class__ is ast.Subscript else ""
