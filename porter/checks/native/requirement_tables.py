"""What setup.py asks to have installed, in lists that it hands to `setup()` by a name, or that its lists are made from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from porter.checks.native.torch_requirement import KINDS, LISTS, TorchRequirement
from porter.engine.rule import Hit, IndexRule
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.assigned import values_of
from porter.python.walks import walk
from porter.versions import limits

_MODULES = frozenset({"setup", "setuptools", "distutils"})
_LIST = (ast.List, ast.Tuple, ast.Set)


class RequirementTables(IndexRule):
    """Edits nothing: who else reads such a list, and which of its lines, nobody can tell."""

    code = "PRT840"
    codes = ("PRT840", "PRT841", "PRT842", "PRT843", "PRT401")

    def look(self, file: RuleFile) -> Iterator[Hit]:
        if _MODULES.isdisjoint(file.names.imports):
            return
        from porter.text import packages

        text = file.source.utf8.decode("latin-1")  # one letter for one byte
        nodes, wanted, handed = {}, [], dict[Node, str]()
        for node, keyword in _handed(file):
            handed.setdefault(node, keyword)
        for node, keyword in handed.items():
            start, end = file.source.span(node)
            quote = end - start - len(node.value) >> 1
            if text[start + quote : end - quote] != node.value:
                continue  # in pieces, or with a prefix
            about = {field: keyword == named for field, named in KINDS.items()}
            requirement = packages.wanted(text, start + quote, end - quote, more=(end, "", ""), **about)
            if requirement is not None:
                nodes[requirement.start] = node
                wanted.append(requirement)
        document: Any = SimpleNamespace(text=text, session=file.session, path=file.path, newline="\n")
        for hit in packages.hits(document, wanted):
            weight: dict[str, Any] = {"severity": hit.severity or None, "effort": hit.effort or None}
            yield Hit((nodes[hit.at[0]], (file.tree, None)), hit.why, values=hit.values, code=hit.code, **weight)


def _handed(file: RuleFile) -> Iterator[tuple[Node, str]]:
    """The strings, and the keyword of `setup` that each is handed to; "" for those of lists that it reads from."""
    uses = {link[0]: link for link in file.names.uses}
    for link in file.buckets[ast.Call]:
        if file.names.resolve(link[0].func, link) in TorchRequirement.calls:
            for keyword in link[0].keywords:
                if keyword.arg in LISTS:
                    yield from ((text, keyword.arg) for text in _named(keyword.value, file, uses, set(), named=False))
                    yield from ((text, "") for text in _tabled(keyword.value, file, uses, set()))


def _named(node: Node, file: RuleFile, uses: dict[Node, Link], seen: set[str], *, named: bool) -> Iterator[Node]:
    """The strings of lists that names stand for; those of a list that stands there itself are TorchRequirement's."""
    inner: list[Node] = []
    if isinstance(node, ast.Name) and node.id not in seen and node in uses:
        seen.add(node.id)
        names: Any = file.names
        for value in values_of(names, node, uses[node]):
            yield from _named(value, file, uses, seen, named=True)
    elif isinstance(node, _LIST):
        yield from _texts(node) if named else ()
        inner = [item for item in node.elts if isinstance(item, ast.Starred)]
    elif isinstance(node, ast.Dict):
        inner = node.values
    elif isinstance(node, ast.BinOp):
        inner = [node.left, node.right]
    elif isinstance(node, ast.Starred):
        inner = [node.value]
    for item in inner:
        yield from _named(item, file, uses, seen, named=named)


def _tabled(node: Node, file: RuleFile, uses: dict[Node, Link], seen: set[str]) -> Iterator[Node]:
    """The strings of lists that an expression reads, as `deps["torch"]` does: of those that hold requirements alone."""
    names: Any = file.names
    for name in walk(node):
        if isinstance(name, ast.Name) and name.id not in seen and name in uses:
            seen.add(name.id)
            values: list[Node] = values_of(names, name, uses[name])
            for value in values:
                texts = _texts(value)
                if texts and len(texts) == len(value.elts) and any(limits(text.value) for text in texts):
                    yield from texts
                else:
                    yield from _tabled(value, file, uses, seen)


def _texts(node: Node) -> list[Node]:
    elements = node.elts if isinstance(node, _LIST) else []
    return [item for item in elements if isinstance(item, ast.Constant) and isinstance(item.value, str)]
