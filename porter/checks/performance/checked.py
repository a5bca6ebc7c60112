"""Conditions that stop a program or a loop: which kind they are, and whether they ask for what the step computes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.stopping import ends
from porter.python.waits import READS
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.training.scene import Scene

# a name of what a step computes; a function that computes it
_RESULT = lazy(r"(?i)loss(?:es)?(?:_|\d|$)|^grad(?:s|ients?)?$|grad_norm|^logits?$")
_COMPUTES = lazy(r"(?i)(?:^|_)(?:model|net|network|criterion|forward|encoder|decoder)$|loss")


def header(scene: Scene, statement: Link) -> str:
    """The kind of check that a statement is: "raising" or "assertion", with "-computed" for what the step computes; "ending" for
    what ends a loop; "" for none."""
    kind, test = _kind(statement[0]), statement[0].test
    if not kind:
        return "ending" if _ends_loop(statement[0]) else ""
    return _named(kind, scene, test, (test, statement))


def _ends_loop(node: Node) -> bool:
    """`while loss > 3:`, `if loss < 3: break`"""
    return node.__class__ is ast.While or node.__class__ is ast.If and node.body[-1].__class__ is ast.Break


def searches(statement: Link) -> bool:
    """Whether a loop goes through what it has read back, until it finds one, so that its header has waited already:
    `for i in order.tolist(): if i != target: ...; break`."""
    if statement[0].__class__ is not ast.If or not _ends_loop(statement[0]):
        return False
    loop: Node = next((a[0] for a in ancestors(statement) if a[0].__class__ in (ast.For, ast.While, *FUNCTIONS)), None)
    heads = walk(loop.iter) if loop.__class__ is ast.For else ()
    return any(n.__class__ is ast.Call and call_name(n.func) in READS for n in heads)


def check(scene: Scene, link: Link) -> str:
    """The same for what a value is read for: "assertion" of `assert x.max().item() < 1`, "raising" of a condition that only
    leads to an error, "" for none."""
    child = link[0]
    for above, _ in ancestors(link):
        if (kind := _kind(above)) and (kind == "assertion" or above.test is child):
            return _named(kind, scene, link[1][0], link[1])
        child = above
    return ""


def _kind(node: Node) -> str:
    """`assert not bad.any()`, `if bad.any(): raise ValueError(...)`, `if bad.any(): exit(0)`"""
    if node.__class__ is ast.If:
        return "raising" if not node.orelse and ends(node.body) else ""
    return "assertion" if node.__class__ is ast.Assert else ""


def _named(kind: str, scene: Scene, asked: Node, link: Link) -> str:
    return f"{kind}-computed" if any(_is_computed(node, scene, link) for node in walk(asked)) else kind


def _is_computed(node: Node, scene: Scene, link: Link) -> bool:
    """A loss, gradients, or what a module gives: no value of the batch that could be checked where that is made."""
    if node.__class__ is ast.Attribute:
        return bool(_RESULT.search(node.attr))
    if node.__class__ is not ast.Name:
        return False
    if node.id in scene.losses(link) - {"self"} or _RESULT.search(node.id):
        return True
    values = values_of(scene.names, node, link)
    return any(_COMPUTES.search(call_name(getattr(value, "func", None))) for value in values)
