"""`dist.get_backend() is dist.Backend.NCCL`: two texts of the same letters need not be one object."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.finding import Change
from porter.regex import lazy

_IS = lazy(rb"\bis(?:\s+not)?\b")


def by_value(file: RuleFile, link: Link | None) -> tuple[Change, ...]:
    """The edit that makes a comparison of a place by identity one by value. `link`: of the place, or where its chain begins."""
    while link is not None and link[1] is not None and isinstance(link[1][0], ast.Attribute):
        link = link[1]
    node = link[1][0] if link is not None and link[1] is not None else None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return ()
    end, start = file.source.span(node.left)[1], file.source.span(node.comparators[0])[0]
    found = [match.span() for match in _IS.finditer(file.source.utf8, end, start)]
    new = b"==" if isinstance(node.ops[0], ast.Is) else b"!="
    return (Change(*found[0], new),) if len(found) == 1 else ()
