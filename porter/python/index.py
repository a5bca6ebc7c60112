"""Makes the index of one file: walks the tree of `ast` once. The index is fast, and decides which statements LibCST parses.

A link is (node, link of its parent). The walk visits only fields that can hold a node of interest, never operators, contexts
or constants. That takes a quarter of the time of `ast.walk`.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from porter.engine.rule_file import Link as Link
from porter.engine.rule_file import Node as Node
from porter.engine.rule_file import Source
from porter.python.blocks import once, within
from porter.python.walks import walk as walk

# types of values that the walk does not visit
_LEAVES = frozenset(
    [ast.Constant, ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue, int, str, type(None)]
    + [k for base in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop) for k in base.__subclasses__()]
)
# fields of nodes that hold no node of interest
_SKIPPED = frozenset(
    "ctx op ops type_comment type_ignores attr id arg name asname level lineno kind conversion simple is_async rest kwd_attrs".split()
)
# the fields to visit, for types of which only these are of interest
_ONLY = {ast.keyword: ("value",), ast.arg: ("annotation",), ast.Attribute: ("value",)}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
STATEMENTS = tuple(
    k for k in vars(ast).values() if isinstance(k, type) and issubclass(k, ast.stmt) and k is not ast.stmt
)
# nodes that bind a name by themselves; all other bindings are ast.Name with Store
BINDERS = (
    ast.Import,
    ast.ImportFrom,
    ast.arg,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
    ast.Global,
    ast.Nonlocal,
)
# LibCST's names for the nodes that a rule may ask for, as `ast` knows them
TYPES: dict[str, tuple[type, ...]] = {
    "Import": (ast.Import,),
    "ImportFrom": (ast.ImportFrom,),
    "FunctionDef": (ast.FunctionDef, ast.AsyncFunctionDef),
    "ClassDef": (ast.ClassDef,),
    "Call": (ast.Call,),
    "List": (),  # (): asked about only in statements that LibCST parses for another reason
    "Tuple": (),
    "Set": (),
    "Arg": (),
    "FormattedString": (),
    "Comparison": (ast.Compare,),
    "Subscript": (ast.Subscript,),
    "BinaryOperation": (ast.BinOp,),
    "With": (ast.With, ast.AsyncWith),
    "IfExp": (ast.IfExp,),
    "Assign": (ast.Assign,),
    "AnnAssign": (ast.AnnAssign,),
    "AugAssign": (ast.AugAssign,),
    "Return": (ast.Return,),
    "Dict": (ast.Dict,),
    "If": (ast.If,),
    "For": (ast.For,),
    "While": (ast.While,),
    "Assert": (ast.Assert,),
    "Try": (ast.Try,),
}


def _getter(kind: type[ast.AST]) -> Callable[[Node], tuple[Any, ...]] | None:
    """A function that gives the fields of a node to visit; None where a type has none."""
    fields = _ONLY.get(kind) or tuple(f for f in kind._fields if f not in _SKIPPED)
    if kind in (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.alias, ast.MatchSingleton) or not fields:
        return None
    if len(fields) == 1:
        get = attrgetter(fields[0])
        return lambda node: (get(node),)
    return attrgetter(*fields)


# by type: gives the fields of a node to visit
_CHILDREN = {
    kind: _getter(kind)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and kind not in _LEAVES
}


def collect(tree: Node, wanted: frozenset[type]) -> tuple[dict[type, list[Link]], list[Link]]:
    """The links of all nodes of the wanted types, by type; and the links of all names."""
    buckets: dict[type, list[Link]] = {kind: [] for kind in wanted}
    takers = {kind: (buckets[kind].append if kind in buckets else None, get) for kind, get in _CHILDREN.items()}
    names: list[Link] = []
    take_name, leaves, Name = names.append, _LEAVES, ast.Name  # noqa: N806
    stack: list[Link] = [(tree, None)]
    push, pop = stack.append, stack.pop
    while stack:
        link = pop()
        node = link[0]
        take, get = takers[node.__class__]
        if take is not None:
            take(link)
        if get is None:
            continue
        for value in get(node):
            kind = value.__class__
            if kind is Name:
                take_name((value, link))
            elif kind is list:
                for item in value:
                    kind = item.__class__
                    if kind is Name:
                        take_name((item, link))
                    elif kind not in leaves:
                        push((item, link))
            elif kind not in leaves:
                push((value, link))
    return buckets, names


def on_lines(node: Node, lines: list[int]) -> bool:
    """Whether a node covers one of these sorted lines. True for a node without a position, which may."""
    first = getattr(node, "lineno", None)
    if first is None:
        return True
    if decorators := getattr(node, "decorator_list", None):
        first = decorators[0].lineno
    index = bisect_left(lines, first)
    return index < len(lines) and lines[index] <= node.end_lineno


def standing_on(links: list[Link], lines: list[int]) -> list[Link]:
    """The links whose nodes cover one of these sorted lines. All nodes are of one type."""
    if links and hasattr(links[0][0], "decorator_list"):
        return [link for link in links if on_lines(link[0], lines)]
    beyond = [*lines, sys.maxsize]
    return [link for link in links if beyond[bisect_left(lines, link[0].lineno)] <= link[0].end_lineno]


def strings(tree: Node, lines: list[int], pattern: re.Pattern[str]) -> list[Link]:
    """The links of the string constants on these lines that match. A function without such a line is skipped."""
    links: list[Link] = []
    stack: list[Link] = [(tree, None)]
    push, pop = stack.append, stack.pop
    Constant, AST, search = ast.Constant, ast.AST, pattern.search  # noqa: N806
    while stack:
        link = pop()
        node = link[0]
        for name in node._fields:
            value: Node = getattr(node, name, None)
            for item in value if value.__class__ is list else (value,):
                if item.__class__ is Constant:
                    if item.value.__class__ is str and search(item.value):
                        links.append((item, link))
                elif isinstance(item, AST) and on_lines(item, lines):
                    push((item, link))
    return links


def owner_of(function: Link) -> ast.ClassDef | None:
    """The class that a function is a method of. `function`: the link of its definition."""
    above = function[1] and function[1][0]
    return above if above.__class__ is ast.ClassDef else None


@once
def methods(owner: ast.ClassDef) -> frozenset[str]:
    """The names of the methods that a class defines itself."""
    return frozenset(s.name for s in owner.body if isinstance(s, FUNCTIONS[:2]))


def parents(link: Link | None) -> Iterator[Node]:
    """The nodes around a link, innermost first."""
    while link is not None and (link := link[1]) is not None:
        yield link[0]


def ancestors(link: Link | None) -> Iterator[Link]:
    """The links around a link, innermost first."""
    while link is not None and (link := link[1]) is not None:
        yield link


def chain_of(link: Link) -> Link:
    """The whole chain of names that starts at `link`: `a.b.c` of `a`."""
    while link[1] is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
    return link


def chain_span(link: Link, source: Source) -> tuple[int, int]:
    """The offsets of the whole chain of names that starts at `link`."""
    return source.span(chain_of(link)[0])


def heir(link: Link) -> ast.ClassDef | None:
    """The class that has the name at `link` for a base."""
    base = chain_of(link)
    owner = base[1] and base[1][0]
    return owner if owner.__class__ is ast.ClassDef and base[0] in owner.bases else None


def lines_of(link: Link) -> tuple[int, int]:
    """The first and last line on which a suppression of a finding at `link` may stand: those of the statement around. Of a
    compound statement, the lines down to the place."""
    below = link[0]
    for node in parents(link):
        if node.__class__ in (*FUNCTIONS[:2], ast.ClassDef) and within(node, below, "decorator_list"):
            return below.lineno, below.end_lineno
        if isinstance(node, ast.stmt):
            last_node: Node = link[0] if hasattr(node, "body") else node
            return node.lineno, last_node.end_lineno
        below = node
    return link[0].lineno, link[0].end_lineno
