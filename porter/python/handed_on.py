"""Follows a device that a name passes to a library without support for NPUs: `device = "cuda"`, `WhisperModel(device=device)`.

The name may be a local name, a parameter, an option or an attribute of `self`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.python.blocks import place
from porter.python.evidence import HAVE_PARTS_ON_CUDA, call_name, constant, library_on_cuda, looked_up
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.parameters import defaulted, positional
from porter.python.provider_choices import chooses
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.engine.rule_file import Names

_WRAPPED = (ast.IfExp, ast.BoolOp, ast.keyword)  # nodes between a value and the place that it goes to
_SEVERAL = (ast.List, ast.Tuple, ast.Set)  # of which a comparison asks for one
_KERNELS_ALONE = hints("installs-without-a-gpu")
_ADD_OPTION = "add_argument"
_PARSED = ("args", "opt", "flags", "FLAGS")  # names that programs give their parsed options
_MOVES = frozenset({"to", "cuda"})  # methods that move what torch made
_OF_PROVIDERS = "onnxruntime"
_BINDINGS = frozenset({"bind_input", "bind_output"})  # methods of its IOBinding
_OF_TORCH = (".torch.", "Torch")  # brax.envs.wrappers.torch.TorchWrapper(device=...) takes torch's own device


def given_to(names: Names, value: Link) -> str | None:
    """The library that uses CUDA itself and that a value goes to; None where there is none."""
    if not names.once("a library on CUDA", names.uses, lambda: _has_library(names)):
        return None
    child = value[0]
    for up in ancestors(value):
        above: Node = up[0]
        kind = above.__class__
        if kind is ast.Assign:
            return _of_holder(names, above.targets[0], up) if len(above.targets) == 1 else None
        if kind is ast.Compare:
            others = [side for side in (above.left, *above.comparators) if side is not child]
            return _of_holder(names, others[0], up) if len(others) == 1 else None
        if kind is ast.arguments:
            parameter = defaulted(above, child)
            return _of_uses(names, names.readers(parameter.arg, (parameter, (above, up[1]))))
        if kind is ast.Call and child is not above.func:
            if call_name(above.func) == _ADD_OPTION:
                return _of_option(names, above)
            if looked_up(above) is None or child is above.args[0]:  # kwargs.pop("device", "cuda")
                return None
        elif kind is ast.Dict:
            return _of_options(names, up) if _is_device_of(above, child) else None
        elif kind in _SEVERAL and child is value[0]:
            if up[1] is None or up[1][0].__class__ is not ast.Compare:
                return None
        elif not _written_in(above, child) and (kind is ast.IfExp and child is above.test or kind not in _WRAPPED):
            return None
        child = above
    return None


def tried_with(names: Names, value: Link) -> str | None:
    """The package with CUDA kernels alone that gets a tensor on this device for a trial:
    `xformers.ops.memory_efficient_attention(torch.randn(1, device="cuda"))`."""
    made = value[1] and value[1][1]
    taker = made and made[1]
    if value[1] is None or value[1][0].__class__ is not ast.keyword or made is None or taker is None:
        return None
    if taker[0].__class__ is not ast.Call or made[0] not in taker[0].args:
        return None
    package = (names.resolve(taker[0].func, taker) or "").partition(".")[0]
    return package if package in _KERNELS_ALONE else None


def taken_by(names: Names, value: Link) -> str | None:
    """The library that uses CUDA itself and that takes a value as an argument, with no name between."""
    if not names.once("a library on CUDA", names.uses, lambda: _has_library(names)):
        return None
    return _library(names, value)


def _is_device_of(options: ast.Dict, value: Node) -> bool:
    """Whether a value stands at the key `"device"`."""
    side, index = place(options, value)
    return side == "values" and constant(options.keys[index]) == "device"


def _of_options(names: Names, options: Link) -> str | None:
    """The library that a dict goes to: `options = {"device": "cuda"}`, `WhisperModel(path, **options)`."""
    above: Node = options[1][0] if options[1] is not None else None
    named = above.__class__ is ast.Assign and len(above.targets) == 1
    library = _of_holder(names, above.targets[0], options[1]) if named else _library(names, options)
    return library or _of_wrapper(names, options)


def _of_wrapper(names: Names, link: Link) -> str | None:
    """The library of the objects that a class makes with options that it collects: `Translator(path, **options)`. A class that
    also moves something of torch's may collect them for that."""
    wrapper = _class_of(link)
    if wrapper is None:
        return None
    return names.once("wraps a library", wrapper.body, lambda: _wrapped(names, wrapper))


def _wrapped(names: Names, wrapper: Node) -> str | None:
    brought = [name for name, bound in names.imports.items() if any(library_on_cuda(full) for full, _ in bound)]
    uses = (use for name in brought for use in names.spelled(name) if _class_of(use) is wrapper)
    library = next((found for use in uses if (found := _given_options(names, use))), None)
    calls = (n.func for n in walk(wrapper) if n.__class__ is ast.Call) if library else ()
    moves = any(func.__class__ is ast.Attribute and func.attr in _MOVES for func in calls)
    return None if moves else library


def _given_options(names: Names, use: Link) -> str | None:
    """The library of a call that is given `**options`."""
    child = use[0]
    for up in ancestors(use):
        above: Node = up[0]
        if above.__class__ is ast.Call and child is above.func and any(k.arg is None for k in above.keywords):
            return library_on_cuda(names.resolve(above.func, up))
        if above.__class__ is not ast.Attribute:
            return None
        child = above
    return None


def _written_in(above: Node, child: Node) -> bool:
    """Whether a text only gets its number: `f"cuda:{gpu}"`, `"cuda:%d" % gpu`, `"cuda:{}".format(gpu)`."""
    kind = above.__class__
    if kind is ast.BinOp:
        return isinstance(above.op, ast.Mod) and child is above.left
    named_format = kind is ast.Attribute and above.attr == "format"
    return kind is ast.JoinedStr or named_format or kind is ast.Call and getattr(child, "attr", "") == "format"


def _has_library(names: Names) -> bool:
    """Whether the file imports a library that uses CUDA itself."""
    targets = (target for bound in names.imports.values() for target, _ in bound)
    return any(library_on_cuda(target) or target in HAVE_PARTS_ON_CUDA for target in targets)


def _of_holder(names: Names, holder: Node, link: Link) -> str | None:
    """The library that a local name goes to, or `self.x` in the methods of its class."""
    if holder.__class__ is ast.Name:
        uses = names.readers(holder.id, (holder, link))
        return _of_uses(names, uses) or (_OF_PROVIDERS if uses and all(map(chooses, uses)) else None)
    if holder.__class__ is not ast.Attribute or getattr(holder.value, "id", "") != "self":
        return None
    owner = _class_of(link)
    uses = [use for use in attributes(names, "self", holder.attr) if _class_of(use) is owner]
    return _first(names, uses) if owner is not None else None


def _of_option(names: Names, call: ast.Call) -> str | None:
    """The library that `args.device` goes to, for the call `add_argument("--device", default="cuda")`."""
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and str(a.value).startswith("--")]
    name = str(flags[0]).lstrip("-").replace("-", "_") if flags else ""
    return _first(names, (use for base in _PARSED for use in attributes(names, base, name)))


def attributes(names: Names, base: str, name: str) -> Iterator[Link]:
    """The places where `base.name` is read."""
    for link in names.spelled(base):
        up = link[1]
        if up is not None and up[0].__class__ is ast.Attribute and up[0].attr == name:
            if up[0].ctx.__class__ is ast.Load:
                yield up


def _class_of(link: Link) -> Node | None:
    return next((up[0] for up in ancestors(link) if up[0].__class__ is ast.ClassDef), None)


def _of_uses(names: Names, uses: list[Link]) -> str | None:
    return names.once("given to", uses, lambda: _first(names, uses))


def _first(names: Names, uses: Iterable[Link]) -> str | None:
    return next((library for use in uses if (library := _library(names, use))), None)


def _library(names: Names, use: Link, deeper: bool = True) -> str | None:
    """The library of the call that one use is an argument of. `deeper`: also where that is a function of the file, which hands
    it on."""
    child = use[0]
    for up in ancestors(use):
        above: Node = up[0]
        if above.__class__ is ast.Call and child is not above.func:
            called = names.resolve(above.func, up) or ""
            if getattr(above.func, "attr", "") in _BINDINGS:
                return _OF_PROVIDERS
            if any(word in called for word in _OF_TORCH):
                return None
            return library_on_cuda(called) or (_of_parameter(names, up, child) if deeper else None)
        if above.__class__ not in _WRAPPED:
            return None
        child = above
    return None


def _of_parameter(names: Names, call: Link, given: Node) -> str | None:
    """The library to which a function at the top of the file hands what this call gives it, if it only compares it otherwise."""
    module = next((up[0] for up in ancestors(call) if up[0].__class__ is ast.Module), None)
    called = getattr(call[0].func, "id", "")
    functions = [
        node for node in getattr(module, "body", ()) if node.__class__ in FUNCTIONS[:2] and node.name == called
    ]
    if len(functions) != 1:
        return None
    field, index = place(call[0], given)
    parameter = given if field == "keywords" else positional(functions[0].args, index)
    uses = names.spelled(parameter.arg) if parameter is not None and parameter.arg else ()
    inside = [use for use in uses if any(up[0] is functions[0] for up in ancestors(use))]
    handed = (use for use in inside if use[1] is None or use[1][0].__class__ is not ast.Compare)
    libraries = {_library(names, use, deeper=False) for use in handed}
    return libraries.pop() if len(libraries) == 1 else None
