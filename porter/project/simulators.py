"""Finds settings that are the device of a simulator, which runs only on CUDA or the CPU.

The settings are expanded into a call, `make(**cfg.env)`, and `def __init__(self, task, **kwargs)` passes `kwargs.pop("device")`
to the simulator, such as NVIDIA Warp. Or a parameter, or the keyword of a call, is named after the simulator, beside that of torch:
`sim_device`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from porter.engine.facts import Simulated
from porter.python.evidence import constant, like, looked_up
from porter.python.index import FUNCTIONS, Node
from porter.python.parameters import parameters
from porter.python.walks import walk
from porter.regex import lazy
from porter.rulebook.table import hints

SIMULATORS = hints("simulator-on-cuda")
_NAMES = tuple(sorted(name.encode() for name in SIMULATORS))
_NAMED = hints("simulator-device")
# the last word of a mapping that a call expands: `**cfg.env`, `**cfg["env"]`
_EXPANDED = lazy(rb"\*\*[ \t]*(?:[\w.]+\.)?(\w+)(?:\[[\"'](\w+)[\"']\])?[ \t]*[,)]")


class _Wrapper(NamedTuple):
    """A function or class that passes a device to a simulator."""

    library: str
    key: str  # the parameter or key with the device
    keys: tuple[str, ...]  # all parameters and keys that it takes; none where the name says enough
    name: str
    alias: str  # of the simulator, in this file


def is_named(text: bytes) -> bool:
    """Whether a text names a simulator and a device."""
    return b"device" in text and any(name in text for name in _NAMES)


def simulated(
    paths: Iterable[str], texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None]
) -> tuple[Simulated, ...]:
    """All wrappers of simulators in a project. `paths`: the files that name a simulator."""
    wrappers = {
        (path, wrapper) for path in paths if (tree := parse(texts[path])) is not None for wrapper in _wrappers(tree)
    }
    if not wrappers:
        return ()
    expanded: set[str] = set()
    for data in texts.values():
        for match in _EXPANDED.finditer(data) if b"**" in data else ():
            expanded.add((match[2] or match[1]).decode())
    words = tuple(sorted(expanded))
    return tuple(
        Simulated(path, wrapper.library, wrapper.key, wrapper.keys, words, wrapper.name, wrapper.alias)
        for path, wrapper in sorted(wrappers)
    )


def taker(simulators: Iterable[Simulated], path: tuple[str, ...], beside: Iterable[str]) -> Simulated | None:
    """The wrapper that passes a setting to a simulator. `path`: the keys that lead to the setting. `beside`: all keys of its
    mapping. The mapping must be expanded somewhere, and the wrapper must take all its keys, unless it is the name that counts."""
    if named := next((one for one in simulators if not one.keys and one.key == path[-1]), None):
        return named
    if len(path) < 2:
        return None
    names = {name for name in beside if not name.startswith("_")}  # _target_ names the function
    for one in simulators:
        if one.key == path[-1] and path[-2] in one.expanded and names <= {*one.keys}:
            return one
    return None


def _wrappers(tree: ast.Module) -> Iterator[_Wrapper]:
    roots: dict[str, str] = {}
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                roots[alias.asname or alias.name.partition(".")[0]] = alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            roots.update((alias.asname or alias.name, (node.module or "").partition(".")[0]) for alias in node.names)
    simulators = {name: root for name, root in roots.items() if root in SIMULATORS}
    for scope in _outermost(tree.body) if simulators else ():
        if isinstance(scope, (ast.ClassDef, *FUNCTIONS[:2])):
            yield from _of_scope(scope, simulators)


def _outermost(statements: Iterable[Node]) -> Iterator[Node]:
    """The statements of a module, and those of a top-level `try` or `if`: the simulator may not be installed."""
    for statement in statements:
        yield statement
        if isinstance(statement, (ast.Try, ast.If)):
            yield from _outermost([*statement.body, *statement.orelse])


def _of_scope(scope: Node, simulators: Mapping[str, str]) -> Iterator[_Wrapper]:
    """The wrappers in a top-level function or class."""
    nodes = [*walk(scope)]
    made = [n for n in nodes if isinstance(n, FUNCTIONS[:2]) and (n is scope or n.name == "__init__")]
    keywords = {n.args.kwarg.arg for n in made if n.args.kwarg is not None}
    holders = {name: name for n in made for name in parameters(n) if name != "self" and name not in keywords}
    handed = {keyword.arg or "" for node in nodes if isinstance(node, ast.Call) for keyword in node.keywords}
    for name in sorted(_NAMED & {*holders, *handed}):
        yield _Wrapper(min(simulators.values()), name, (), scope.name, min(simulators))
    keys = {*holders}
    for node in nodes:
        for value in (node.value, *getattr(node.value, "values", ())) if isinstance(node, ast.Assign) else ():
            key = _key(value, keywords) or holders.get(getattr(value, "id", ""))
            holders.update((ast.unparse(target), key) for target in node.targets if key)
        keys.add(_key(node, keywords) or "")
    taken = tuple(sorted(keys - {""}))
    for node in nodes:
        library = simulators.get(_root(node.func)) if isinstance(node, ast.Call) else None
        for value in (*node.args, *(k.value for k in node.keywords)) if library else ():
            key = _key(value, keywords) or (holders.get(ast.unparse(value)) if _is_name(value) else None)
            if key and like(key, "device"):
                yield _Wrapper(library or "", key, taken, scope.name, _root(node.func))


def _key(node: Node, keywords: set[str]) -> str | None:
    """The key that an expression reads: "device" of `kwargs.pop("device", "cuda")` and of `kwargs["device"]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return looked_up(node) if getattr(node.func.value, "id", "") in keywords else None
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in keywords:
        key = constant(node.slice)
        return key if isinstance(key, str) else None
    return None


def _is_name(node: Node) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute))


def _root(node: Node) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")
