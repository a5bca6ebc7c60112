"""Classes that name the sources of an extension, and load it: `AdamBuilder().load().adam(...)`.

What `load()` answers is the extension, under the name of the class. A subclass loads the extension of its base, and a class with a
list of builders one of theirs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from porter.native.extensions import SOURCE, Extension
from porter.python.walks import walk
from porter.regex import lazy

BUILDER = "class"
LOAD = "load"
_METHODS = frozenset({"sources", "source_files", "sources_files"})
_NPU = lazy(r"(?i)(?:^|[/_])(?:npu|ascend)(?:[/_.]|$)")  # of a path
_NPUS = lazy(r"N[pP][uU]|Ascend")  # of a class
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


def named(path: str, tree: ast.Module) -> Iterator[Extension]:
    """The classes of a file that name sources themselves."""
    for node in _classes(tree.body):
        for item in node.body:
            if isinstance(item, _DEFS) and item.name in _METHODS:
                words = (n.value for n in walk(item) if isinstance(n, ast.Constant) and isinstance(n.value, str))
                if sources := tuple(dict.fromkeys(filter(SOURCE.search, words))):
                    yield Extension(node.name, path, sources, builder=BUILDER)


def with_heirs(
    built: Sequence[Extension], texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None]
) -> list[Extension]:
    """All extensions, without builders whose name a class in a file for NPUs has as well, and with those that subclasses of
    builders load, and classes that list builders."""
    builders_by_name: dict[str, list[Extension]] = {}
    for extension in built:
        if extension.builder == BUILDER:
            builders_by_name.setdefault(extension.name, []).append(extension)
    if not builders_by_name:
        return list(built)
    names = _concerns(builders_by_name)
    named_extensions, twins = [], set()
    for path in sorted(texts):
        tree = parse(texts[path]) if b"class " in texts[path] and names.search(texts[path]) else None
        for node in _classes(tree.body) if tree is not None else ():
            if _NPU.search(path):
                twins.add(node.name)
            elif node.name not in builders_by_name:
                named_extensions += [
                    (name, e._replace(name=node.name)) for name in _others(node) for e in builders_by_name.get(name, ())
                ]
    named_extensions = [*((e.name, e) for e in built), *named_extensions]
    return [e for name, e in named_extensions if e.builder != BUILDER or not {name, e.name} & twins]


def _concerns(builder_names: Iterable[str]) -> re.Pattern[bytes]:
    """A class of one of these names, with one among its bases, or with a list of them."""
    word = rb"\b(?:%s)\b" % b"|".join(name.encode() for name in sorted(builder_names))
    return re.compile(
        rb"^[ \t]*class[ \t]+(?:%s|\w+\([^)]*%s)|^[ \t]+\w[^=\n]*=[ \t]*[\[(][^\])]*%s" % (word, word, word),
        re.MULTILINE,
    )


def _classes(body: Iterable[ast.stmt]) -> Iterator[ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _classes([*node.body, *node.orelse])


def _others(node: ast.ClassDef) -> list[str]:
    """The bases of a class and what it lists, where none of that is for NPUs."""
    names = list(map(_last, node.bases))
    for item in node.body:
        if isinstance(item, ast.Assign) and isinstance(item.value, (ast.List, ast.Tuple)):
            names += map(_last, item.value.elts)
    return [] if any(map(_NPUS.search, names)) else names


def loaded(node: ast.AST, builders: Mapping[str, object]) -> str:
    """The builder of `pkg.AdamBuilder().load()`; "" for anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr == LOAD and isinstance(func.value, ast.Call):
        name = _last(func.value.func)
        return name if name in builders else ""
    return ""


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
