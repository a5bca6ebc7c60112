"""Says whether a Python file loads torch, or a library built on torch (rules/roads.toml).

It may import it, load it by a string, or start a launcher of torch.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from porter.project.imports import Import, imports
from porter.python.trees import parse
from porter.python.walks import statements
from porter.regex import lazy
from porter.rulebook.table import load

# a string that ends in a module of torch; text before it that loads it. Patterns that begin with plain letters are fast
_STRING = lazy(rb"torch[\w.]{0,80}[\"']")
# what stands before `torch` in `import_module("torch.nn")`
_LOADS = lazy(rb"(?i:import|module|lazy|loader|require)\w*\([^()\n]*[\"'][\w.]*$")
# commands that start a program with torch
_LAUNCHED = tuple(
    lazy(pattern)
    for pattern in (
        rb"torch(?:run\b|\.distributed\.(?:run|launch)\b)",
        rb"accelerate[\"', \t]{1,9}launch\b",
        rb"deepspeed[ \t]{1,9}[\w./-]",
    )
)
_HINTS = (b"torch", b"deepspeed", b"accelerate")  # a text without these loads torch only by an import of a library
# the names of modules in import statements
_AFTER_FROM, _AFTER_IMPORT = lazy(rb"from[ \t]+(\w+)"), lazy(rb"import[ \t]+([\w., \t]+)")
_WRAPPERS = frozenset({"array_api_compat", "array_api_extra"})  # they load torch only for users of tensors


@lru_cache(maxsize=1)
def torch_libraries() -> frozenset[str]:
    """The names of libraries that load torch, of rules/roads.toml."""
    return frozenset(load().roads)


def may_load(text: bytes) -> bool:
    """Whether `loads` may say yes. It takes a tenth of the time."""
    return any(word in text for word in _HINTS) or not torch_libraries().isdisjoint(_roots(text))


def loads(text: bytes, statements: Iterable[Import], own_modules: Collection[str] = ()) -> bool:
    """Whether a file loads torch or a library built on it. `own_modules`: modules of its project with such a name."""
    torch_imports = [statement for statement in statements if names_torch(statement, own_modules)]
    if any(not is_quoted(text, statement) for statement in torch_imports) or _by_string(text) or launches(text):
        return True
    return bool(torch_imports) and _really_imports(text, own_modules)


def names_torch(statement: Import, own_modules: Collection[str] = ()) -> bool:
    """Whether an import is of torch, or of a library built on it."""
    words = statement.module.split(".")
    if statement.module in own_modules or not _WRAPPERS.isdisjoint(words):
        return False
    if any(name == "torch" for name, _ in statement.names) or words[0] in torch_libraries():
        return True
    return any("torch" in word.lower() for word in words)


def _roots(text: bytes) -> Iterator[str]:
    """The first words of possible imports. It takes a tenth of the time of `imports`."""
    plain = (part.split(b".")[0] for many in set(_AFTER_IMPORT.findall(text)) for part in many.split(b","))
    return (root.split()[0].decode() for root in {*plain, *_AFTER_FROM.findall(text)} if root.strip())


def is_quoted(text: bytes, statement: Import) -> bool:
    """Whether an import may stand inside of a string in triple quotes."""
    return any(text.count(mark, 0, statement.offset) % 2 for mark in (b'"""', b"'''"))


def _by_string(text: bytes) -> bool:
    return any(_LOADS.search(_before(text, match.start())) for match in _STRING.finditer(text))


def launches(text: bytes) -> bool:
    """Whether a text starts a launcher of torch, outside of comments."""
    matches = (match for pattern in _LAUNCHED for match in pattern.finditer(text))
    return any(b"#" not in _before(text, match.start()) for match in matches)


def _before(text: bytes, offset: int) -> bytes:
    """The text before a place in its line, at most 200 bytes."""
    return text[max(text.rfind(b"\n", 0, offset) + 1, offset - 200) : offset]


def _really_imports(text: bytes, own_modules: Collection[str]) -> bool:
    """Whether the tree of a file has an import of torch. Asked if all that looks like an import may stand in a string."""
    tree = parse(text)
    for node in statements(tree) if tree else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(names_torch(statement, own_modules) for statement in imports(ast.unparse(node).encode())):
                return True
    return False
