"""How a file uses what it imports: plain data for rules whose edits are right only together."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from porter.python import blocks
from porter.python.evidence import constant
from porter.python.index import Link, Node
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

# what the objects of a package are asked for in files that never name it
_OBJECTS = {b"dgl": lazy(rb"\.(?:[ne]data|update_all|apply_(?:nodes|edges)|send_and_recv|local_(?:scope|var))\b")}


class Use(NamedTuple):
    called: bool
    positionals: int
    keywords: tuple[tuple[str, object], ...]  # name and value; None where the value is no literal
    starred: bool


def uses(file: RuleFile, full: str) -> list[Use]:
    """Every mention of a resolved name, imports aside."""
    return [_use(link[0], link[1][0]) for link in file.meaning.mentions.of(frozenset({full}))]


def _use(node: Node, above: Node) -> Use:
    if above.__class__ is not ast.Call or above.func is not node:
        return Use(False, 0, (), False)
    keywords = tuple((k.arg, constant(k.value)) for k in above.keywords if k.arg)
    starred = len(keywords) < len(above.keywords) or any(a.__class__ is ast.Starred for a in above.args)
    return Use(True, len(above.args), keywords, starred)


@blocks.once_for_file
def imports_of(file: RuleFile, package: str, apart: tuple[str, ...] = ()) -> list[Link]:
    """The import statements of a package or of a dotted part of one, in the order of the file; `apart`: parts of it that
    are left out, written with a dot at the end, as all names are compared here."""
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
    """Whether no word of the file is any of the names that come from a package. `import x` may be there for what it does, unlike
    `import x as y`, and `# noqa` says that it is."""
    if file.path.endswith("__init__.py"):
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
    """Whether a text says the name of a package once, in an `import` that has a line for itself and no margin."""
    line = re.search(rb"^import %s[ \t]*\r?$" % package, text, re.MULTILINE)
    if line is None or len(re.findall(rb"\b%s\b" % package, text)) != 1:
        return False
    return package not in _OBJECTS or not _OBJECTS[package].search(text)


def _noqa(file: RuleFile, node: ast.Import | ast.ImportFrom) -> bool:
    """In a comment of the statement, or behind it."""
    start, end = file.source.span(node)
    line_end = file.source.utf8.find(b"\n", end)
    return b"noqa" in file.source.utf8[start : line_end if line_end >= 0 else None]


def packages_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The top-level packages that a statement imports from; none for a relative one."""
    if isinstance(node, ast.ImportFrom):
        return [] if node.level or not node.module else [node.module.partition(".")[0]]
    return [a.name.partition(".")[0] for a in node.names]
