"""Finds where a value goes that `.cpu()`, `.numpy()` or `.tolist()` copied to the host: to a library that computes there, or
to a file. PRT630 asks.

A value is followed through arrays, names and loops, through numpy, and into functions and methods of the file. On its way to
a file it is also followed out of the function: `return x.cpu().numpy()`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.engine.rule_file import RuleFile
from porter.python.assigned import values_of
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, owner_of
from porter.python.parameters import is_static, positional
from porter.regex import lazy
from porter.rulebook.table import any_of, hints

if TYPE_CHECKING:
    from porter.training.scene import Scene

FILE = "file"
_WRITTEN = "numpy.save"  # stands for a write by a method; it must be one of _WRITERS
_LIBRARIES = hints("computes-on-the-host")
_WRITERS = hints("writes-a-file")
_WITHOUT = hints("without-an-operator")
_LIKE = hints("shaped-like-its-argument")  # functions of torch, which may stand between: `torch.nan_to_num(cost.cpu())`
_WRITE_METHODS = frozenset({"tofile", "save"})  # `x.tofile(path)`, `Image.fromarray(x).save(path)`
# a file without any of these words has no taker
_WORDS = lazy(rb"\b(?:%s|save\w*|dump|imwrite|imsave|write|tofile)\b" % any_of("computes-on-the-host").encode())
# functions, and nodes, that pass a value on
_THROUGH = frozenset("zip enumerate list tuple reversed sorted tqdm dict PIL.Image.fromarray".split())
_INSIDE = (
    *(ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.keyword),
    *(ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.GeneratorExp, ast.ListComp),
)
_SIZES = frozenset({"shape", "ndim", "dtype", "size"})  # attributes of an array that do not depend on its values
_HOPS = 5  # names and functions through which a value is followed


def taker(scene: Scene, link: Link) -> str:
    """Where the value of a call goes: FILE, the library that gets it everywhere, or "". `link`: of the function of the call."""
    if not scene.file.source.says(_WORDS):
        return ""
    takers = [*takers_of(scene, link[1], _HOPS)]
    if _is_written(scene, takers) or _is_answer_written(scene, takers, _HOPS):
        return FILE
    libraries = ["" if name in _WRITERS else name.partition(".")[0] for name, _ in takers]
    return libraries[0] if libraries and _LIBRARIES.issuperset(libraries) else ""


def without_operator(scene: Scene, link: Link) -> str:
    """The function that takes a value and has no operator of torch in its place, if nothing else takes it; else "". `link`: of
    the function that copies."""
    names = {name for name, _ in takers_of(scene, link[1], _HOPS)}
    return names.pop() if len(names) == 1 and names <= _WITHOUT else ""


def _is_written(scene: Scene, takers: list[tuple[str, Link]]) -> bool:
    return any(name in _WRITERS and not scene.rarely(place) for name, place in takers)


def _is_answer_written(scene: Scene, takers: list[tuple[str, Link]], hops: int) -> bool:
    """Whether the function returns the value, and all its callers in the file write the result to a file."""
    if not hops:
        return False
    for _, place in takers:
        if place[0].__class__ is ast.Return and not scene.callers.served_by(place[0].lineno):
            calls = [[*takers_of(scene, call, hops - 1)] for call in _calls(scene, place)]
            if calls and all(_is_written(scene, t) or _is_answer_written(scene, t, hops - 1) for t in calls):
                return True
    return False


def _calls(scene: Scene, place: Link) -> Iterator[Link]:
    """The calls of the function around a place, by its name; of `forward` and `__call__`, by the names of objects."""
    function = scene.function(place)
    if function is None:
        return
    owner, name = owner_of(function), function[0].name
    by_name, made = _called(scene.file)
    if owner is not None and name in ("forward", "__call__"):
        calls = [call for kept in sorted(made.get(owner.name, ())) for call in by_name.get(kept, ())]
        yield from (c for c in calls if c[0].func.__class__ is ast.Name and _holds(scene, c[0].func, c, owner.name))
    else:
        calls = by_name.get(name, [])
        yield from (call for call in calls if (call[0].func.__class__ is ast.Attribute) is (owner is not None))


@once_for_file
def _called(file: RuleFile) -> tuple[dict[str, list[Link]], dict[str, set[str]]]:
    """The calls by the last word of their function; and by that word, the names that are set to the result of one."""
    by_name: dict[str, list[Link]] = {}
    made: dict[str, set[str]] = {}
    for call in file.buckets[ast.Call]:
        word, above = call_name(call[0].func), call[1][0]
        by_name.setdefault(word, []).append(call)
        if above.__class__ is ast.Assign and above.value is call[0]:
            made.setdefault(word, set()).update(t.id for t in above.targets if t.__class__ is ast.Name)
    return by_name, made


def _holds(scene: Scene, name: ast.Name, link: Link, made: str) -> bool:
    """Whether a name is set to an object of a class: `net = Net()`. It may be wrapped afterwards."""
    bindings = scene.names.bindings(name.id, link)
    values: Iterator[Node] = (getattr(binding[1] and binding[1][0], "value", None) for binding in bindings)
    return any(value.__class__ is ast.Call and call_name(value.func) == made for value in values)


def takers_of(scene: Scene, link: Link, hops: int) -> Iterator[tuple[str, Link]]:
    """(full name, call) of each call that gets the value at a link; ("", place) where the value goes elsewhere."""
    child, slots = link[0], list[int]()
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.Call and node.func is child:
            if call_name(node.func) in _WRITE_METHODS:
                yield _WRITTEN, above
                return
        elif node.__class__ is ast.Call:
            name = scene.names.resolve(node.func, above) or _method(scene, above)
            if name in _WRITERS or not _goes_through(name):
                parameter = _parameter(scene, above, child) if hops else None
                yield from [(name, above)] if parameter is None else _inside(scene, parameter, hops - 1)
                return
            slots += _slot(node, child, name)
        elif node.__class__ is ast.Attribute and node.attr in _SIZES:
            return
        elif node.__class__ is ast.Tuple and above[1] is not None and above[1][0].__class__ is ast.Assign:
            slots.append(node.elts.index(child))  # `low, high = x.min(), x.max()`
        elif node.__class__ not in _INSIDE and not (node.__class__ is ast.Subscript and node.value is child):
            readers = _readers(scene, above, child, slots) if hops else None
            if readers is None:
                yield "", above
            for reader in readers or ():
                yield from takers_of(scene, reader, hops - 1)
            return
        child = node


def _goes_through(name: str) -> bool:
    """Whether a function gives what it gets, or what numpy, or torch on the host, makes of it."""
    of_torch = name.startswith("torch.") and name.rpartition(".")[2] in _LIKE
    return name in _THROUGH or of_torch or name.startswith("numpy.")


def _method(scene: Scene, call: Link) -> str:
    """The name of a function that no import tells. Of the method of an object of a library that is the class: of `mixture.fit`,
    below `mixture = GaussianMixture(2)`."""
    name, held = call_name(call[0].func), getattr(call[0].func, "value", None)
    values = values_of(scene.names, held, call) if isinstance(held, ast.Name) and name not in _WRITERS else []
    made = {scene.names.resolve(v.func, call) or "" if isinstance(v, ast.Call) else "" for v in values}
    library = made.pop() if len(made) == 1 else ""
    return library if library.partition(".")[0] in _LIBRARIES else name


def _inside(scene: Scene, parameter: Link, hops: int) -> list[tuple[str, Link]]:
    """The takers of a value in a function of the file, where it is a parameter. If a library takes it, uses by numpy do not
    count."""
    readers = scene.names.readers(parameter[0].arg, parameter)
    takers = [taker for reader in readers for taker in takers_of(scene, reader, hops)]
    return [taker for taker in takers if taker[0].partition(".")[0] in _LIBRARIES] or takers


def _parameter(scene: Scene, call: Link, given: Node) -> Link | None:
    """The parameter that takes an argument, if the call is of a function of the file or a method of the class around."""
    func: Node = call[0].func
    owner = None
    if func.__class__ is ast.Attribute:
        around = scene.function(call)
        owner = owner_of(around) if around and getattr(func.value, "id", "") == "self" else None
        if owner is None:
            return None
    several = [link for link in scene.names.scopes.functions.get(call_name(func), ()) if owner_of(link) is owner]
    if len(several) != 1 or given not in call[0].args:
        return None
    function = several[0]
    bound = owner is not None and not is_static(function[0])
    taken = positional(function[0].args, call[0].args.index(given) + bound)
    return (taken, (function[0].args, function)) if taken else None


def _readers(scene: Scene, link: Link, child: Node, slots: list[int]) -> list[Link] | None:
    """The reads of the name that an assignment, a loop or a comprehension gives to a value; None where it gets no name."""
    name: Node
    node, last = link[0], sys.maxsize
    if node.__class__ is ast.Assign:
        name, first = node.targets[0] if len(node.targets) == 1 else None, node.end_lineno + 1
        if child.__class__ is ast.Tuple and getattr(name, "elts", None):
            name = _picked(name, slots[-1:])
    elif node.__class__ is ast.For and node.iter is child:
        name, first, last = _picked(node.target, slots), node.lineno, node.end_lineno
    elif node.__class__ is ast.comprehension and node.iter is child:
        name, first = _picked(node.target, slots), 0
    else:
        return None
    if name.__class__ is not ast.Name:
        return None
    uses = scene.names.readers(name.id, (name, link))
    return [use for use in uses if first <= use[0].lineno <= last]


def _slot(call: ast.Call, child: Node, name: str) -> list[int]:
    """The position of a value in the tuples of zip and enumerate."""
    if name == "zip" and child in call.args:
        return [call.args.index(child)]
    return [1] if name == "enumerate" else []


def _picked(target: Node, slots: list[int]) -> Node:
    """The part of a target that gets the value: `o` of `for p, o in zip(paths, values)`."""
    for slot in reversed(slots):
        parts: list[Node] = getattr(target, "elts", [])
        target = parts[slot] if slot < len(parts) else None
    return target
