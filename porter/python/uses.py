"""Says how a file uses what it imports."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from porter.python import blocks
from porter.python.evidence import constant
from porter.python.index import Link, Node
from porter.regex import lazy
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

# attributes of objects of a package: a file with one uses the package even if it never names it
_OBJECTS = {b"dgl": lazy(rb"\.(?:[ne]data|update_all|apply_(?:nodes|edges)|send_and_recv|local_(?:scope|var))\b")}

_FOR_ITSELF = hints("imported-for-itself")


class Use(NamedTuple):
    """One mention of a name, as plain data."""

    called: bool
    positionals: int  # how many positional arguments the call has
    keywords: tuple[tuple[str, object], ...]  # name and value; None where the value is no literal
    starred: bool  # the call has `*args` or `**kwargs`


def uses(file: RuleFile, full: str) -> list[Use]:
    """Every mention of a full name, except imports."""
    return [_use(link[0], link[1][0]) for link in file.meaning.mentions.of(frozenset({full}))]


def _use(node: Node, above: Node) -> Use:
    if above.__class__ is not ast.Call or above.func is not node:
        return Use(False, 0, (), False)
    keywords = tuple((k.arg, constant(k.value)) for k in above.keywords if k.arg)
    starred = len(keywords) < len(above.keywords) or any(a.__class__ is ast.Starred for a in above.args)
    return Use(True, len(above.args), keywords, starred)


@blocks.once_for_file
def imports_of(file: RuleFile, package: str, apart: tuple[str, ...] = ()) -> list[Link]:
    """The import statements of a package, or of a dotted part of one, in the order of the file. `apart`: parts that do not
    count, each with a dot at its end."""
    links = []
    for kind in (ast.Import, ast.ImportFrom):
        for link in file.buckets[kind]:
            node = link[0]
            base = "" if kind is ast.Import else f"{node.module}." if node.module and not node.level else "."
            names = (f"{base}{a.name}." for a in node.names)
            if any(name.startswith(f"{package}.") and not name.startswith(apart) for name in names):
                links.append(link)
    return sorted(links, key=lambda link: (link[0].lineno, link[0].col_offset))


def in_vain(file: RuleFile, package: str, apart: tuple[str, ...]) -> bool:
    """Whether a file uses none of the names that it imports from a package. False where an import may be there for its effects:
    `import x` without `as`, one with `# noqa`, one in an `if`, a `try` or a `with`, and all in an `__init__.py` or in a file whose names
    another one imports all."""
    stem = file.path.rpartition("/")[2].removesuffix(".py")
    if stem == "__init__" or stem in file.facts.roads.starred:
        return False
    return all(_imported_in_vain(file, link) for link in imports_of(file, package, apart))


def _imported_in_vain(file: RuleFile, link: Link) -> bool:
    node, above = link[0], link[1][0]
    if isinstance(node, ast.Import) and not all(a.asname for a in node.names):
        return False
    if isinstance(above, (ast.If, ast.Try, ast.With)) or _noqa(file, node):
        return False
    names = [(a.asname or a.name).encode() for a in node.names]
    return b"*" not in names and all(len(re.findall(rb"\b%s\b" % name, file.source.utf8)) == 1 for name in names)


def is_idle(text: bytes, package: bytes) -> bool:
    """Whether a text names a package only once, in an `import` that is alone in its line and not indented."""
    if package.decode() in _FOR_ITSELF:
        return False
    line = re.search(rb"^import %s[ \t]*\r?$" % package, text, re.MULTILINE)
    if line is None or len(re.findall(rb"\b%s\b" % package, text)) != 1:
        return False
    return package not in _OBJECTS or not _OBJECTS[package].search(text)


def _noqa(file: RuleFile, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether `noqa` stands in the statement or behind it."""
    start, end = file.source.span(node)
    line_end = file.source.utf8.find(b"\n", end)
    return b"noqa" in file.source.utf8[start : line_end if line_end >= 0 else None]


def packages_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The top-level packages that a statement imports from; [] for a relative import."""
    if isinstance(node, ast.ImportFrom):
        return [] if node.level or not node.module else [node.module.partition(".")[0]]
    return [a.name.partition(".")[0] for a in node.names]
