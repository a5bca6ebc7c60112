"""Matches files with the modules that imports name."""

from __future__ import annotations

from porter.regex import lazy

# `import` and the names behind it: up to the closing bracket, or to the end of the line
IMPORTED = lazy(rb"import\b[ \t]*(?:\((?:#[^\n]*|[^)#])*|(?:\\\r?\n|[^\n])*)")


def module_of(path: str) -> str:
    """The module of a file, with slashes: a/b for a/b.py and for a/b/__init__.py."""
    return path.removesuffix(".py").removesuffix("/__init__")


def may_be(full: str, user: str, path: str, name: str, modules: frozenset[str] = frozenset()) -> bool:
    """Whether the full name `full`, which the file `user` imports, may be the `name` that the file `path` defines. A package
    around `path` may import it from there.

    `modules`: the modules and packages of the project. If an import may mean several of them, it means the nearest."""
    bare = full.lstrip(".")
    level, (*module, last_word) = len(full) - len(bare), bare.split(".")
    if last_word != name:
        return False
    words, folder = module_of(path).split("/"), user.split("/")[:-1]
    if level:
        folder = folder[: len(folder) - level + 1]
        return words[: len(folder) + len(module)] == [*folder, *module]
    size = len(module)
    for above in range(len(folder), -1, -1) if module else ():
        whole = [*folder[:above], *module]
        if "/".join(whole) in modules:
            return words[: len(whole)] == whole
    return bool(module) and any(words[n : n + size] == module for n in range(len(words) - size + 1))
