"""Finds functions of a project that are given `torch.cuda.current_device()`, and says which of their parameters are devices; and
those that are given "cuda" or "nccl" by position: `start("nccl")`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from porter.project.given_methods import Method, given_methods, sounds_so
from porter.project.imports import lines_of_cells
from porter.python.evidence import call_name
from porter.python.handed_index import is_device_name
from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import Parse
from porter.python.walks import walk
from porter.regex import lazy

_ASKED = b"cuda.current_device()"
_INDEX = lazy(rb"cuda\.current_device\(\)")
_HELD = lazy(rb"[ \t]*(?:self\.)?(\w+)[ \t]*(?::[^=]*)?=")  # the line in front of it
_CALLED = lazy(rb"(?:\w+\.)*\b([A-Za-z_]\w*)\Z")
_LONGEST_NAME, _LONGEST_CALL = 80, 2_000  # bytes
_DEFINED = lazy(rb"^(?:async )?(?:def|class) (\w+)", re.M)  # in the first column
_TORCHS = frozenset({"to", "cuda", "device"})
_WORD = lazy(rb"[\"'](?:cuda(?::\d+)?|nccl)[\"'][ \t\n]*[,)]")
_RENAMED = lazy(rb"\b(\w+)[ \t]+as[ \t]+(\w+)")  # `from run import start as begin`
_BEFORE = b"(,"  # a sign in front of what is given by position
Row = tuple[str, str, str, int]
Takes = Callable[[ast.arg, Node], bool]


def given_indexes(texts: Mapping[str, bytes], parse: Parse, kept: Remember = anew) -> tuple[Row, ...]:
    """(path, function or class, parameter, position), -1 where it is given by name alone. A function without such a parameter
    has one row, with ""."""
    wanted = {name for data in texts.values() if _ASKED in data for name in _given(data)} - _TORCHS
    return _defined(texts, wanted, "taken indexes", _takes_device, parse, kept)


def given_words(
    texts: Mapping[str, bytes],
    files: Iterable[str],
    read: Callable[[str], bytes | None],
    parse: Parse,
    kept: Remember = anew,
) -> tuple[tuple[Row, ...], tuple[Method, ...]]:
    """The same for functions that are given "cuda" or "nccl" by position, also in notebooks, with their parameters that are called a
    device or a backend; and (method, parameter, position) of methods, where all classes of the project that have one of this name
    call the parameter so."""
    notebooks = (data for path in files if path.endswith(".ipynb") and (data := read(path)) and _names(data))
    naming = (*filter(_names, texts.values()), *map(lines_of_cells, notebooks))
    wanted = {name for data in naming for name in _given_words(data)} - _TORCHS
    return _defined(texts, wanted, "taken words", _is_called_so, parse, kept), given_methods(texts, wanted, parse, kept)


def _defined(
    texts: Mapping[str, bytes], wanted: set[str], question: str, takes: Takes, parse: Parse, kept: Remember
) -> tuple[Row, ...]:
    found: set[Row] = set()
    for path, data in texts.items() if wanted else ():
        if here := wanted & {name.decode() for name in _DEFINED.findall(data)}:
            rows = partial(_taking, data, here, takes, parse)
            found.update((path, *row) for row in rows_of(data, question, sorted(here), rows, kept))
    return tuple(sorted(found))


def _names(data: bytes) -> bool:
    return b"cuda" in data or b"nccl" in data


def _given_words(data: bytes) -> set[str]:
    places = (match.start() for match in _WORD.finditer(data))
    given = (place for place in places if data[max(0, place - _LONGEST_CALL) : place].rstrip()[-1:] in _BEFORE)
    names = {name for place in given for name in _called(data, place)}
    renamed = _RENAMED.findall(data) if names and b" as " in data else ()
    return names | {name.decode() for name, known_as in renamed if known_as.decode() in names}


def _given(data: bytes) -> Iterator[str]:
    """The names of what is called with the index, or with a name that holds it. No tree is made for them: a name too many does
    no harm."""
    places = [match.start() for match in _INDEX.finditer(data)]
    lines = {data[data.rfind(b"\n", 0, place) + 1 : place] for place in places}
    for name in {held[1] for line in lines if (held := _HELD.match(line))}:
        places += (m.start() for m in re.finditer(rb"%s\s*[,)]" % name, data) if data[m.start() - 1] in b"(,= \t\n")
    for place in places:
        yield from _called(data, place)


def _called(data: bytes, place: int) -> Iterator[str]:
    """The name in front of the bracket that a place stands in."""
    start = _opening(data, place)
    called = _CALLED.search(data, max(0, start - _LONGEST_NAME), start)
    if called is not None and not called[0].startswith(b"torch."):
        yield called[1].decode()


def _opening(data: bytes, place: int) -> int:
    """Where the bracket opens that a place stands in; 0 where it is far."""
    depth = 0
    for index in range(place - 1, max(0, place - _LONGEST_CALL), -1):
        sign = data[index]
        depth += (sign in b")]}") - (sign in b"([{")
        if depth < 0:
            return index
    return 0


def _taking(data: bytes, names: set[str], takes: Takes, parse: Parse) -> tuple[tuple[str, str, int], ...]:
    tree = parse(data)
    return tuple(_rows(tree, names, takes)) if tree is not None else ()


def _rows(tree: ast.Module, names: set[str], takes: Takes) -> Iterator[tuple[str, str, int]]:
    for node in tree.body:
        if not isinstance(node, (*FUNCTIONS[:2], ast.ClassDef)) or node.name not in names:
            continue
        function: Node = node
        first = 0
        if isinstance(node, ast.ClassDef):
            inits = [n for n in node.body if isinstance(n, FUNCTIONS[:2]) and n.name == "__init__"]
            function, first = (inits[0], 1) if inits else (node, 0)
        if function.__class__ is ast.ClassDef:
            continue
        a = function.args
        placed = [(p, i - first) for i, p in enumerate((*a.posonlyargs, *a.args))][first:]
        rows = [(p, i) for p, i in (*placed, *((p, -1) for p in a.kwonlyargs)) if takes(p, function)]
        yield from ((node.name, p.arg, i) for p, i in rows)
        if not rows:
            yield node.name, "", -1


def _is_called_so(parameter: ast.arg, function: Node) -> bool:
    return sounds_so(parameter.arg)


def _takes_device(parameter: ast.arg, function: Node) -> bool:
    """Whether a parameter is called so, is annotated so, or goes where a device goes."""
    if is_device_name(parameter.arg):
        return True
    if parameter.annotation is not None and ast.unparse(parameter.annotation).endswith("device"):
        return True
    return any(_moves_to(node, parameter.arg) for node in walk(function))


def _moves_to(node: Node, name: str) -> bool:
    if node.__class__ is ast.keyword:
        return node.arg == "device" and getattr(node.value, "id", "") == name
    if node.__class__ is not ast.Call or call_name(node.func) != "to" or not node.args:
        return False
    return getattr(node.args[0], "id", "") == name
