"""Follows the index of a device to what takes it: `device = torch.cuda.current_device()`, `evaluate(model, device)`, `x.to(device)`.

What takes an index may take a device as well, may take a device alone, or may count with the number.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name, constant, is_log, is_part_of, logged
from porter.python.index import FUNCTIONS, Link, Node, ancestors, methods, owner_of
from porter.python.parameters import dotted, is_static, positional
from porter.regex import lazy

_DEVICE_NAME = lazy(r"(?:^|_)device$")
_MOVES = ("to", "to_empty")  # methods that take a device
_PLACES = ("torch.device", "torch.set_default_device")  # functions that take one first
CURRENT = "torch.cuda.current_device"  # what is written for NPUs already is what its authors run
_INDEXED = ("cuda", "npu")
_KEYWORDS = ("device", "map_location")
_INDEX_KEYWORDS = ("device_ids", "output_device", "devices")
_ACCELERATORS = ("torch.cuda.", "torch.npu.")  # their functions take an index and a device alike
_SEVERAL = (ast.List, ast.Tuple)
_KEEPERS = (ast.Attribute, ast.Return, ast.Yield, ast.Lambda, ast.Dict, *_SEVERAL)
_DEEPEST = 4  # steps that a value is followed: each name that holds it is one, each parameter two


class Uses(NamedTuple):
    """What becomes of one index."""

    device: bool = False  # a call of torch takes it for a device
    either: bool = False  # a function of torch takes it that takes a device as well
    number: bool = False  # something needs the number
    handed: bool = False  # it goes where nobody follows it
    left: bool = False  # it goes to a library, whose ways are its own
    named: bool = False  # under a name that says device
    rebound: bool = False  # the name that holds it holds other values, too
    shared: bool = False  # the name that holds it is not local: other files may read it

    def or_else(self, other: Uses) -> Uses:
        return Uses(*(a or b for a, b in zip(self, other)))


_DEVICE, _EITHER, _NUMBER, _HANDED = Uses(device=True), Uses(either=True), Uses(number=True), Uses(handed=True)


def is_device_name(name: str | None) -> bool:
    """Whether a name says that it holds a device: `device`, `eval_device`."""
    return bool(name) and _DEVICE_NAME.search(name or "") is not None


def uses_of(file: RuleFile, value: Link, depth: int = 0) -> Uses:
    """What takes the value of an expression, or of a name at one of its places."""
    child = value[0]
    for up in ancestors(value):
        above: Node = up[0]
        kind = above.__class__
        if kind is ast.Call:
            return _of_call(file, up, child, depth) if child is not above.func else _NUMBER
        if kind is ast.Assign and child is above.value:
            return _of_target(file, above.targets[0], up, depth) if len(above.targets) == 1 else _HANDED
        if kind is ast.AnnAssign and child is above.value:
            return _of_target(file, above.target, up, depth)
        if kind is ast.Compare:
            sides = [side for side in (above.left, *above.comparators) if side is not child]
            return Uses() if all(_is_no_number(side) for side in sides) else _NUMBER
        if kind in _SEVERAL and up[1] is not None and getattr(up[1][0], "arg", "") in _INDEX_KEYWORDS:
            return _EITHER
        if kind is ast.Expr:
            return Uses()
        if kind in _KEEPERS:
            return _HANDED
        if kind is ast.IfExp:
            other = above.orelse if child is above.body else above.body
            if child is above.test or type(constant(other)) is int or other.__class__ is ast.UnaryOp:
                return _NUMBER
        elif kind is ast.BoolOp:
            if above.op.__class__ is not ast.Or:
                return _NUMBER
        elif kind is not ast.keyword:
            return Uses() if logged(up) else _NUMBER
        child = above
    return _HANDED


def _is_no_number(side: Node) -> bool:
    return side.__class__ is ast.Constant and type(side.value) is not int


def _of_call(file: RuleFile, call: Link, child: Node, depth: int) -> Uses:
    """What a call does with one of its arguments."""
    func, name = call[0].func, file.names.resolve(call[0].func, call) or ""
    keyword, where = _where(call[0], child)
    method = func.attr if func.__class__ is ast.Attribute and not _is_torchs(name) else ""
    if keyword in _INDEX_KEYWORDS or name.startswith(_ACCELERATORS):
        return _EITHER
    if method in _INDEXED:
        return _NUMBER
    if takes_device(file, call, child):
        return _DEVICE
    if _is_torchs(name) or keyword is None:
        return _HANDED if keyword is None else _NUMBER
    if not name and is_log(func, call_name(func)):
        return Uses()
    if any(a.__class__ is ast.Starred for a in call[0].args):
        return _HANDED
    taken = _parameter(file, call, where)
    if taken is not None:
        found = _of_parameter(file, taken, depth)
        return found._replace(
            shared=found.shared or func.__class__ is ast.Attribute
        )  # a class of another file may have its own
    if not name and func.__class__ is ast.Name and not file.names.bound(func.id):
        return _NUMBER  # int(device), isinstance(device, int)
    if name == "functools.partial":
        return Uses(handed=True, named=is_device_name(keyword))
    if not _is_own(file, call, name):
        return Uses(left=True)
    known = file.facts.accelerators.functions
    is_device = known.takes(name, file.path, where) if known.is_given(name, file.path) else is_device_name(keyword)
    return Uses(handed=True, named=is_device)


def device_place(
    name: str, method: str, keywords: Sequence[str | None], sought: Container[str | None] = ("device",)
) -> int | None:
    """Which argument of a call is a device of torch: of `x.to(d)`, `torch.zeros(2, device=d)`. `name`: of the function that is called,
    `method`: of an object; "" for none. `keywords`: of each argument, None for one at its position."""
    for index, keyword in enumerate(keywords):
        if keyword in sought:
            is_torchs = _is_torchs(name) and not name.startswith(_ACCELERATORS)
            return index if is_torchs or method in _MOVES or method.startswith("new_") else None
    return 0 if keywords and keywords[0] is None and (name in _PLACES or method == "to") else None


def takes_device(file: RuleFile, call: Link, child: Node) -> bool:
    """Whether an argument of a call is a device of torch, or the place that `torch.load` loads to."""
    node, name = call[0], file.names.resolve(call[0].func, call) or ""
    method = node.func.attr if node.func.__class__ is ast.Attribute and not _is_torchs(name) else ""
    keywords = [*(None for _ in node.args), *(k.arg or "**" for k in node.keywords)]
    place = device_place(name, method, keywords, _KEYWORDS)
    return place is not None and child is [*node.args, *node.keywords][place]


def _where(call: ast.Call, child: Node) -> tuple[str | None, str | int]:
    """The keyword of an argument, which is None for `**options`, and that or the position."""
    keyword = child.arg if child.__class__ is ast.keyword else ""
    return keyword, keyword or next((i for i, argument in enumerate(call.args) if argument is child), -1)


def _is_torchs(name: str) -> bool:
    return name.partition(".")[0] == "torch"


def _is_own(file: RuleFile, call: Link, name: str) -> bool:
    """Whether the project itself defines what is called: the file does, or a module beside it or above it, or a known file."""
    if not name:
        func = call[0].func
        if func.__class__ is not ast.Name:
            return getattr(getattr(func, "value", None), "id", "") in ("self", "cls")
        heirs = (link for link in file.buckets[ast.ClassDef] if link[0].name == func.id)
        plain = [link for link in heirs if "__init__" not in methods(link[0])]
        bases = [dotted(base) for link in plain for base in link[0].bases]
        return all(_is_of_project(file, full) for base in bases for full in _imported(file, base))
    return _is_of_project(file, name)


def _imported(file: RuleFile, name: str) -> list[str]:
    """What a name may be that the file imports, in one of several ways."""
    first, _, tail = name.partition(".")
    return [f"{full}.{tail}".rstrip(".") for full, _ in file.names.imports.get(first, ())]


def _is_of_project(file: RuleFile, name: str) -> bool:
    root = name.partition(".")[0]
    return not root or is_part_of(file.path, root) or file.facts.accelerators.functions.is_given(name, file.path)


def _parameter(file: RuleFile, call: Link, where: str | int) -> Link | None:
    """The parameter of a function, method or class of this file that takes an argument."""
    func = call[0].func
    word, method = getattr(func, "id", ""), getattr(func, "attr", "")
    if method and getattr(func.value, "id", "") != "self":
        return None
    owner = next((up[0] for up in ancestors(call) if up[0].__class__ is ast.ClassDef), None) if method else None
    found = [
        link
        for kind in FUNCTIONS[:2]
        for link in file.buckets[kind]
        if (link[0].name == method and owner_of(link) is owner and owner is not None)
        or (word and link[0].name == word and owner_of(link) is None)
        or (word and link[0].name == "__init__" and getattr(owner_of(link), "name", "") == word)
    ]
    if len(found) != 1:
        return None
    a, below = found[0][0].args, int(owner_of(found[0]) is not None and not is_static(found[0][0]))
    named = (p for p in (*a.args, *a.kwonlyargs) if p.arg == where)
    parameter = positional(a, where + below) if isinstance(where, int) else next(named, None)
    return (parameter, (a, found[0])) if parameter is not None else None


def _of_parameter(file: RuleFile, parameter: Link, depth: int) -> Uses:
    name = parameter[0].arg
    is_named = is_device_name(name) or "device" in ast.dump(parameter[0].annotation or ast.Pass())
    if depth >= _DEEPEST:
        return Uses(handed=True, named=is_named)
    found = _of_name(file, name, parameter, depth + 1)
    if found.rebound and found.number:
        found = found._replace(number=False, handed=True)  # the number may be that of what else the name holds
    return found._replace(named=found.named or is_named and found.handed, rebound=False)


def _of_target(file: RuleFile, target: Node, link: Link, depth: int) -> Uses:
    """What becomes of a value that a name or an attribute of `self` gets."""
    if target.__class__ is ast.Name:
        found = _of_name(file, target.id, (target, link), depth)
        function = _function(link)
        declared = (word for word in file.buckets[ast.Global] if target.id in word[0].names)
        local = function is not None and all(_function(word) is not function for word in declared)
        is_named = is_device_name(target.id) and found.handed
        return found._replace(named=found.named or is_named, shared=not local)
    if target.__class__ is not ast.Attribute or getattr(target.value, "id", "") != "self":
        return Uses(handed=True)
    owner = next((up[0] for up in ancestors(link) if up[0].__class__ is ast.ClassDef), None)
    places = (use[1] for use in file.names.spelled("self") if use[1] and getattr(use[1][0], "attr", "") == target.attr)
    mine = [use for use in places if any(up[0] is owner for up in ancestors(use))]
    found = _all(file, (use for use in mine if use[0].ctx.__class__ is ast.Load), depth)
    several = sum(use[0].ctx.__class__ is ast.Store for use in mine) > 1
    # other files may read it, but where this one takes it for an index alone, so will they
    is_handed = found.device or found.handed or found.left or not found.either
    return found._replace(
        handed=is_handed, named=is_handed and is_device_name(target.attr), shared=True, rebound=several
    )


def _function(link: Link) -> Node:
    return next((up[0] for up in ancestors(link) if up[0].__class__ in FUNCTIONS[:2]), None)


def _of_name(file: RuleFile, name: str, binding: Link, depth: int) -> Uses:
    found = _all(file, file.names.readers(name, binding), depth)
    return found._replace(rebound=len(file.names.bindings(name, binding)) > 1)


def _all(file: RuleFile, places: Iterable[Link], depth: int) -> Uses:
    found = Uses()
    for place in places:
        found = found.or_else(uses_of(file, place, depth + 1) if depth < _DEEPEST else _HANDED)
    return found
