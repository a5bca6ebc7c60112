"""Says which constants the callers in a project hand over for a parameter: `bh2` for `UniPC(model, variant="bh2")`. A caller may hand on
what its own callers give it, over any number of steps. Of what surely is something, SOME is said: a number that is computed, an
option of the command line with a default.

Callers are known by the name alone: a call of another function of this name counts, too. Nobody knows the callers of a function
whose name stands anywhere else than in a call, as in a table of functions or in settings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from porter.files.kinds import NOTEBOOK, PYTHON, kind_of
from porter.project.imports import lines_of_cells
from porter.project.meant_names import HANDED_ON, is_comment, whole_word
from porter.python.evidence import OPTION_HOLDERS
from porter.python.index import Node
from porter.python.trees import parse
from porter.regex import lazy, rare

# gives the files that contain a word, and their texts, those near a file first; None if that is not known
Texts = Callable[[bytes, str], "Iterable[tuple[str, bytes]] | None"]
Values = frozenset[tuple[type, object]]  # with their types: 1 is not True

SOME = (object, object())  # a value that is not None, and of which nothing else is known

_LONGEST = 4_000  # bytes of a call
_PROSE = (".md", ".rst", ".txt")
_CALLED = lazy(rb"[ \t]*\(")
_RENAMED = lazy(rb"[ \t]+as\b")
# what counts for where a call ends
_SIGNS = lazy(rb"(?s)(\"\"\"|''').*?\1|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*|[()\[\]{}]")
# the text after the head of a function or class
_DOCSTRING = rare(rb"[\w)\]][ \t]*:[ \t]*(?:#[^\n]*)?\n\s*[rRuU]?(\"\"\"|''')(?:(?!\1).)*\1[ \t]*\n", re.DOTALL)
_COMMENTED = lazy(rb"(?:[^#\"'\n]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')*#")  # from the start of a line
_HAS_DEFAULT = lazy(rb"\bdefault[ \t]*=[ \t]*(?!None\b)[\w\"'.-]|\brequired[ \t]*=[ \t]*True")
_DEFINED = lazy(rb"\b(?:def|class)[ \t]+$")
# the text before a class where it is no more than a type: `super(Net, self)`, `isinstance(x, Net)`, `def f(net: Net)`, `-> Net`
_AS_TYPE = lazy(
    rb"(?:\bsuper\([ \t]*|\bisinstance\([\w.\[\]]+[ \t]*,[ \t]*|\bdef[ \t]+\w+\([^()]*\w[ \t]*:[ \t]*|->[ \t]*)$"
)
_PART = lazy(rb"\.(?!__)\w")  # of a class, but not `Net.__init__`
_OF_CLASS = lazy(rb"\b[A-Z]\w*\.$")  # `Net.` in `Net.run(net, 1)`
_INDENT = 200  # bytes between an argument and the sign before it, at most
_KEYWORD = lazy(rb"=(?![= ])")  # behind the name of an argument, as it is mostly written
_COMPUTED = (
    ast.BinOp,
    ast.Compare,
    ast.JoinedStr,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Tuple,
    ast.ListComp,
    ast.DictComp,
    ast.Lambda,
)
_COUNTS = frozenset({"len", "int", "float", "max", "min", "sum", "str", "bool", "range"})
_HOLDER = lazy(rf"(?i)(?:^|_)(?:{OPTION_HOLDERS}|configs|params)$")
_PLAIN = (bool, int, float, str, bytes, type(None))


class Parameter(NamedTuple):
    """A parameter of a function, of a method, or of the class that `__init__` belongs to."""

    home: str  # the file
    owner: str  # "class", "class of a library", "method" or "function"
    function: str  # its name, or that of the class
    name: str
    position: int | None  # among what a call hands over; None if only by name
    default: tuple[Node, ...]


_Key = tuple[str, str, str, str]  # of a parameter, however often its file is parsed


class _Call(NamedTuple):
    path: str
    text: bytes  # of the file
    line: int
    node: ast.Call


# gives the parameter that a value is, in a line of a file: `mask` of `attend(x, mask=mask)`; None if it may be anything else
Source = Callable[[str, bytes, int, Node], Parameter | None]


class PassedValues:
    """What a project hands over is searched once for each parameter, and kept. `source`: where a value comes from that is no
    constant."""

    def __init__(self, texts: Texts, source: Source = lambda *place: None) -> None:
        self._texts, self._source = texts, source
        self._known: dict[_Key, Values | None] = {}
        self._calls: dict[tuple[str, str, str], list[_Call] | None] = {}
        self._options = dict[str, bool]()

    def of(self, parameter: Parameter) -> Values | None:
        """The constants that a parameter may have; None if it may have other values, or if nothing calls the function."""
        key = _key(parameter)
        if key not in self._known:
            self._known[key] = None  # of those that hand a value on to each other, nothing is known
            self._known[key] = self._search(parameter)
        return self._known[key]

    def _handed_on(self, call: _Call, value: Node, parameter: Parameter) -> Values | None:
        """The values of the parameter that a caller hands on; none of a function that calls itself with what it got."""
        source = self._source(call.path, call.text, call.line, value)
        if source is None:
            return None
        return frozenset() if _key(source) == _key(parameter) else self.of(source)

    def _search(self, parameter: Parameter) -> Values | None:
        values = set[tuple[type, object]]()
        for handed in self._calls_of(parameter) or ():
            call = handed.node
            given = [k.value for k in call.keywords if k.arg == parameter.name]
            if not given:
                if any(k.arg is None for k in call.keywords) or any(a.__class__ is ast.Starred for a in call.args):
                    return None
                place = parameter.position
                given = [call.args[place]] if place is not None and place < len(call.args) else [*parameter.default]
            if not given:
                continue  # without a value, it is a call of something else
            value = plain(given[0]) or (SOME if self._is_some(given[0], handed.path) else None)
            several = {value} if value else self._handed_on(handed, given[0], parameter)
            if several is None:
                return None
            values |= several
        return frozenset(values) or None

    def _is_some(self, value: Node, path: str) -> bool:
        """Whether a value surely is not None."""
        if isinstance(value, _COMPUTED) or isinstance(value, ast.Call) and getattr(value.func, "id", "") in _COUNTS:
            return True
        if not isinstance(value, ast.Attribute):
            return False
        holder = value.value.attr if isinstance(value.value, ast.Attribute) else getattr(value.value, "id", "")
        if not _HOLDER.search(holder):
            return False
        if value.attr not in self._options:
            self._options[value.attr] = self._is_option(value.attr.encode(), path)
        return self._options[value.attr]

    def _is_option(self, name: bytes, path: str) -> bool:
        """Whether a command line offers an option with a default, or asks for it, and nothing makes it None."""
        word = re.escape(name)
        offers = re.compile(rb"[\"']--%s[\"']((?:[^()]|\([^()]*\))*)\)" % word.replace(b"_", b"[-_]"))
        empties = re.compile(
            rb"(?:[.\"']%s[\"']?\]?[ \t]*[=:]|\b%s[ \t]*:|(?:set_defaults|Namespace)\([^()]*\b%s=)[ \t]*(?:None|null|~)"
            % (word, word, word)
        )
        offered = False
        for home, text in self._texts(name, path) or ():
            if empties.search(text):
                return False
            for match in offers.finditer(text) if kind_of(home) == PYTHON else ():
                offered = True
                if not _HAS_DEFAULT.search(match[1]):
                    return False
        return offered

    def _calls_of(self, parameter: Parameter) -> list[_Call] | None:
        key = (parameter.home, parameter.owner, parameter.function)
        if key not in self._calls:
            self._calls[key] = self._search_calls(*key)
        return self._calls[key]

    def _search_calls(self, home: str, owner: str, name: str) -> list[_Call] | None:
        """All calls of a function; None if there may be others."""
        texts, calls = self._texts(name.encode(), home), list[_Call]()
        for path, said in texts if texts is not None else ():
            text = lines_of_cells(said) if kind_of(path) == NOTEBOOK else said
            for start, end in _mentions(path, text, name.encode()):
                if not _CALLED.match(text, end):
                    if not _calls_nothing(text, start, end, owner):
                        return None
                    continue
                call = _call(text, end) if kind_of(path) in (PYTHON, NOTEBOOK) else None
                line = text[text.rfind(b"\n", 0, start) + 1 : start]
                if call is None or owner == "method" and _OF_CLASS.search(line):
                    return None
                calls.append(_Call(path, text, text.count(b"\n", 0, start) + 1, call))
        return calls


def _key(parameter: Parameter) -> _Key:
    return parameter.home, parameter.owner, parameter.function, parameter.name


def plain(node: Node) -> tuple[type, object] | None:
    """The value of a plain constant, with its type; None for anything else."""
    if node.__class__ is ast.UnaryOp and node.op.__class__ is ast.USub and node.operand.__class__ is ast.Constant:
        value = node.operand.value
        return (value.__class__, -value) if value.__class__ in (int, float) else None
    if node.__class__ is ast.Tuple and not node.elts:
        return (tuple, ())
    if node.__class__ is not ast.Constant or node.value.__class__ not in _PLAIN:
        return None
    return node.value.__class__, node.value


def _mentions(path: str, text: bytes, name: bytes) -> Iterator[tuple[int, int]]:
    """Where a file has a name, outside of definitions, imports, comments, and its own texts about the code."""
    own: list[tuple[int, int]] | None = None
    for match in whole_word(name).finditer(text):
        start, end = match.span()
        before = text[text.rfind(b"\n", 0, start) + 1 : start]
        if is_comment(text, start) or _DEFINED.search(before) or b"#" in before and _COMMENTED.match(before):
            continue
        is_called = _CALLED.match(text, end)
        if _KEYWORD.match(text, end) and text[max(0, start - _INDENT) : start].rstrip()[-1:] in (b"(", b","):
            continue
        if path.endswith(_PROSE) and not is_called:
            continue
        if kind_of(path) == PYTHON and not is_called and not _RENAMED.match(text, end):
            own = _quiet(text) if own is None else own
            if any(first <= start < last for first, last in own):
                continue
        yield start, end


def _quiet(text: bytes) -> list[tuple[int, int]]:
    """The parts of a file in which a name calls nothing: imports, `__all__`, and docstrings."""
    return [match.span() for match in HANDED_ON.finditer(text)] + [match.span() for match in _DOCSTRING.finditer(text)]


def _calls_nothing(text: bytes, start: int, end: int, owner: str) -> bool:
    """Whether a class is only named as a type, or for a part of it; with a library's class behind it, such a part may make
    objects: `Net.from_pretrained(...)`."""
    before = text[text.rfind(b"\n", 0, start) + 1 : start]
    if not owner.startswith("class") or _RENAMED.match(text, end):
        return False
    return bool(_AS_TYPE.search(before) or owner == "class" and _PART.match(text, end))


def _call(text: bytes, start: int) -> ast.Call | None:
    """The call whose parentheses begin here."""
    depth, limit = 0, min(len(text), start + _LONGEST)
    for match in _SIGNS.finditer(text, start, limit):
        depth += {b"(": 1, b"[": 1, b"{": 1, b")": -1, b"]": -1, b"}": -1}.get(match[0], 0)
        if not depth:
            tree = parse(b"f" + text[start : match.end()].lstrip())
            value = getattr(tree.body[0], "value", None) if tree and len(tree.body) == 1 else None
            return value if isinstance(value, ast.Call) else None
    return None
