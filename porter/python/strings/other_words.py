"""Whether a name is also compared with words that are no devices, or no backends: then "cuda" or "nccl" is a word of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.python.evidence import constant, has_other_words
from porter.python.index import Link, Node, parents
from porter.python.names import Names
from porter.rulebook.table import hints

_BACKENDS = hints("backend-of-torch")


def has_others(names: Names, node: Node, link: Link, kind: str) -> bool:
    """`impl in ("ref", "cuda")` of a name or an attribute that is compared with "cuda" elsewhere."""
    members, root = _chain(node)
    if root.__class__ is not ast.Name:
        return False
    owner = _class_of(root, link) if members else None
    uses = names.spelled(root.id) if owner else names.readers(root.id, link)
    is_other = has_other_words if kind == "device" else _is_no_backend
    return names.once(
        ("other words", kind, members, owner), uses, lambda: any(map(is_other, _beside(uses, members, owner)))
    )


def other_cases(match: Node) -> bool:
    """Whether a `match` has cases for words that are no backends: `case "ipc"` beside `case "nccl"`."""
    patterns = (node for case in match.cases for node in ast.walk(case.pattern) if isinstance(node, ast.MatchValue))
    return any(_is_no_backend(pattern.value) for pattern in patterns)


def is_its_own_word(names: Names, link: Link, kind: str) -> bool:
    """Whether a string that looks like a backend or a device is held against what holds other words as well."""
    above, up = link[1][0], link[1]
    if above.__class__ is ast.Compare:
        sides = [side for side in (above.left, *above.comparators) if side.__class__ in (ast.Name, ast.Attribute)]
        return any(has_others(names, side, up, kind) for side in sides)
    if kind == "device":
        return False
    match = next((node for node in parents(link) if node.__class__ is ast.Match), None)
    return match is not None and above.__class__ is ast.MatchValue and other_cases(match)


def _chain(node: Node) -> tuple[tuple[str, ...], Node]:
    """The attributes of a chain, the first one first, and what it begins with."""
    members: list[str] = []
    while node.__class__ is ast.Attribute:
        members.append(node.attr)
        node = node.value
    return (*reversed(members),), node


def _class_of(root: Node, link: Link) -> ast.ClassDef | None:
    """The class around, for `self.x`; None for other objects."""
    if root.id != "self":
        return None
    return next((above for above in parents(link) if above.__class__ is ast.ClassDef), None)


def _beside(uses: list[Link], members: tuple[str, ...], owner: ast.ClassDef | None) -> Iterator[ast.expr]:
    """The sides of all comparisons with a name, or with what these attributes lead to from it."""
    for use in uses:
        if owner and _class_of(use[0], use) is not owner:
            continue
        whole = use
        for member in members:
            if whole[1] is None or getattr(whole[1][0], "attr", "") != member:
                break
            whole = whole[1]
        else:
            comparison = whole[1] and whole[1][0]
            if comparison.__class__ is ast.Compare:
                yield from (comparison.left, *comparison.comparators)


def _is_no_backend(side: ast.expr) -> bool:
    """Whether a side is a string that no process group is made with, or a list with such a string."""
    texts = (constant(one) for one in getattr(side, "elts", (side,)))
    return any(isinstance(text, str) and text and text.lower() not in _BACKENDS for text in texts)
