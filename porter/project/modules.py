"""Files as modules, and which of them an import can mean."""

from __future__ import annotations

from porter.regex import lazy

# what follows `import`, as far as it may name something: a bracket to its end, or the line
IMPORTED = lazy(rb"import\b[ \t]*(?:\((?:#[^\n]*|[^)#])*|(?:\\\r?\n|[^\n])*)")


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")


def may_be(full: str, user: str, path: str, name: str, modules: frozenset[str] = frozenset()) -> bool:
    """Whether `full`, as a file calls what it imports, is what `path` defines by this name, or a package hands on from it.

    `modules`: the modules and packages of the project; of several that an import can mean, the nearest is meant."""
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
