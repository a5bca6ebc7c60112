"""Whether a file that writes attention out has the other form for the same thing: as a choice, or elsewhere and by chance."""

from __future__ import annotations

import ast
from collections import defaultdict

from porter.engine.rule_file import Link, RuleFile
from porter.python.blocks import once_for_file, within
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.regex import lazy

_WORD = b"scaled_dot_product_attention"
_WEIGHTS = lazy(r"^(?:output|return|need|get)_(?:attn|attentions?|attn_weights|attention_weights|weights)$")
_CHOICES = (b"ALL_ATTENTION_FUNCTIONS", b"_supports_sdpa = True", b'"sdpa"', b"'sdpa'")


def chooses(file: RuleFile, link: Link | None) -> bool:
    """Whether what stands at `link` is kept for where the other form does not exist."""
    if any(map(file.source.says, _CHOICES)):
        return True
    if not file.source.says(_WORD):
        return False
    owner = file.scene.owner(link) if link is not None else None
    return owner is None or _has_another(file, owner)


def only_for_weights(link: Link | None) -> bool:
    """Whether what stands at `link` runs only where the caller asks for the weights, which a fused form does not give."""
    child = link and link[0]
    for above in ancestors(link):
        node = above[0]
        if isinstance(node, FUNCTIONS):
            return False
        if node.__class__ is ast.If and child is not node.test:
            test, asked = node.test, within(node, child, "body")
            if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
                test, asked = test.operand, not asked
            if asked and _WEIGHTS.search(getattr(test, "id", "") or getattr(test, "attr", "")):
                return True
        child = node
    return False


@once_for_file
def _has_another(file: RuleFile, owner: ast.ClassDef) -> bool:
    """Whether the class calls the other form itself, or one that does stands in for it: by what it inherits, or as what
    the same code names beside it."""
    others, outside = _callers(file)
    if outside:
        return True
    named = _namers(file)
    kin = {owner.name, *map(call_name, owner.bases)} - {"Module"}
    for other in others:
        if not kin.isdisjoint({other.name, *map(call_name, other.bases)} - {"Module"}):
            return True
        if not named[owner.name].isdisjoint(named[other.name]):
            return True
    return False


@once_for_file
def _callers(file: RuleFile) -> tuple[list[ast.ClassDef], bool]:
    """The classes that call the other form, and whether anything else does."""
    classes, outside = [], False
    for statement in file.tree.body:
        if isinstance(statement, ast.ClassDef):
            if file.source.says(_WORD, statement):
                classes.append(statement)
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
            outside |= file.source.says(_WORD, statement)
    return classes, outside


@once_for_file
def _namers(file: RuleFile) -> dict[str, set[int]]:
    """Which statements of the module mention a name."""
    named: dict[str, set[int]] = defaultdict(set)
    for index, statement in enumerate(file.tree.body):
        for node in walk(statement):
            if isinstance(node, ast.Name):
                named[node.id].add(index)
    return named
