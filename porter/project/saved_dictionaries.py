"""The dictionaries that a file saves: what `torch.save` and its kin are handed, directly or by a name."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node, on_lines
from porter.python.walks import children
from porter.regex import lazy, rare

NUMPY = frozenset({"np", "numpy"})
_OF_OBJECTS = frozenset(
    "state_dict step zero_grad parameters named_parameters".split()
)  # methods of modules, optimizers
# `self.encoder.train()`
_OWN_OBJECT = lazy(rb"self(\.\w+)\.(?:%s)\(" % "|".join(sorted({*_OF_OBJECTS, "eval", "train"})).encode())
_OPTIMIZERS = lazy(r"(?:torch\.)?optim\.[A-Z]")
Records = Mapping[str, tuple[str, ...]]  # the fields of each namedtuple
_NAME_SAVES_ELSE = lazy(r"save(?:z|txt|mat|fig|_json|_yaml|_image|_img|_plot|_csv)")
_CALL = lazy(rb"save\w*\s*\(")
_LETTERS = f"{string.ascii_letters}{string.digits}_".encode()
_NO_BEGINNING = {bytes([sign]) for sign in b"." + _LETTERS}  # of a name
_LONGEST = 60  # characters of a name that are looked at
_MANY = 200  # names that a file passes; of more, it is not asked what they are
# brackets, and what has none that count: strings and comments
_PARTS = lazy(
    rb"\"\"\"(?s:\\.|.)*?\"\"\"|'''(?s:\\.|.)*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*|[()\[\]{}]"
)
_WRITTEN, _NAMES = lazy(rb"\{|\bdict\s*\(|_asdict\b"), lazy(rb"(?<![\w.])[^\W\d]\w*")
# what makes a name a dictionary, or puts something into one
_MADE = lazy(rb"\s*(?:=(?:[\s(\\]|#[^\n]*\n)*(?:\{|dict\b)|\[[\s(]*[bBrRuU]{0,2}[\"']|\.\s*update\b)")
_RECORD = lazy(rb"\bnamedtuple\(\s*[\"'](\w+)[\"'],\s*[\[(]([^\])]{0,999})[\])]")
_TAKES = rare(rb"(?m)^def[ \t]+(\w*save\w*)\([^()]*?\b(\w*optimizer)\b[^()]*\)[ \t]*:")
_HANDS = lazy(rb"(?:^|[\s,.=])\w*optimizer[ \t]*(?:,|$)")
_LEAVES = (ast.Constant, ast.Name)
_FIELD = lazy(rb"[\"'](\w+)[\"']")


def records(texts: Iterable[bytes]) -> dict[str, tuple[str, ...]]:
    """The namedtuples of a project whose fields are written down; none of a name that two have."""
    found: dict[str, tuple[str, ...]] = {}
    for data in texts:
        for name, fields in _RECORD.findall(data) if b"namedtuple(" in data else ():
            known = tuple(field.decode() for field in _FIELD.findall(fields))
            found[name.decode()] = known if found.setdefault(name.decode(), known) == known else ()
    return found


def handed_optimizers(saving: Iterable[bytes], texts: Iterable[bytes]) -> frozenset[tuple[str, str]]:
    """(function, parameter) where a function that saves takes an optimizer, and all who call it hand it one, and no state."""
    found = {(name, given) for data in saving if b"ptimizer" in data for name, given in _TAKES.findall(data)}
    calls = {
        name: re.compile(rb"(?<!def )\b%s\(((?:[^()]|\((?:[^()]|\([^()]*\))*\)){0,999})\)" % name) for name, _ in found
    }
    given = {name: [call for data in texts if name in data for call in calls[name].findall(data)] for name in calls}
    whole = {name for name in calls if given[name] and all(map(_HANDS.search, given[name]))}
    whole -= {name for name in whole if any(b"state_dict" in call for call in given[name])}
    return frozenset((name.decode(), parameter.decode()) for name, parameter in found if name in whole)


class Value(NamedTuple):
    """What stands under a key."""

    written: Node
    once: Node  # what the name is set to, if that is one thing; else the same
    is_object: bool  # the function that saves it uses it as a module or an optimizer


Entries = dict[str, Value]


class _Function:
    """What one function, or the file outside of functions, makes of its names."""

    def __init__(self, handed: frozenset[str] = frozenset(), own: frozenset[str] = frozenset()) -> None:
        self.handed = handed  # parameters that every caller gives an optimizer
        self.own = own  # attributes of which the file asks what only an object has
        self.bound: dict[str, list[Node]] = {}
        self.added: dict[str, dict[str, Node]] = {}  # `x["key"] = value`
        self.inside: dict[str, list[Node]] = {}  # `x[i]["key"] = value`
        self.more: dict[str, list[Node]] = {}  # `x.update(value)`
        self.given: list[tuple[Node, bool]] = []  # to a function that saves, and whether that is torch's own
        self.asked: set[str] = set()  # of which something is asked that only an object has

    def take(self, node: Node) -> None:
        if node.__class__ is ast.Assign and len(node.targets) == 1:
            self._set(node.targets[0], node.value)
        elif node.__class__ is ast.Call:
            if _saves(node.func):
                given = (*node.args, *(keyword.value for keyword in node.keywords))
                self.given += [(one, ast.unparse(node.func) == "torch.save") for one in given]
            elif node.func.__class__ is ast.Attribute and node.func.attr in _OF_OBJECTS:
                self.asked.add(ast.unparse(node.func.value))
            elif call_name(node.func) == "update" and len(node.args) == 1 and not node.keywords:
                if name := getattr(getattr(node.func, "value", None), "id", ""):
                    self.more.setdefault(name, []).append(node.args[0])

    def _set(self, target: Node, value: Node) -> None:
        if target.__class__ is ast.Name:
            self.bound.setdefault(target.id, []).append(value)
        elif target.__class__ is ast.Subscript and target.value.__class__ is ast.Name:
            if isinstance(key := constant(target.slice), str):
                self.added.setdefault(target.value.id, {})[key] = value
        elif target.__class__ is ast.Subscript and target.value.__class__ is ast.Subscript:
            if target.value.value.__class__ is ast.Name:
                self.inside.setdefault(target.value.value.id, []).append(value)

    def entries(self, value: Node, is_torch: bool, known: Records) -> Entries:
        """The keys of a saved value, and what stands under each. Others than torch may save the states of objects."""
        found: dict[str, Node] = {}
        name = ""
        if value.__class__ is ast.Call and call_name(value.func) == "_asdict":
            value = value.func.value if value.func.__class__ is ast.Attribute else value
            found = self._fields(self._once(value), known)
        elif value.__class__ is ast.Name:
            name = value.id
            value = self._once(value)
        found = found or (self._written(name) if value.__class__ is ast.Name else _entries(value))
        for more in self.more.get(name, ()):
            for one in self.bound.get(more.id, ()) if more.__class__ is ast.Name else [more]:
                found |= _entries(one)
        found |= self.added.get(name, {})
        for inner in self.inside.get(name, ()):  # in a dictionary of one of the keys
            found |= {key: inner for key, empty in found.items() if _is_empty(empty)}
        return {key: Value(part, self._once(part), is_torch and self._is_object(part)) for key, part in found.items()}

    def _written(self, name: str) -> dict[str, Node]:
        """Of a name with several values, as `state = torch.load(path)` for a start and `state = {...}` to be saved, the only one
        that is written here, or the first of those with the same keys."""
        written = [one for one in self.bound.get(name, ()) if _entries(one) or _is_empty(one)]
        return _entries(written[0]) if len({tuple(_entries(one)) for one in written}) == 1 else {}

    def _is_object(self, value: Node) -> bool:
        """`optimizer`, whose `step()` is called, or which a class of torch.optim makes."""
        if value.__class__ not in (ast.Name, ast.Attribute):
            return False
        bound = self.bound.get(getattr(value, "id", ""), ())
        if any(made.__class__ is ast.Call and call_name(made.func) == "state_dict" for made in bound):
            return False
        made = [one.func for one in bound if one.__class__ is ast.Call]
        is_optimizer = bool(made) and all(_OPTIMIZERS.match(ast.unparse(func)) for func in made)
        is_optimizer = is_optimizer or not bound and getattr(value, "id", "") in self.handed
        return is_optimizer or (written := ast.unparse(value)) in self.asked or written in self.own

    def _fields(self, made: Node, known: Records) -> dict[str, Node]:
        """Of `State(a, b)`, a namedtuple of the project."""
        if made.__class__ is not ast.Call or any(a.__class__ is ast.Starred for a in made.args):
            return {}
        fields = known.get(call_name(made.func), ())
        return {**dict(zip(fields, made.args)), **{k.arg: k.value for k in made.keywords if k.arg in fields}}

    def _once(self, value: Node) -> Node:
        bound = self.bound.get(value.id, ()) if value.__class__ is ast.Name else ()
        return bound[0] if len(bound) == 1 else value


def may_be_given(data: bytes) -> bool:
    """Whether a file may pass a dictionary to a function that saves, by its text: a tree of it takes much longer."""
    seen, behind = set[bytes](), 0
    for call in _CALL.finditer(data):
        before = data[max(0, call.start() - _LONGEST) : call.start()]
        own = before.rstrip(_LETTERS)
        is_other = own.endswith(b"def ") or own == before and _NAME_SAVES_ELSE.match(call[0].decode())
        if is_other or call.start() < behind:  # what stands in the brackets of a call was looked at with it
            continue
        given, behind = _arguments(data, call.end())
        names = {*_NAMES.findall(given)} - seen
        seen |= names
        if _WRITTEN.search(given) or len(seen) > _MANY or any(_is_made(name, data) for name in names):
            return True
    return False


def _arguments(data: bytes, start: int) -> tuple[bytes, int]:
    """What stands in a bracket that opened in front of `start`, without strings and comments; and where it ends."""
    depth, code, behind = 1, list[bytes](), start
    for part in _PARTS.finditer(data, start):
        code.append(data[behind : part.start()])
        behind = part.end()
        if len(part[0]) == 1:
            depth += 1 if part[0] in b"([{" else -1
            if depth < 1:
                return b" ".join(code), behind
            code.append(part[0])
    return b" ".join(code), len(data)


def _is_made(name: bytes, data: bytes) -> bool:
    at = data.find(name)
    while at >= 0:
        if _MADE.match(data, at + len(name)) and data[at - 1 : at] not in _NO_BEGINNING:
            return True
        at = data.find(name, at + 1)
    return False


def dictionaries(
    tree: ast.Module, data: bytes, known: Records, handed: frozenset[tuple[str, str]] = frozenset()
) -> Iterator[Entries]:
    """The entries of each dictionary that is passed to a function that saves. Functions without the word `save` are skipped.
    `handed`: functions with a parameter that is an optimizer."""
    saying = [number for number, line in enumerate(data.splitlines(), 1) if b"save" in line]
    own = frozenset(f"self{name.decode()}" for name in _OWN_OBJECT.findall(data))
    functions: dict[Node, _Function] = {tree: _Function()}
    todo: list[tuple[Node, Node]] = [(tree, tree)]
    while todo:
        node, owner = todo.pop()
        if node.__class__ in FUNCTIONS[:2]:
            if not on_lines(node, saying):
                continue
            owner = node
            functions[owner] = _Function(frozenset(given for name, given in handed if name == owner.name), own)
        functions[owner].take(node)
        todo += [(child, owner) for child in reversed(children(node)) if child.__class__ not in _LEAVES]
    for function in functions.values():
        for value, is_torch in function.given:
            if entries := function.entries(value, is_torch, known):
                yield entries


def _saves(func: Node) -> bool:
    """Whether a function saves: `torch.save`, `utils.save_on_master`, but no function of numpy or scipy."""
    return "save" in call_name(func) and not _NAME_SAVES_ELSE.match(call_name(func)) and root(func) not in NUMPY


def root(func: Node) -> str:
    """The first word of a chain with dots; "" where there are none."""
    first = func
    while first.__class__ is ast.Attribute:
        first = first.value
    return getattr(first, "id", "") if first is not func else ""


def _is_empty(value: Node) -> bool:
    return value.__class__ is ast.Dict and not value.keys


def _entries(value: Node) -> dict[str, Node]:
    if value.__class__ is ast.Dict:
        return {key: v for k, v in zip(value.keys, value.values) if isinstance(key := constant(k), str)}
    if value.__class__ is ast.Call and call_name(value.func) == "dict" and not value.args:
        return {k.arg: k.value for k in value.keywords if k.arg}
    if value.__class__ is ast.DictComp:  # its keys are computed: nobody reads them by their words
        return {ast.unparse(value.key): value.value}
    return {}
