"""Finds the nodes of a Python file that some rule asks about. LibCST has to see only the statements around them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from porter.python.index import Link, standing_on
from porter.python.names import canonical
from porter.python.searches import matched, says
from porter.python.source import Lines
from porter.python.uses import packages_of

if TYPE_CHECKING:
    from porter.analysis.file import File

Here = Callable[[list[Link]], list[Link]]  # picks the links on the lines that are analysed


def candidates(file: File, near: frozenset[int] | None = None) -> list[Link]:
    """The links of these nodes. `near`: only nodes on these lines count."""
    here, text = _here(near), file.source if near is None else file.source.only(near)
    links = [*_names(file, near), *_attributes(file, here), *_imports(file, here), *_statements(file, text, here)]
    links += here([literal.link for literal in file.literals.values()])
    if file.rules.keys.patterns and not file.scene.apart:
        anchors = (file.scene.link_to(several[0].anchor) for several in file.patterns.values())
        links += [link for link in anchors if link is not None]
    return [link for link in links if not file.awareness.covers_link(link)]


def _here(near: frozenset[int] | None) -> Here:
    if near is None:
        return lambda links: links
    return lambda links: [link for link in links if link[0].lineno in near]


def _names(file: File, near: frozenset[int] | None) -> Iterator[Link]:
    """Mentions and calls of resolved names, and calls of builtins. Fills the inventory `file.apis` as well, for all lines."""
    keys, names, Attribute = file.rules.keys, file.names, ast.Attribute  # noqa: N806
    roots, aliases, origins, plain = names.imports, names.aliases, keys.origins, names.plain
    calls, interesting, apis = keys.calls, file.rules.roots, file.apis
    builtins, wanted = keys.builtins, partial(_wanted, file)
    for link in names.uses:
        node = link[0]
        away = near is not None and node.lineno not in near
        if node.id not in roots and node.id not in aliases or node.ctx.__class__ is not ast.Load:
            if node.id in builtins and not away and getattr(link[1][0], "func", None) is node and wanted(node.id, link):
                yield link
            continue
        full = plain.get(node.id) or names.root(node.id, link)
        if full is None or (root := full.partition(".")[0]) not in origins:
            continue
        top, above = node, link[1]
        while above[0].__class__ is Attribute:
            top = above[0]
            full += "." + top.attr
            above = above[1]
        full = canonical(full)
        if root in interesting:
            apis.setdefault(full, []).append(link)
        if away:
            continue
        if full in calls and above[0].__class__ is ast.Call and above[0].func is top and wanted(full, (top, above)):
            yield link
        elif keys.mentioned(full):
            yield link


def _attributes(file: File, here: Here) -> Iterator[Link]:
    keys, wanted = file.rules.keys, partial(_wanted, file)
    for link in here(file.buckets[ast.Attribute]):
        attr, above = link[0].attr, link[1][0]
        if attr in keys.attributes:
            yield link
        elif attr in keys.methods and above.__class__ is ast.Call and above.func is link[0] and wanted(attr, link):
            yield link


def _imports(file: File, here: Here) -> Iterator[Link]:
    packages, own = file.rules.keys.imports, file.facts.own
    for kind in (ast.Import, ast.ImportFrom):
        for link in here(file.buckets[kind]):
            names = [name for name in packages_of(link[0]) if name in packages and _wanted(file, name, link)]
            if any(not own.has_package(name, file.path) for name in names):
                yield link


def _statements(file: File, text: Lines, here: Here) -> Iterator[Link]:
    """Nodes of the types that rules ask for, if the text contains what the rules look for."""
    among: dict[type, list[Link]] = {}
    for rule, kinds, patterns in file.rules.keys.node_filters:
        present, lines = matched(text, patterns) if patterns else ([], [])
        if patterns and not present:
            if rule.spelled:
                file.silent.add(rule)
            continue
        for kind in kinds:
            if kind not in among:
                among[kind] = here(file.buckets[kind])
            links = among[kind]
            if present:
                links = [link for link in standing_on(links, lines) if says(file.source, link[0], present)]
            yield from (link for link in links if file.glance(rule.only, link)) if rule.only else links


def _wanted(file: File, name: str, link: Link) -> bool:
    """Whether a rule that asks for a name wants this call. `Rule.only` is a quick look at the call; a rule without it wants
    all calls."""
    only = file.rules.keys.only.get(name)
    return only is None or any(file.glance(look, link) for look in only)
