"""Whether a Python file loads torch, or a library built on it (rules/roads.toml): told by its imports, by names that it
imports by a string, and by launchers of torch that it starts."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from porter.project.imports import Import, imports
from porter.python.trees import parse
from porter.python.walks import walk
from porter.regex import lazy
from porter.rulebook.table import load

# each pattern begins with plain letters, which is what makes a search fast
_STRING = lazy(rb"torch[\w.]{0,80}[\"']")
_LOADS = lazy(rb"(?i:import|module|lazy|loader|require)\w*\([^()\n]*[\"'][\w.]*$")
_LAUNCHED = tuple(
    lazy(pattern)
    for pattern in (
        rb"torch(?:run\b|\.distributed\.(?:run|launch)\b)",
        rb"accelerate[\"', \t]{1,9}launch\b",
        rb"deepspeed[ \t]{1,9}[\w./-]",
    )
)
_HINTS = (b"torch", b"deepspeed", b"accelerate")
_AFTER_FROM, _AFTER_IMPORT = lazy(rb"from[ \t]+(\w+)"), lazy(rb"import[ \t]+([\w., \t]+)")
_WRAPPERS = frozenset({"array_api_compat", "array_api_extra"})  # vendored: they load torch for whoever brings a tensor


@lru_cache(maxsize=1)
def _libraries() -> frozenset[str]:
    return frozenset(load().roads)


def may_load(text: bytes) -> bool:
    """At a tenth of the price: where this says no, `loads` does."""
    return any(word in text for word in _HINTS) or not _libraries().isdisjoint(_roots(text))


def loads(text: bytes, statements: Iterable[Import], own_modules: Collection[str] = ()) -> bool:
    """Whether a file imports torch or a library built on it; `own_modules`: those of its project that have such a name."""
    torch_imports = [statement for statement in statements if names_torch(statement, own_modules)]
    if any(not is_quoted(text, statement) for statement in torch_imports) or _by_string(text) or launches(text):
        return True
    return bool(torch_imports) and _imports_it(text, own_modules)


def names_torch(statement: Import, own_modules: Collection[str] = ()) -> bool:
    words = statement.module.split(".")
    if statement.module in own_modules or not _WRAPPERS.isdisjoint(words):
        return False
    if any(name == "torch" for name, _ in statement.names) or words[0] in _libraries():
        return True
    return any("torch" in word.lower() for word in words)


def _roots(text: bytes) -> Iterator[str]:
    """The first words of what may be imported, at a tenth of the price of `imports`."""
    plain = (part.split(b".")[0] for many in set(_AFTER_IMPORT.findall(text)) for part in many.split(b","))
    return (root.split()[0].decode() for root in {*plain, *_AFTER_FROM.findall(text)} if root.strip())


def is_quoted(text: bytes, statement: Import) -> bool:
    """Whether it may stand in a text in three quotation marks."""
    return any(text.count(mark, 0, statement.offset) % 2 for mark in (b'"""', b"'''"))


def _by_string(text: bytes) -> bool:
    return any(_LOADS.search(_before(text, match.start())) for match in _STRING.finditer(text))


def launches(text: bytes) -> bool:
    matches = (match for pattern in _LAUNCHED for match in pattern.finditer(text))
    return any(b"#" not in _before(text, match.start()) for match in matches)


def _before(text: bytes, offset: int) -> bytes:
    """What stands before a place in its line, as far as it matters."""
    return text[max(text.rfind(b"\n", 0, offset) + 1, offset - 200) : offset]


def _imports_it(text: bytes, own_modules: Collection[str]) -> bool:
    """The same, where all that looks like an import may stand in a text."""
    tree = parse(text)
    for node in walk(tree) if tree else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(names_torch(statement, own_modules) for statement in imports(ast.unparse(node).encode())):
                return True
    return False
