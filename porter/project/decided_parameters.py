"""Parameters whose values the callers of a function decide alone: no library calls it by its name, and no object is made without it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from porter.project.meant_names import is_private
from porter.project.passed_values import Parameter
from porter.python.evidence import call_name
from porter.python.index import Node
from porter.regex import lazy

_KEEPING = frozenset(
    {"staticmethod", "classmethod", "no_grad", "inference_mode", "enable_grad"}
)  # decorators that pass all on
# bases that call no method by its name but these:
_BASES = frozenset({"object", "Module", "Dataset", "IterableDataset", "ABC"})
_BY_BASES = frozenset(
    """forward extra_repr train eval state_dict load_state_dict parameters named_parameters reset_parameters buffers modules
    named_modules named_buffers children named_children apply to cuda cpu half float double zero_grad requires_grad_ type
    """.split()
)
# objects of a class are made without its name, or its values are set without theirs
_MADE = lazy(rb"\bcls\(|\btype\(self\)\(|__class__\(|\.__dict__|vars\(self\)")


class Place(NamedTuple):
    """A function in a file."""

    path: str
    function: Node
    owner: ast.ClassDef | None
    is_open: bool  # others may call all that is not private


def parameter(name: str, place: Place, tree: ast.Module, text: bytes) -> Parameter | None:
    """A parameter whose values its callers alone decide."""
    function, owner = place.function, place.owner
    marks = {call_name(getattr(mark, "func", mark)) for mark in function.decorator_list}
    kind, called = ("method", function.name) if owner else ("function", function.name)
    if owner and function.name == "__init__":
        kind, called = "class" if is_plain(owner, tree) else "class of a library", owner.name
        if owner.decorator_list or owner.keywords or _MADE.search(text):
            return None
    elif owner and (function.name.startswith("__") or function.name in _BY_BASES or not is_plain(owner, tree)):
        return None
    if place.is_open and not is_private(called):
        return None
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if not marks <= _KEEPING or owner is None and names[:1] in (["self"], ["cls"]):
        return None
    shift = int(owner is not None and "staticmethod" not in marks)
    if name in names[shift:]:
        place_, late = names.index(name), names.index(name) - (len(names) - len(arguments.defaults))
        default = (arguments.defaults[late],) if late >= 0 else ()
        return Parameter(place.path, kind, called, name, place_ - shift, default)
    only = [argument.arg for argument in arguments.kwonlyargs]
    if name not in only:
        return None
    given = arguments.kw_defaults[only.index(name)]
    return Parameter(place.path, kind, called, name, None, (given,) if given else ())


def is_plain(owner: ast.ClassDef, tree: ast.Module) -> bool:
    """Whether no library calls methods of a class: its bases are of this file, or call none."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    line = [owner]
    for node in line:  # which grows
        for base in node.bases:
            name = call_name(base)
            if name in _BASES:
                continue
            if name not in classes or node.keywords:
                return False
            if classes[name] not in line:
                line.append(classes[name])
    return not owner.keywords
