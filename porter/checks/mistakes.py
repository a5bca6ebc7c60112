"""What is wrong with the class of a rule, for who wrote it: the file, the line, what is wrong, and the cure.

Every start asks about every rule, so that each question is a look into a dict; only a mistake is looked for in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from types import FunctionType

from porter.engine.rule import AnyRule, IndexRule, Rule, TextRule
from porter.errors import UserError, suggestion
from porter.python.index import TYPES
from porter.python.strings import LITERALS
from porter.rulebook.table import Tables
from porter.target import SOCS
from porter.values import PATTERNS

READS = frozenset({"script", "settings", "requirements", "source", "page"})  # what text/formats read
LISTS = "calls references prefixes methods builtins attributes imports patterns literals nodes".split()
_STRINGS = frozenset({*LISTS, "codes", "socs"})
_METHODS = {Rule: "visit", IndexRule: "look", TextRule: "look"}
_KEYS = {base: {*AnyRule.__annotations__, *base.__annotations__, method} for base, method in _METHODS.items()}
_FUNCTIONS = frozenset({FunctionType, staticmethod, classmethod, property})


class RuleMistake(UserError):
    """A rule that the engine cannot serve. Names the file and the line, for who wrote it."""

    def __init__(self, text: str, _same: str = ""):  # it comes back from other processes with both languages
        super().__init__(text, text)


@cache
def _base(above: type[AnyRule]) -> tuple[type[AnyRule], set[str]]:
    """What a class is built upon, and the keys that it may have: those of the classes between are their own."""
    base = next(base for base in _METHODS if issubclass(above, base))
    between = above.__mro__[: above.__mro__.index(base)]
    return base, _KEYS[base].union(*(part.__annotations__ for part in between))


def check(kind: type[AnyRule], tables: Tables, taken: dict[tuple[str, str], type[AnyRule]]) -> None:
    """Raises where a class says what no rule can say. `taken`: the classes before it, by code and kind of file."""
    base, keys = _base(kind.__mro__[1])
    for name, value in vars(kind).items():
        value_type = value.__class__
        if name in keys:
            if value_type is str and name in _STRINGS:
                raise _mistake(
                    kind, name, f"{name} is one string, and would be taken letter by letter", f"({value!r},)"
                )
            if name == "only" and value_type is FunctionType:
                raise _mistake(kind, name, "only is a function, and would be a method", "staticmethod(...)")
        elif value_type not in _FUNCTIONS and name[0] != "_":
            near, _ = suggestion(name, keys)
            others = f"; its keys are {', '.join(sorted(keys))}"
            cure = "" if near else f"_{name} where it is none"
            raise _mistake(kind, name, f"{name!r} is no key of {base.__name__}{near or others}", cure)
    if getattr(kind, _METHODS[base]) is getattr(base, _METHODS[base]):
        raise _mistake(kind, "", f"it has no method {_METHODS[base]!r}", f"def {_METHODS[base]}(...)")
    reads = kind.__dict__.get("reads", "") if base is TextRule else base.__name__
    if base is TextRule and reads not in READS:
        raise _mistake(kind, "reads", f"reads is {reads!r}, which no format has", " | ".join(sorted(READS)))
    if kind.code not in tables.rules:
        raise _no_stanza(kind, "code", kind.code)
    if (first := taken.setdefault((kind.code, reads), kind)) is not kind:
        raise _mistake(kind, "code", f"{kind.code} is the code of {first.__name__} ({place(first, 'code')}) already")


def check_made(rule: AnyRule, tables: Tables) -> None:
    """The same of what its keys hold, which some get from rules/*.toml when they are made."""
    kind = rule.__class__
    for code in rule.codes:
        if code not in tables.rules:
            raise _no_stanza(kind, "codes", code)
    if rule.socs:
        _only(rule, "socs", SOCS)
    if not isinstance(rule, Rule):
        return
    if rule.nodes:
        _only(rule, "nodes", TYPES)
    if rule.literals:
        _only(rule, "literals", LITERALS)
    if rule.patterns:
        _only(rule, "patterns", PATTERNS)
    if not any(getattr(rule, key) for key in LISTS):
        raise _mistake(kind, "code", "it does not say what it wants to be asked about", f"one of {', '.join(LISTS)}")
    if rule.text and not rule.nodes:
        raise _mistake(kind, "text", "text without nodes is never looked for", "nodes = (...)")
    if rule.spelled and not rule.text:
        raise _mistake(kind, "spelled", "spelled without text says nothing", "text = ...")
    if rule.only and not (rule.calls or rule.methods or rule.builtins or rule.nodes):
        raise _mistake(kind, "only", "only is asked of calls, methods, builtins and nodes, and there are none of them")


def _only(rule: AnyRule, key: str, allowed: Iterable[str]) -> None:
    for word in getattr(rule, key):
        if word not in allowed:
            near, _ = suggestion(word, allowed)
            raise _mistake(rule.__class__, key, f"{key} has {word!r}{near}", "one of " + ", ".join(sorted(allowed)))


def without_code(kinds: list[type[AnyRule]]) -> None:
    """A class without a code is no rule: it is there for others to build upon."""
    for kind in kinds:
        if not kind.__subclasses__():
            raise _mistake(kind, "", "it has no code of its own, and is never asked", 'code = "PRT..."')


def failed(module: str, error: Exception) -> UserError:
    """Of a module that cannot be loaded, or a class that cannot be made."""
    import traceback

    if isinstance(error, UserError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "importlib" not in frame.filename]
    file, line = inside[-1].filename, inside[-1].lineno
    path = module.replace(".", "/") + ".py"
    for frame in inside:
        if frame.filename.replace("\\", "/").endswith(path):
            file, line = frame.filename, frame.lineno
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    words = error.msg if isinstance(error, SyntaxError) else error
    return RuleMistake(f"{_shown(file)}:{line}: {type(error).__name__}: {words}; the rule cannot be loaded")


def _no_stanza(kind: type[AnyRule], key: str, code: str) -> RuleMistake:
    return _mistake(kind, key, f"no [[rule]] in rules/*.toml has the code {code!r}", "its stanza (rules/README.md)")


def _mistake(kind: type[AnyRule], key: str, wrong: str, cure: str = "") -> RuleMistake:
    return RuleMistake(f"{place(kind, key)}: {kind.__name__}: {wrong}{cure and f'; write {cure}'}")


def place(kind: type[AnyRule], key: str = "") -> str:
    """file:line of a class, or of one of its keys."""
    import inspect

    try:
        file, (lines, first) = inspect.getsourcefile(kind) or "", inspect.getsourcelines(kind)
    except (OSError, TypeError):
        return kind.__module__
    offsets = (offset for offset, line in enumerate(lines) if key and re.match(rf"\s+(?:self\.)?{key}\b", line))
    return f"{_shown(file)}:{first + next(offsets, 0)}"


def _shown(file: str) -> str:
    """As people open it who stand in the checkout."""
    path = file.replace("\\", "/")
    _head, separator, tail = path.rpartition("/porter/checks/")
    return f"porter/checks/{tail}" if separator else path
