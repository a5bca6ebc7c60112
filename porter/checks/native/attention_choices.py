"""One of several attentions that a program chooses among: if another is torch's own, nothing has to be written.

Findings about flash_attn, xformers and their options ask: behind such a choice they are notes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import BODIES, once, once_for_file, place
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.regex import lazy

XFORMERS_SWITCH = "enable_xformers_memory_efficient_attention"  # of diffusers

# what is compared or asked where the way is chosen: `mode == "xformers"`, `self.use_flash`, `attn_impl`
_BACKEND = lazy(
    r"(?i)flash|xformers|sdpa|sage_?attn|mem\w*_?eff|backend|attn\w*_(?:impl|mode|type)|attention_(?:impl|mode|type)"
)
_PLAIN = frozenset({"torch", "pytorch", "math", "eager", "native", "vanilla"})  # `mode == "torch"`
_PRODUCTS = frozenset({"matmul", "bmm", "baddbmm", "einsum"})
_OWN = b"scaled_dot_product_attention"
_DEEPEST = 2  # callers of callers


def other_works(link: Link | None, file: RuleFile, depth: int = 0) -> bool:
    """Whether a place is reached only where a switch over kinds of attention chose it, and another choice is torch's own."""
    child = link[0] if link else None
    for up in ancestors(link):
        above = up[0]
        others = _others(above, child)
        if others and any(_works(other, file) for other in others):
            return True
        if above.__class__ in FUNCTIONS[:2]:
            return depth < _DEEPEST and _chosen_by_callers(up, file, depth)
        child = above
    return False


def stands_beside(names: Iterable[str], file: RuleFile) -> bool:
    """Whether each function and class of the file that says one of the names calls torch's own attention, too."""
    taken = (alias for link in file.buckets[ast.ImportFrom] for alias in link[0].names)
    own = {_OWN, *(alias.asname.encode() for alias in taken if alias.name.encode() == _OWN and alias.asname)}
    spelled = [name.encode() for name in names]
    users = [
        statement
        for statement in file.tree.body
        if isinstance(statement, (*FUNCTIONS[:2], ast.ClassDef))
        and any(file.source.says(name, statement) for name in spelled)
    ]
    return bool(users) and all(any(file.source.says(name, user) for name in own) for user in users)


def _chosen_by_callers(function: Link, file: RuleFile, depth: int) -> bool:
    node, owner = function[0], function[1][0]
    whole = owner.__class__ is ast.ClassDef and node.name in ("forward", "__call__")
    name = owner.name if whole else node.name
    spelled = [*file.names.spelled(name), *_attributes(file).get(name, ())]
    mentions = [
        use
        for use in spelled
        if not any(above is node for above, _ in ancestors(use)) and use[0].ctx.__class__ is ast.Load
    ]
    return bool(mentions) and all(other_works(use, file, depth + 1) for use in mentions)


def _others(above: Node, child: Node) -> list[Node]:
    """`above` is a switch and `child` one of its ways, or stands in one: the nodes of the other ways. Else nothing."""
    if above.__class__ is ast.IfExp and child is not above.test and _is_choice(above.test):
        return [above.orelse if child is above.body else above.body]
    if (
        above.__class__ is ast.Dict
        and child in above.values
        and None not in above.keys
        and all(map(_is_choice, above.keys))
    ):
        return [value for value in above.values if value is not child]
    if above.__class__ is ast.If and child is not above.test and _is_choice(above.test):
        return list(above.orelse) if place(above, child)[0] == "body" else list(above.body)
    field, index = place(above, child)
    if field in BODIES:  # `if flash: return ...`, and what follows
        before = [way_out for way_out in getattr(above, field)[:index] if _returns(way_out)]
        after = getattr(above, field)[index + 1 :] if _returns(child) else []
        return [*(statement for way_out in before for statement in way_out.body), *after]
    return []


def _returns(node: Node) -> bool:
    return node.__class__ is ast.If and node.body[-1].__class__ is ast.Return and _is_choice(node.test)


def _is_choice(test: Node) -> bool:
    """Every part of it asks which way, and none what there is to do."""
    if test.__class__ is ast.BoolOp:
        return all(map(_is_choice, test.values))
    compared = test.comparators[0] if test.__class__ is ast.Compare else test
    return constant(compared) in _PLAIN or any(map(_BACKEND.search, _words(test)))


@once
def _words(node: Node) -> frozenset[str]:
    """All names, attributes and texts."""
    words = (
        getattr(inner, "id", "") or getattr(inner, "attr", "") or getattr(inner, "value", "") for inner in walk(node)
    )
    return frozenset(word for word in words if isinstance(word, str))


@once_for_file
def _attributes(file: RuleFile) -> dict[str, list[Link]]:
    attributes: dict[str, list[Link]] = {}
    for link in file.buckets[ast.Attribute]:
        attributes.setdefault(link[0].attr, []).append(link)
    return attributes


def _works(node: Node, file: RuleFile) -> bool:
    """torch's own attention is called, asked for, or written out; or a function of the file is mentioned that does so."""
    return _is_plain(node) or not _plain_ones(file).isdisjoint(_words(node))


@once_for_file
def _plain_ones(file: RuleFile) -> frozenset[str]:
    """The functions and classes of the file that do so themselves."""
    links = (link for kind in (ast.FunctionDef, ast.ClassDef) for link in file.buckets[kind])
    return frozenset(link[0].name for link in links if _is_plain(link[0]))


@once
def _is_plain(node: Node) -> bool:
    words = _words(node)
    if not words.isdisjoint(("scaled_dot_product_attention", "eager")) or any(
        w.isidentifier() and "sdpa" in w.lower() for w in words
    ):
        return True
    if "softmax" not in words:
        return False
    operators = (getattr(inner, "op", None) for inner in walk(node))
    return not words.isdisjoint(_PRODUCTS) or any(operator.__class__ is ast.MatMult for operator in operators)
