"""Writes `case "cuda":` as `case _ if device == accelerator_type:`, where a name stands for the device: in a pattern, it would take
any value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.finding import Change
from porter.python.index import Link, Node

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.python.file import File


def guarded(link: Link, name: str | None, file: File | RuleFile) -> tuple[Change, ...]:
    """The edits; none where the pattern holds more than texts, or has a guard, or the subject is no chain of names, which may be asked again."""
    if link[0].value != "cuda":
        return ()
    texts: Link = link[1]  # MatchValue
    either = texts[1] if texts[1][0].__class__.__name__ == "MatchOr" else texts
    case: Link = either[1]
    node: Node = case[0]
    if name is None or node.__class__.__name__ != "match_case" or node.pattern is not either[0] or node.guard:
        return ()
    subject: Node = case[1][0].subject
    if not _is_chain(subject) or not all(map(_is_text, getattr(either[0], "patterns", [either[0]]))):
        return ()
    asked = f"{ast.unparse(subject)} {_compared(either[0], link[0], name, file)}"
    start, end = file.source.span(either[0])
    is_bare = file.source.utf8[:start].rstrip().endswith(b"case")
    return (Change(start, end, f"_ if {asked}".encode()),) if is_bare else ()


def _compared(pattern: Node, text: Node, name: str, file: File | RuleFile) -> str:
    if pattern.__class__.__name__ == "MatchValue":
        return f"== {name}"
    spans = ((part, file.source.span(part.value)) for part in pattern.patterns)
    words = (name if part.value is text else file.source.utf8[slice(*span)].decode() for part, span in spans)
    return f"in ({', '.join(words)})"


def _is_chain(node: Node) -> bool:
    while node.__class__ is ast.Attribute:
        node = node.value
    return node.__class__ is ast.Name


def _is_text(pattern: Node) -> bool:
    return pattern.__class__.__name__ == "MatchValue" and pattern.value.__class__ is ast.Constant
