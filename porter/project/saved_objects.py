"""Finds checkpoints with other objects than tensors: settings of argparse, arrays of numpy, whole modules.

`torch.save({"model": ..., "args": args}, path)` and `torch.load(path)["model"]` may stand in different files. They are matched by
their keys: a load may read each saved dictionary that has all the keys it asks for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from porter.engine.facts import Saved
from porter.files.paths import is_test
from porter.project.told_together import Homes
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node, on_lines
from porter.python.kept import Remember, anew, rows_of
from porter.python.walks import children
from porter.regex import lazy

_PARSED = frozenset("args opt opts flags FLAGS".split())  # objects, if the project parses a command line
_CONFIGURED = frozenset("cfg config hparams".split())  # objects, if the file names a library of settings
_OF_MODULES = (b"half", b"float", b"eval", b"cpu", b"to")  # methods that show that a copy is a module
# a text that may put an object into a dictionary; names of libraries of settings
_MAY_HOLD = lazy(
    rb"[\"']\]?[ \t]{0,9}[:=]\s{0,99}(?:(?:self\.)?(?:args|opts?|flags|FLAGS|cfg|config|hparams)\b|(?:np|numpy)\.)"
    rb"|\b(?:np|numpy)\.random\.get_state|\.numpy\(\)|\bdeepcopy\([^\n]*\)\.(?:%s)\(" % b"|".join(_OF_MODULES)
)
# the file uses a library whose settings are objects
_CONFIGURES = lazy(rb"OmegaConf|DictConfig|CfgNode|get_cfg|yacs|hydra|recbole")
# a function that asks numpy for the state of its generator in its first lines
_STATE = lazy(
    rb"^[ \t]*def[ \t]+(\w+)\([^\n]*\n(?:(?![ \t]*def\b)[^\n]*\n){0,20}?[^\n]*\b(?:np|numpy)\.random\.get_state\(",
    re.MULTILINE,
)
# a call that saves a dictionary, or a name that may stand for one; most files only save a state_dict
_SAVES = lazy(rb"save\w{0,40}\(\s{0,200}(?:\w+\s{0,9}[,)]|[^\n{]{0,400}(?:\{|\bdict\())")
_NAME_SAVES_ELSE = lazy(r"save(?:z|txt|mat|fig|_json|_yaml|_image|_img|_plot|_csv)")
_NUMPY = frozenset({"np", "numpy"})
# code that sets one of the names in _PARSED to plain values
_PLAIN = {
    name: lazy(rb"%s(?<=\b%s)[ \t]*=[ \t]*(?:(?:vars|dict|json|yaml)\b|\{)" % ((name.encode(),) * 2))
    for name in _PARSED
}
# keys that checkpoints of other programs have as well
_COMMON = frozenset(
    "state_dict model model_state_dict optimizer optim epoch net network weights params module ema step iteration".split()
)
Parse = Callable[[bytes], "ast.Module | None"]


def saved_objects(
    texts: Mapping[str, bytes], parse: Parse, files: Iterable[str], kept: Remember = anew
) -> tuple[Saved, ...]:
    """What the project saves as dictionaries, if any of them holds an object; `files`: all of it; `kept`: of single ones."""
    naming = ((path, data) for path, data in texts.items() if b"save" in data and b"torch" in data)
    saving = {path: data for path, data in naming if _SAVES.search(data) and not is_test(path)}
    if not any(map(_MAY_HOLD.search, saving.values())):
        return ()
    is_parsed = any(b"parse_args" in data for data in texts.values())
    states = frozenset(
        name.decode() for data in texts.values() if b"random.get_state" in data for name in _STATE.findall(data)
    )
    homes = Homes(files)

    def rows(path: str) -> list[Saved]:
        data, home = saving[path], homes.of(path)
        make = partial(_saved, data, parse, is_parsed, states)
        saved = rows_of(data, "saved", (is_parsed, sorted(states)), make, kept)
        return [Saved(path, home, keys, held) for keys, held in saved]

    # the other files matter only if one of these dictionaries holds an object, which is rare
    found = {path: rows(path) for path, data in saving.items() if _may_hold(data, states)}
    if not any(row.held for several in found.values() for row in several):
        return ()
    found |= {path: rows(path) for path in saving if path not in found}
    return tuple(dict.fromkeys(row for path in sorted(found) for row in found[path]))


def _saved(
    data: bytes, parse: Parse, is_parsed: bool, states: frozenset[str]
) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Of each dictionary that a file saves, its keys and the first of an object."""
    tree = parse(data)
    if tree is None:
        return ()
    names = {name for name in _PARSED if is_parsed and not _PLAIN[name].search(data)}
    names |= _CONFIGURED if _CONFIGURES.search(data) else set()
    return tuple((tuple(entries), _held(entries, names, states)) for entries in _dictionaries(tree, data))


def _may_hold(data: bytes, states: frozenset[str]) -> bool:
    """Whether a dictionary of a file may hold an object, by its text."""
    written = _MAY_HOLD.search(data) is not None or b"dict(" in data
    return written or any(name.encode() in data for name in states)


def _held(entries: Mapping[str, Node], names: set[str], states: frozenset[str]) -> str:
    """The first key whose value is an object; "" where there is none."""
    return next((key for key, value in entries.items() if _is_object(value, names, states)), "")


def _dictionaries(tree: ast.Module, data: bytes) -> Iterator[dict[str, Node]]:
    """The entries of each dictionary that is passed to a function that saves, directly or by a name. Functions without the word
    `save` are skipped."""
    saying = [number for number, line in enumerate(data.splitlines(), 1) if b"save" in line]
    named: dict[tuple[Node, str], list[Node]] = {}  # by function and name
    added: dict[tuple[Node, str], dict[str, Node]] = {}
    given: list[tuple[Node, Node]] = []  # (function, saved value)
    todo: list[tuple[Node, Node]] = [(tree, tree)]
    while todo:
        node, owner = todo.pop()
        if node.__class__ in FUNCTIONS[:2]:
            if not on_lines(node, saying):
                continue
            owner = node
        if node.__class__ is ast.Assign and len(node.targets) == 1:
            target = node.targets[0]
            if target.__class__ is ast.Name:
                named.setdefault((owner, target.id), []).append(node.value)
            elif target.__class__ is ast.Subscript and target.value.__class__ is ast.Name:
                if isinstance(key := constant(target.slice), str):
                    added.setdefault((owner, target.value.id), {})[key] = node.value
        elif node.__class__ is ast.Call and _saves(node.func):
            given += [(owner, argument) for argument in node.args]
        todo += [(child, owner) for child in reversed(children(node))]
    for owner, value in given:
        more: dict[str, Node] = {}
        if value.__class__ is ast.Name:
            bound, more = named.get((owner, value.id), []), added.get((owner, value.id), {})
            value = bound[0] if len(bound) == 1 else value
        if entries := {**_entries(value), **more}:
            yield entries


def _saves(func: Node) -> bool:
    """Whether a function saves: `torch.save`, `utils.save_on_master`, but no function of numpy or scipy."""
    return "save" in call_name(func) and not _NAME_SAVES_ELSE.match(call_name(func)) and _root(func) not in _NUMPY


def _root(func: Node) -> str:
    """The first word of a chain with dots; "" where there are none."""
    root = func
    while root.__class__ is ast.Attribute:
        root = root.value
    return getattr(root, "id", "") if root is not func else ""


def _entries(value: Node) -> dict[str, Node]:
    if value.__class__ is ast.Dict:
        return {key: v for k, v in zip(value.keys, value.values) if isinstance(key := constant(k), str)}
    if value.__class__ is ast.Call and call_name(value.func) == "dict" and not value.args:
        return {k.arg: k.value for k in value.keywords if k.arg}
    return {}


def _is_object(value: Node, names: set[str], states: frozenset[str]) -> bool:
    """Whether a value is neither a tensor nor plain: settings, an array of numpy, the state of its generator."""
    if value.__class__ is ast.Call:
        func = value.func
        is_array = _root(func) in _NUMPY or func.__class__ is ast.Attribute and func.attr == "numpy"
        return is_array or call_name(func) in states or _is_copied_module(value)
    if value.__class__ is ast.Attribute and getattr(value.value, "id", "") == "self":
        return value.attr in names
    return value.__class__ is ast.Name and value.id in names


def _is_copied_module(value: Node) -> bool:
    """Whether a value is a copy of a module: `deepcopy(model).half()`. No dictionary has such methods, and nobody copies a tensor
    like this."""
    inner, names = value, set[bytes]()
    while inner.__class__ is ast.Call and inner.func.__class__ is ast.Attribute and inner.func.attr != "deepcopy":
        names.add(inner.func.attr.encode())
        inner = inner.func.value
    is_copy = inner.__class__ is ast.Call and call_name(inner.func) == "deepcopy"
    return is_copy and bool(names) and names <= {*_OF_MODULES}


def saved_with(saved: Iterable[Saved], keys: frozenset[str], path: str) -> Saved | None:
    """A dictionary with an object that the program of a file saves and that has these keys. If other programs may write such
    keys, too: only if every dictionary with the keys holds an object."""
    fitting = [row for row in saved if keys and keys <= {*row.keys} and path.startswith(row.program)]
    if keys <= _COMMON and not all(row.held for row in fitting):
        return None
    return next((row for row in fitting if row.held), None)
