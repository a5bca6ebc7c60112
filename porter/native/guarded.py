"""`assert x.is_cuda`, `if not x.is_cuda: raise` in front of a call that ends in an extension of the project.

They are one decision, and one with `assert x.device.type == "cuda"`.
"""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.native.uses import OPS, uses
from porter.python.blocks import BODIES, once_for_file, place
from porter.python.index import FUNCTIONS, ancestors, walk


def guarded(file: RuleFile, link: Link) -> str | None:
    """The function that leads to the extension, of a question for the device that an assert or a refusal asks."""
    child = link[0]
    for up in ancestors(link):
        if isinstance(up[0], ast.Assert):
            return _after(file, up) if child is up[0].test and up[1] is not None else None
        if isinstance(up[0], ast.If) and child is up[0].test and isinstance(up[0].body[-1], ast.Raise):
            return _after(file, up)
        if isinstance(up[0], ast.stmt):
            return None
        child = up[0]
    return None


def _after(file: RuleFile, statement: Link) -> str | None:
    places, own = _calls(file)
    owner = statement[1][0]
    field, index = place(owner, statement[0])
    if not places or field not in BODIES:
        return None
    for following in (*getattr(statement[0], "orelse", ()), *getattr(owner, field)[index + 1 :]):
        for node in walk(following):
            if node in places:
                return places[node]
            name: str = getattr(node.func, "id", "") if node.__class__ is ast.Call else ""
            if name in own:
                return name
    return None


@once_for_file
def _calls(file: RuleFile) -> tuple[dict[Node, str], frozenset[str]]:
    """Where a file uses functions of an extension, and its own functions that do so."""
    exports, words = file.facts.native.exports_near(file.path), file.source.words
    if not any(module.removeprefix(OPS).encode() in words for module in exports):
        return {}, frozenset()
    places = {node: name for node, _, name in uses(file.tree, exports)}
    functions = (link[0] for kind in FUNCTIONS[:2] for link in file.buckets[kind] if places)
    own = {f.name for f in functions if any(node in places for node in walk(f))}
    return places, frozenset(own)
