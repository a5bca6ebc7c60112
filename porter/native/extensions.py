"""The C++ and CUDA extensions that a project builds: their names, and the sources that go into each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

from porter.python.ladders import choices
from porter.python.walks import walk
from porter.regex import lazy

FFI = "create_extension"  # of torch.utils.ffi, which torch 1.0 took out: all functions of its C files are handed to Python
SOURCE = lazy(r"\.(?:cu|cuh|cpp|cc|cxx|c\+\+|hip)$")
_C = lazy(r"\.c$")
SUFFIX = lazy(r"\W*\.\w+$")  # an ending, or a pattern that any file fits
_SIGNS = (b"Extension", b"cpp_extension", FFI.encode(), b'.cu"', b".cu'", b'.cpp"', b".cpp'", b'.cc"', b".cc'")
_BUILDERS = lazy(r"(?i)\w*extension$|load$|load_inline$")
_PLAIN, CUDA = "CppExtension", "CUDAExtension"
EITHER = f"{_PLAIN} or {CUDA}"  # of a name that stands for the one or the other
_NAMES = ("name", "module_name")
_STEPS = 3
Parts = tuple[list[str], list[str]]


class Extension(NamedTuple):
    name: str  # "pkg._C"; * for what is computed of it
    path: str  # of the Python file that names it
    sources: tuple[str, ...]  # paths and patterns as they are written
    inline: tuple[str, ...] = ()  # `load_inline`: the sources themselves
    functions: tuple[str, ...] = ()  # and what they export
    builder: str = ""  # the last word of what is called
    bound: str = ""  # the name that it is bound to at once: `gpu = load("lib_gpu", ...)`

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def module(self) -> str:
        """What stands last in the import."""
        return self.name.rpartition(".")[2]

    def files(self, paths: Iterable[str]) -> frozenset[str]:
        """Of these, the ones that are its sources, as far as they are written down."""
        sources: set[str] = set()
        package = "/".join(self.name.split(".")[:-1])
        for source in self.sources:
            fitting = [path for path in paths if _fits(source, path)]
            for folder in (f"{self.folder}/{package}".strip("/"), package, self.folder):
                if near := [path for path in fitting if folder and f"/{path}".find(f"/{folder}/") >= 0]:
                    fitting = near
                    break
            sources.update(fitting)
        return frozenset(sources)


def _fits(source: str, path: str) -> bool:
    parts = [part for part in source.replace("\\", "/").split("/") if part not in (".", "..", "**", "")]
    wanted = path.split("/")[-len(parts) :]
    return len(wanted) == len(parts) and all(map(fnmatchcase, wanted, parts))


def mentioned(data: bytes) -> bool:
    """Whether a Python file may build one: most do not."""
    return any(sign in data for sign in _SIGNS)


def in_file(path: str, tree: ast.Module) -> Iterator[Extension]:
    """Of one Python file, whatever the function is called that builds them."""
    nodes = list(walk(tree))
    values, lists, bound = _assigned(nodes), _lists_before(nodes), _bound(nodes)
    known_parts: dict[str, Parts] = {}
    for node in nodes:
        if not isinstance(node, ast.Call) or (word := _called(node)) == "setup":  # what it is handed speaks for itself
            continue
        named = next((k.value for k in node.keywords if k.arg in _NAMES), node.args[0] if node.args else None)
        name = text_of(named, values)
        if not name.rpartition(".")[2].strip("*_") or re.search(r"[/\s]", name) or SOURCE.search(name):
            continue
        given = {k.arg: k.value for k in node.keywords if k.arg}
        either = _is_either(word, values)
        if parent := text_of(given.get("module"), values):
            name = f"{parent}.{name}"
        handed = [_just_made(argument, node, lists) for argument in (*node.args, *given.values())]
        strings = list(dict.fromkeys(_strings(handed, values, known_parts)))
        texts = [text for text in strings if SOURCE.search(text) or word == FFI and _C.search(text)]
        sources = tuple(text for text in texts if "\n" not in text and not SUFFIX.match(text))
        inline = tuple(text for text in strings if "__global__" in text and "\n" in text)
        if sources or either or _BUILDERS.match(word) and (word != "load" or "sources" in given or len(node.args) > 1):
            functions = tuple(_strings([given["functions"]], values, known_parts)) if "functions" in given else ()
            yield Extension(name, path, sources, inline, functions, EITHER if either else word, bound.get(node, ""))


def _bound(nodes: Iterable[ast.AST]) -> dict[ast.expr, str]:
    """The name that the answer of a call is given, by the call."""
    given = ((node.value, node.targets) for node in nodes if isinstance(node, ast.Assign))
    return {call: targets[0].id for call, targets in given if len(targets) == 1 and isinstance(targets[0], ast.Name)}


def _lists_before(nodes: Iterable[ast.AST]) -> dict[ast.expr, tuple[str, ast.expr]]:
    """`sources = [...]`, and a call in the very next statement: by the call, the name and the list."""
    found: dict[ast.expr, tuple[str, ast.expr]] = {}
    for node in nodes:
        body = getattr(node, "body", None)
        for one, after in pairwise(body) if isinstance(body, list) else ():
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.List) and isinstance(one.targets[0], ast.Name):
                if isinstance(after, (ast.Assign, ast.Expr, ast.Return)) and isinstance(after.value, ast.Call):
                    found[after.value] = one.targets[0].id, one.value
    return found


def _just_made(argument: ast.expr, call: ast.Call, lists: dict[ast.expr, tuple[str, ast.expr]]) -> ast.expr:
    """The list that a name was set to just before: the same name may hold others elsewhere."""
    name, made = lists.get(call, ("", argument))
    return made if isinstance(argument, ast.Name) and argument.id == name else argument


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_either(word: str, values: dict[str, list[ast.expr]]) -> bool:
    """`extension = CppExtension`, and `extension = CUDAExtension` where there is CUDA; or both in one choice."""
    given = [value for several in values.get(word, ()) for _, value in choices(several)]
    return {getattr(value, "attr", "") or getattr(value, "id", "") for value in given} == {_PLAIN, CUDA}


def _assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """What is assigned, appended or added to each name, anywhere in the file."""
    values: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
        ):
            if isinstance(node.func.value, ast.Name):
                values.setdefault(node.func.value.id, []).extend(node.args)
    return values


def text_of(node: ast.expr | None, values: dict[str, list[ast.expr]]) -> str:
    """A string, with * for each part of it that is computed; "" for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values]
        return "".join(parts) if any(part.strip("*.") for part in parts) else ""
    given = values.get(node.id, ()) if isinstance(node, ast.Name) else ()
    return next(filter(None, (text_of(value, {}) for value in given)), "")


def _strings(
    nodes: Iterable[ast.AST], values: dict[str, list[ast.expr]], known_parts: dict[str, Parts]
) -> Iterator[str]:
    """The strings in some expressions, and in what their names stand for, some steps far."""
    strings, names = _parts(nodes)
    visited: set[str] = set()
    for _ in range(_STEPS):
        yield from strings
        strings, following = [], []
        for name in dict.fromkeys(names):
            if name not in visited and name in values:
                visited.add(name)
                if name not in known_parts:
                    known_parts[name] = _parts(values[name])
                strings += known_parts[name][0]
                following += known_parts[name][1]
        names = following
    yield from strings


def _parts(nodes: Iterable[ast.AST]) -> Parts:
    """The strings and the names in some expressions."""
    strings, names = [], []
    for node in nodes:
        for inner in walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                strings.append(inner.value)
            elif isinstance(inner, ast.Name):
                names.append(inner.id)
    return list(dict.fromkeys(strings)), list(dict.fromkeys(names))
