"""`self.device` in a class whose base comes from a package without NPUs: what the base does with it decides."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.index import ancestors, walk
from porter.rulebook.table import package_row

_WITHOUT = frozenset({"none", "replace"})  # statuses of packages


def package_below(link: Link, file: RuleFile) -> str | None:
    """The package of the base, of a literal that `self.device` is compared with."""
    above: Node = link[1] and link[1][0]
    if not isinstance(above, ast.Compare) or not ast.unparse(above.left).startswith("self.device"):
        return None
    owner = next((up for up in ancestors(link) if isinstance(up[0], ast.ClassDef)), None)
    if owner is None or any(_sets_device(node) for node in walk(owner[0])):
        return None
    for base in owner[0].bases:
        known = package_row(file.names.resolve(base, owner) or "", file.rules.tables.packages)
        if known is not None:
            return known[0] if known[1].status in _WITHOUT else None
    return None


def _sets_device(node: Node) -> bool:
    return node.__class__ is ast.Attribute and node.attr == "device" and node.ctx.__class__ is ast.Store
