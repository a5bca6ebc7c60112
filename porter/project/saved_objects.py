"""Finds checkpoints with other objects than tensors: settings of argparse, arrays of numpy, whole modules.

`torch.save({"model": ..., "args": args}, path)` and `torch.load(path)["model"]` may stand in different files. They are matched by
their keys: a load may read each saved dictionary that has all the keys it asks for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from porter.engine.checkpoints import Saved
from porter.files.paths import folder_of, is_test
from porter.project.imports import imports_name
from porter.project.kept_scalers import kept_scalers
from porter.project.numpy_rates import has_any, numpy_rates
from porter.project.numpy_scores import Spot, numpy_scores
from porter.project.numpy_values import NumpyValues, Place
from porter.project.saved_dictionaries import (
    NUMPY,
    Entries,
    Records,
    dictionaries,
    handed_optimizers,
    may_be_given,
    records,
    root,
)
from porter.project.told_together import Homes
from porter.python.evidence import call_name
from porter.python.index import Node
from porter.python.kept import Remember, anew, rows_of
from porter.regex import lazy, rare

_PARSED = frozenset("args opt opts flags FLAGS".split())  # objects, if the project parses a command line
_CONFIGURED = frozenset("cfg config hparams".split())  # objects, if the file names a library of settings
_SETTINGS = rb"(?:\w+_)?(?:args|opts?|flags|FLAGS|cfgs?|configs?|conf|hparams|hps|options|settings)"
# objects, if the file reads or sets an attribute of them, which no dictionary has, nor a list, and no tensor
_ASKED = lazy(rb"(?<!\w)(%s)\.(?!__)\w+\b(?![ \t]*\()" % _SETTINGS)
# unless it makes a dictionary of them, which goes by the same name
_DICTIONARY = lazy(
    rb"(?<!\w)(%s)[ \t]*(?::[^\n=]*)?=[ \t]*(?:(?:vars|dict|json|yaml|asdict)\b|\{|\S[^\n]*(?:__dict__|to_dict|asdict)\b)"
    % _SETTINGS
)
_OF_MODULES = (b"half", b"float", b"eval", b"cpu", b"to")  # methods that show that a copy is a module
# a text that may put an object into a dictionary; names of libraries of settings
_MAY_HOLD = lazy(
    rb"[\"']\]?[ \t]{0,9}[:=]\s{0,99}(?:(?:np|numpy)\."
    rb"|(?:\w+\.)?%s\b"
    rb"|(?:self\.)?(?:\w*optim\w*|model|net|module|encoder|decoder|generator|discriminator)\s{0,9}[,})\n])"
    rb"|\b(?:np|numpy)\.random\.get_state|\.numpy\(\)|\bdeepcopy\([^\n]*\)\.(?:%s)\("
    % (_SETTINGS, b"|".join(_OF_MODULES))
)
_MAKES = lazy(rb"(?<!\w)dict\(")  # and no `state_dict()`
# the file uses a library whose settings are objects
_CONFIGURES = rare(rb"OmegaConf|DictConfig|CfgNode|get_cfg|yacs|hydra|recbole|[eE]asy[dD]ict|ml_collections")
# a function that asks numpy for the state of its generator in its first lines
_STATE = lazy(
    rb"^[ \t]*def[ \t]+(\w+)\([^\n]*\n(?:(?![ \t]*def\b)[^\n]*\n){0,20}?[^\n]*\b(?:np|numpy)\.random\.get_state\(",
    re.MULTILINE,
)
# an attribute that is a generator of numpy; a method that gives back an attribute
_GENERATOR = rare(rb"\bself\.(\w+)[ \t]*=[ \t]*(?:np|numpy)\.random\.(?:RandomState|default_rng|Generator)\(")
_GETTER = lazy(rb"(?m)^[ \t]+def[ \t]+(\w+)\(self\)[^\n:]*:[ \t]*\n[ \t]+return[ \t]+self\.(\w+)[ \t]*(?:#[^\n]*)?$")
# a function that gives back a dictionary with parts of a configuration
_PARTS = lazy(
    rb"^def[ \t]+(\w+)\((\w+)[ \t]*:[ \t]*DictConfig\b[^\n]*\n((?:(?:[ \t][^\n]*)?\n){0,20}?[ \t]+return[ \t]+\{[^}]*\})",
    re.MULTILINE,
)
_OPTIMIZER = lazy(r"(?i)optim|\bopt(?:_|\b)")
_SAVING = lazy(rb"(?m)^def[ \t]+(save\w*)[ \t]*\(")
# code that sets one of the names in _PARSED to plain values
_PLAIN = {
    name: lazy(rb"%s(?<=\b%s)[ \t]*=[ \t]*(?:(?:vars|dict|json|yaml)\b|\{)" % ((name.encode(),) * 2))
    for name in _PARSED
}
# keys that checkpoints of other programs have as well
_COMMON = frozenset(
    "state_dict model model_state_dict optimizer optim epoch net network weights params module ema step iteration".split()
)
_EVALUATES = lazy(r"(?:^|/)(?:test|val|validate|eval|evaluate|infer|inference|predict)(?:_\w+)?\.(?:py|ipynb)$")
Parse = Callable[[bytes], "ast.Module | None"]


def saved_objects(
    texts: Mapping[str, bytes], parse: Parse, files: Iterable[str], kept: Remember = anew
) -> tuple[Saved, ...]:
    """What the project saves as dictionaries, if any of them holds an object; `files`: all of it; `kept`: of single ones."""
    naming = ((path, data) for path, data in texts.items() if b"save" in data and b"torch" in data)
    saving = {path: data for path, data in naming if may_be_given(data) and not is_test(path)}
    if not saving:
        return ()
    of_optimizers = any(b"ptim" in data and b"state_dict()" in data for data in saving.values())
    values = NumpyValues(texts, parse)
    rates = numpy_rates(values) if of_optimizers else frozenset[Place]()
    scalers = kept_scalers(texts) if of_optimizers else frozenset[Place]()
    scores = numpy_scores(values, saving)
    states = _states(texts)
    objects = rates or scalers or scores or states
    if not objects and not any(map(_MAY_HOLD.search, saving.values())):
        return ()
    is_parsed = any(b"parse_args" in data for data in texts.values())
    known, handed = records(texts.values()), handed_optimizers(saving.values(), texts.values())
    rating = {path: data for path, data in texts.items() if has_any(path, data, rates)}
    rated = {path for path, data in saving.items() if path in rating or _is_handed(path, data, rating)}
    scaled = {path for path, data in saving.items() if has_any(path, data, scalers)}
    homes, fields = Homes(files), sorted(known.items())

    def rows(path: str) -> list[Saved]:
        data, home = saving[path], homes.of(path)
        spots = scores.get(path, frozenset())
        make = partial(
            _saved, data, parse, _Known(is_parsed, states, path in rated, path in scaled, spots, known, handed)
        )
        about = (is_parsed, sorted(states), path in rated, path in scaled, sorted(spots), fields, sorted(handed))
        saved = rows_of(data, "saved", about, make, kept)
        return [Saved(path, home, *row) for row in saved]

    # the other files matter only if one of these dictionaries holds an object, which is rare
    sure = {*rated, *scaled, *scores}
    holding = (path for path, data in saving.items() if path in sure or _may_hold(data, states))
    found = {path: rows(path) for path in holding}
    if not any(row.held for several in found.values() for row in several):
        return ()
    found |= {path: rows(path) for path in saving if path not in found}
    return tuple(dict.fromkeys(row for path in sorted(found) for row in found[path]))


def _is_handed(path: str, data: bytes, programs: Mapping[str, bytes]) -> bool:
    """Whether one of these programs calls a function of the file that saves: `from utils import save_checkpoint`."""
    names = {name.decode() for name in _SAVING.findall(data)}
    return any(imports_name(program, path, name) for name in names for program in programs.values())


def _states(texts: Mapping[str, bytes]) -> frozenset[str]:
    """Functions that give back objects: the state of numpy's generator, or that itself, parts of a configuration that have parts
    themselves."""
    found = {name for data in texts.values() if b"random.get_state" in data for name in _STATE.findall(data)}
    for data in texts.values():
        generators = set(_GENERATOR.findall(data)) if b".random." in data else set[bytes]()
        found |= {name for name, held in _GETTER.findall(data) if held in generators} if generators else set()
    for data in texts.values():
        for name, settings, body in _PARTS.findall(data) if b"DictConfig" in data else ():
            parts = re.findall(rb"[\"']:[ \t]*(%s\.\w+)[ \t]*[,}\n]" % settings, body)
            if any(part + b"." in other for part in parts for other in texts.values()):
                found.add(name)
    return frozenset(name.decode() for name in found)


class _Known(NamedTuple):
    """What a project says of the values that one of its files saves."""

    is_parsed: bool  # it parses a command line
    states: frozenset[str]  # functions that give back objects
    rated: bool  # numpy computes the learning rates of the optimizers of this file
    scaled: bool  # its optimizers keep what scales their losses
    scores: frozenset[Spot]  # where its scores of numpy stand
    records: Records
    handed: frozenset[tuple[str, str]]  # functions that save, with a parameter that is an optimizer


def _saved(data: bytes, parse: Parse, known: _Known) -> tuple[tuple[tuple[str, ...], str, bool], ...]:
    """Of each dictionary that a file saves, its keys, the first of an object, and whether that is a rate of an optimizer."""
    tree = parse(data)
    if tree is None:
        return ()
    names = {name for name in _PARSED if known.is_parsed and not _PLAIN[name].search(data)}
    made = {*_DICTIONARY.findall(data)}
    names |= {name.decode() for name in {*_ASKED.findall(data)} - made} | (
        _CONFIGURED if _CONFIGURES.search(data) else frozenset()
    )
    found: list[tuple[tuple[str, ...], str, bool]] = []
    for entries in dictionaries(tree, data, known.records, known.handed):
        held = _held(entries, names, known.states) or _held_score(entries, known.scores)
        states = [key for key, values in entries.items() if _is_of_optimizer(key, values.written)]
        state = min(states, key=lambda key: not key.isidentifier(), default="")
        held, rate = held or (state if known.scaled else ""), state if known.rated else ""
        found.append((tuple(entries), held or rate, not held and bool(rate)))
    return tuple(found)


def _is_of_optimizer(key: str, value: Node) -> bool:
    """`optimizer.state_dict()`."""
    if value.__class__ is not ast.Call or call_name(value.func) != "state_dict":
        return False
    return any(_OPTIMIZER.search(text) for text in (ast.unparse(value.func), key))


def _may_hold(data: bytes, states: frozenset[str]) -> bool:
    """Whether a dictionary of a file may hold an object, by its text."""
    written = _MAY_HOLD.search(data) is not None or b"dict(" in data and _MAKES.search(data) is not None
    return written or any(name.encode() in data for name in states)


def _held(entries: Entries, names: set[str], states: frozenset[str]) -> str:
    """The first key whose value is an object; "" where there is none."""
    for key, value in entries.items():
        if value.is_object or any(_is_object(node, names, states) for node in (value.written, value.once)):
            return key
    return ""


def _held_score(entries: Entries, spots: frozenset[Spot]) -> str:
    """The first key whose value is a score of numpy; "" where there is none."""
    return next(
        (key for key, value in entries.items() if (value.written.lineno, value.written.col_offset) in spots), ""
    )


def _is_object(value: Node, names: set[str], states: frozenset[str]) -> bool:
    """Whether a value is neither a tensor nor plain: settings, an array of numpy, the state of its generator."""
    if value.__class__ is ast.Call:
        func = value.func
        is_array = root(func) in NUMPY or func.__class__ is ast.Attribute and func.attr == "numpy"
        return is_array or call_name(func) in states or _is_copied_module(value)
    if value.__class__ is ast.Attribute and value.value.__class__ is ast.Name:
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
    keys, too: only if every dictionary with the keys holds an object, or the file itself saves one and reads several keys. One
    of those keys does not tell a checkpoint with an optimizer from weights."""
    fitting = [row for row in saved if keys and keys <= {*row.keys} and path.startswith(row.program)]
    if len(keys) > 1 and (own := next((row for row in fitting if row.held and row.path == path), None)):
        return own
    beside = [row for row in fitting if folder_of(row.path) == folder_of(path)] if _EVALUATES.search(path) else []
    if beside and all(row.held and not row.of_rates for row in beside):  # it loads what is trained beside it
        fitting = beside
    if keys <= _COMMON and not all(row.held for row in fitting):
        return None
    of_rates = [row for row in fitting if row.of_rates]
    if of_rates and (keys <= _COMMON and len(keys) < 2 or not all(row.held for row in fitting)):
        fitting = [row for row in fitting if row.held and not row.of_rates]
    held = [row for row in fitting if row.held]
    return min(held, key=lambda row: (-_shared(row.path, path), not row.held.isidentifier()), default=None)


def possibly_saved_with(saved: Iterable[Saved], keys: frozenset[str], path: str) -> Saved | None:
    """The nearest dictionary with an object that has these keys, whatever else the program saves with them. Folders beside each other
    in one of the project are programs of their own."""
    known = (row for row in saved if row.held and not row.of_rates and path.startswith(row.program))
    fitting = (row for row in known if keys and keys <= {*row.keys})
    held = [row for row in fitting if not 0 < _shared(row.path, path) < min(row.path.count("/"), path.count("/"))]
    return min(held, key=lambda row: (-_shared(row.path, path), not row.held.isidentifier()), default=None)


def _shared(one: str, other: str) -> int:
    """How many parts two paths begin with alike."""
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def restored_with(saved: Iterable[Saved], keywords: Iterable[tuple[str, frozenset[str]]]) -> Saved | None:
    """A dictionary with an object that a file saves which hands all the keys of it that are read, as keywords."""
    by_path = [(row, keys) for path, keys in keywords for row in saved if row.path == path and row.held]
    return next((row for row, keys in by_path if keys and keys <= {*row.keys}), None)
