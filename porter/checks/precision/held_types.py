"""float64 that reaches the device behind a name: a constant, a parameter that is float64 by default, and state that moves with
its module."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from porter.checks.precision.written_places import to_cpu
from porter.engine.rule import Hit
from porter.engine.rule_file import RuleFile
from porter.python import parameters
from porter.python.evidence import call_name, constant, like
from porter.python.index import FUNCTIONS, Link, Node, chain_of, parents, walk
from porter.regex import lazy

_HOLDERS = frozenset({"register_buffer", "add_state", "Parameter"})
_TYPED = lazy(r"(?i)dtype")
_CASTS = frozenset({"to", "type"})


def is_held(link: Link) -> bool:
    """Whether what a call makes becomes state of a module: `self.register_buffer("mean", torch.zeros(n, dtype=...))`."""
    above = link[1] and link[1][0]
    call = link[1][1][0] if above.__class__ is ast.keyword else above
    return call.__class__ is ast.Call and call_name(call.func) in _HOLDERS and link[0] is not call.func


def is_kept_number(link: Link, file: RuleFile) -> bool:
    """Whether a call makes a buffer of one number, of which the file computes nothing: `self.register_buffer("limit",
    torch.tensor(limit, dtype=...))` with `limit: float`. It is stored and moved as it is, and read as a number by others."""
    call, above = link[0], link[1]
    holder: Node = above[0] if above is not None else None
    if (
        holder.__class__ is not ast.Call
        or call_name(holder.func) != "register_buffer"
        or call_name(call.func) != "tensor"
    ):
        return False
    name, given = constant(holder.args[0]) if holder.args else None, call.args[0] if call.args else None
    function = next((node for node in parents(link) if isinstance(node, FUNCTIONS[:2])), None)
    every = (*function.args.args, *function.args.kwonlyargs) if function is not None else ()
    typed = {a.arg: getattr(a.annotation, "id", "") for a in every}
    if type(constant(given)) not in (int, float) and typed.get(getattr(given, "id", "")) not in ("int", "float"):
        return False
    return isinstance(name, str) and not file.source.says(b".%s" % name.encode())


def defaulted(original: Any, file: RuleFile) -> Hit | None:
    """A type that is the default of a parameter, where the function around is given a device, and casts to the parameter or
    hands it to what has such a parameter, too."""
    link = file.link(original)
    link = chain_of(link) if link is not None else None
    arguments = link[1] if link is not None else None
    if link is None or arguments is None or arguments[0].__class__ is not ast.arguments or arguments[1] is None:
        return None
    function, name = arguments[1][0], parameters.defaulted(arguments[0], link[0]).arg
    devices = [parameter for parameter in parameters.parameters(function) if like(parameter, "device")]
    says = _TYPED.search(name) and devices and _is_cast_to(function, name) and not _on_host(devices, link, file)
    return Hit(original, "defaulted", values=(("name", name),)) if says else None


def _on_host(devices: Collection[str], link: Link, file: RuleFile) -> bool:
    """Whether the file makes the CPU the default of one of these parameters, where casts to float64 are what they say."""
    functions = (node for node in walk(list(parents(link))[-1]) if isinstance(node, FUNCTIONS[:2]))
    given = (default for f in functions for name, default in parameters.defaults(f).items() if name in devices)
    return any(map(partial(_is_host, link=link, file=file), given))


def _is_host(value: Node, link: Link, file: RuleFile) -> bool:
    """`"cpu"`, `torch.device("cpu")`, and a name of the module that is set to it once: `CPU = torch.device("cpu")`."""
    if value.__class__ is ast.Name:
        bound = file.names.bindings(value.id, link)
        above = bound[0][1] if len(bound) == 1 else None
        value = above[0].value if above is not None and above[0].__class__ is ast.Assign else value
    return constant(value) == "cpu" or to_cpu(value)


def handed(original: Any, file: RuleFile) -> Iterator[tuple[Link, str | int]]:
    """The calls that get a type by a name that has no other value, with the keyword or position: `DTYPE = torch.float64`."""
    link = file.link(original)
    link = chain_of(link) if link is not None else None
    target = _target(link) if link is not None else None
    if link is None or target is None:
        return
    readers: list[Link] = file.names.readers(target[0].id, target)
    for use in readers:
        if [binding[0] for binding in file.names.bindings(target[0].id, use)] != [target[0]] or use[1] is None:
            continue
        above: Link = use[1]
        if above[0].__class__ is ast.keyword and above[1] is not None and above[1][0].__class__ is ast.Call:
            yield above[1], above[0].arg or "**"
        elif above[0].__class__ is ast.Call and use[0] in above[0].args:
            yield above, above[0].args.index(use[0])


def _target(value: Link) -> Link | None:
    """The name that a value is given to, alone or as one of a row: `WIDE, NARROW = torch.float64, torch.float32`."""
    index, above = -1, value[1]
    if above is not None and above[0].__class__ is ast.Tuple:
        index, above = above[0].elts.index(value[0]), above[1]
    if above is None or above[0].__class__ is not ast.Assign or len(above[0].targets) != 1:
        return None
    target: Node = above[0].targets[0]
    if index >= 0:
        names: list[Node] = target.elts if target.__class__ is ast.Tuple else []
        plain = len(names) == len(above[0].value.elts) and not any(name.__class__ is ast.Starred for name in names)
        target = names[index] if plain else None
    elif value[0] is not above[0].value:
        return None
    return (target, above) if target.__class__ is ast.Name else None


def _is_cast_to(function: Node, name: str) -> bool:
    for node in walk(function):
        if node.__class__ is ast.Call:
            given = [k.value for k in node.keywords if k.arg in ("dtype", name)]
            given += node.args if call_name(node.func) in _CASTS else []
            if any(getattr(value, "id", "") == name for value in given):
                return True
    return False
