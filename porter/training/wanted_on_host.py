"""Finds values that were read back because something else computes with them on the host, which no advice changes: an object of
OpenCV, the lengths of a CTC loss, arrays that an evaluation gathers. PRT630 asks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import within
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk
from porter.python.walks import names_in
from porter.regex import lazy
from porter.rulebook.table import any_of, hints
from porter.training import host_takers, value_uses
from porter.training.frozen import needs_none

if TYPE_CHECKING:
    from porter.training.scene import Scene

_ARRAYS = hints("takes-arrays-alone")
_SAYS = lazy(rb"\b(?:%s)\b" % any_of("takes-arrays-alone").encode())
_GATHERS = lazy(rb"no_grad|inference_mode")
_CTC = lazy(r"(?i)ctc")  # torch itself copies the lengths of a CTC loss to the host
_JOINS = frozenset(f"numpy.{name}" for name in "concatenate stack vstack hstack array asarray".split())
_HOPS = 5  # names and functions through which a value is followed


def is_wanted(scene: Scene, link: Link) -> bool:
    """Whether a value that is read back has to be on the host. `link`: of the function that is called."""
    if value_uses.is_wanted_there(link) or _CTC.search(value_uses.handed_to(link[1])) or _is_known(scene, link):
        return True
    if _cuts(scene, link):
        return True
    says = scene.file.source.says
    takes, gathers = says(_SAYS), says(_GATHERS) and says(b"append(")
    if not takes and not gathers:
        return False
    takers = [*host_takers.takers_of(scene, link[1], _HOPS)]
    if takes and any(_is_of_another(scene, place) for _, place in takers):
        return True
    return gathers and bool(takers) and all(_is_gathered(scene, place) for _, place in takers)


def _is_known(scene: Scene, link: Link) -> bool:
    """`if low <= 0: n = -low; n = n.item()`: the condition has waited for what the number is made of."""
    value: Node = link[0].value
    child = link[0]
    for above in ancestors(link) if value.__class__ is ast.Name else ():
        node = above[0]
        if node.__class__ is ast.If and within(node, child, "body") and node.test.__class__ is ast.Compare:
            made = [s.value for s in node.body if s.__class__ is ast.Assign and _sets(s, value.id) and s is not child]
            asked = names_in(node.test)
            return bool(made) and all(asked >= names_in(m) != set() and not _calls(m) for m in made)
        child = node
    return False


def _cuts(scene: Scene, link: Link) -> bool:
    """Whether a loop cuts rows into pieces at the places that are read back: `for i in range(len(cuts) - 1)`, `x[cuts[i] : cuts[i + 1]]`."""
    function, statement = scene.function(link), next(a[0] for a in ancestors(link) if isinstance(a[0], ast.stmt))
    name = getattr(statement.targets[0], "id", "") if isinstance(statement, ast.Assign) else ""
    loops = (n for n in walk(function[0]) if n.__class__ is ast.For) if function is not None and name else ()
    return any(_counts(loop.iter, name) and _slices(loop, name) for loop in loops)


def _counts(node: Node, name: str) -> bool:
    calls = (n for n in walk(node) if n.__class__ is ast.Call and call_name(n.func) == "len")
    return node.__class__ is ast.Call and any(getattr(a, "id", "") == name for call in calls for a in call.args)


def _slices(loop: ast.For, name: str) -> bool:
    """Whether a slice in a loop begins and ends with an element of what has this name."""
    nodes = [n for statement in loop.body for n in walk(statement)]
    taken = {ast.unparse(n) for n in nodes if n.__class__ is ast.Subscript and getattr(n.value, "id", "") == name}
    for node in nodes:
        if node.__class__ is ast.Assign and ast.unparse(node.value) in taken:
            taken |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    ends = (
        [s.lower, s.upper] for s in nodes if s.__class__ is ast.Slice and s.lower is not None and s.upper is not None
    )
    return any(all(ast.unparse(end) in taken for end in pair) for pair in ends)


def _sets(statement: ast.Assign, name: str) -> bool:
    return any(getattr(target, "id", "") == name for target in statement.targets)


def _calls(node: Node) -> bool:
    return any(n.__class__ is ast.Call for n in walk(node))


def _is_of_another(scene: Scene, place: Link) -> bool:
    """Whether a value goes to an object of such a library: `self.sift.detect(x)`, `self.helper.image = x`."""
    node = place[0]
    target: Node = node.func if node.__class__ is ast.Call else getattr(node, "targets", [None])[0]
    held: Node = target.value if target.__class__ is ast.Attribute else None
    owner = scene.owner(place)
    if held.__class__ is not ast.Attribute or getattr(held.value, "id", "") != "self" or owner is None:
        return False
    made = scene.file.receivers.members(owner).get(held.attr, ())
    return any(_library(scene, value, place) in _ARRAYS for value in made)


def _library(scene: Scene, value: Node, place: Link) -> str:
    """The library that an object is of, also behind calls of its own: `Model(sizes).to("cuda")`."""
    while value.__class__ is ast.Call:
        if name := scene.names.resolve(value.func, place):
            return name.partition(".")[0]
        value = getattr(value.func, "value", None)
    return ""


def _is_gathered(scene: Scene, place: Link) -> bool:
    """Whether an evaluation appends a value to a list that numpy joins, so that the host is where it is wanted."""
    call = place[0]
    if call.__class__ is not ast.Call or call_name(call.func) != "append" or call.func.value.__class__ is not ast.Name:
        return False
    if not any(needs_none(above[0]) for above in ancestors(place)):
        return False
    rows = call.func.value
    calls = (use[1] for use in scene.names.readers(rows.id, (rows, place)) if use[1][0].__class__ is ast.Call)
    return any(scene.names.resolve(c[0].func, c) in _JOINS for c in calls)
