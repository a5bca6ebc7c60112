"""Holds an edit back that would take a comment with it: what it says is for a person to keep."""

from __future__ import annotations

from collections import Counter

import libcst as cst

from porter.engine.rule import Hit


class _Comments(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found[node.value] += 1


def loses_comment(hit: Hit, updated: cst.CSTNode) -> bool:
    """Whether the new node of a hit, and the lines that go with it, lack a comment of the node whose place it takes."""
    held, new = _Comments(), _Comments()
    updated.visit(held)
    if not held.found or hit.new is None:
        return False
    hit.new.visit(new)
    lines = "\n".join((*map(str, hit.after), *(change.new.decode() for change in hit.more)))
    return any(count > new.found[comment] + lines.count(comment) for comment, count in held.found.items())
