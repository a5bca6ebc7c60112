"""PRT705: calls of a library that end in what no NPU has, as fact files tell. Once for a file and a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from porter.engine.libraries import Fact
from porter.engine.rule import Hit, IndexRule, named
from porter.engine.rule_file import RuleFile
from porter.python.blocks import within
from porter.python.evaluate import fallback, truth
from porter.python.guards import asked, guard
from porter.python.index import Link, parents
from porter.python.inventory import first
from porter.rulebook.table import package_row


class LibraryCalls(IndexRule):
    code = "PRT705"

    def look(self, file: RuleFile) -> Iterator[Hit]:
        return _reached(file)


def _reached(file: RuleFile) -> Iterator[Hit]:
    libraries = file.session.libraries
    if not libraries.names or not libraries.concern(file.source.utf8):
        return
    around = file.path.split("/")[:-1]
    roots = {name for name in libraries.names if name not in around}  # not in the library itself
    yield from _imported(file, roots, libraries.facts)
    calls: dict[str, list[Link]] = {}
    for link in file.names.uses:
        full = file.names.root(link[0].id, link) if link[0].ctx.__class__ is ast.Load else None
        if full is None or full.partition(".")[0] not in roots or (words := _called(link)) is None:
            continue
        name = ".".join((full, *words))
        fact = libraries.facts.get(name)
        # a rule that asks for a name says more of it
        if fact is None or fact.module or name in file.rules.keys.calls or file.rules.keys.mentioned(name):
            continue
        if not _guarded(file, link):
            calls.setdefault(name, []).append(link)
    for name, links in sorted(calls.items()):
        fact = libraries.facts[name]
        if fact.when:
            yield Hit(first(links), "sometimes", values=(*_values(name, fact, len(links)), ("when", fact.when)))
        else:
            yield Hit(first(links), fact.verdict, values=_values(name, fact, len(links)))


def _guarded(file: RuleFile, link: Link) -> bool:
    """Whether the program asks first, has something else by the same name, or runs there only where there are GPUs."""
    names: Any = file.names
    word = link[0].id
    imported = [binding for _, binding in names.imports.get(word, ())]
    if names.bindings(word, link) or any(guard(binding) is not None or asked(binding) for binding in imported):
        return True
    return asked(link) or guard(link) is not None or file.awareness.covers_link(link) or _never(link)


def _never(link: Link) -> bool:
    """Behind `if x.is_cuda:`, or in a `try` that has something else to offer."""
    child = link[0]
    for above in parents(link):
        if above.__class__ in (ast.If, ast.IfExp) and child is not above.test:
            is_true = truth(above.test)
            is_inside = child is above.body if above.__class__ is ast.IfExp else within(above, child, "body")
            if is_true is not None and is_true is not is_inside:
                return True
        if above.__class__ is ast.Try and within(above, child, "body") and fallback(above):
            return True
        child = above
    return False


def _called(link: Link) -> list[str] | None:
    """Of `lib.ops.f(...)`, what follows the first name; None where it is not called."""
    words, top, above = [], link[0], link[1]
    while above[0].__class__ is ast.Attribute:
        words.append(above[0].attr)
        top, above = above[0], above[1]
    return words if above[0].__class__ is ast.Call and above[0].func is top else None


def _imported(file: RuleFile, roots: set[str], facts: Mapping[str, Fact]) -> Iterator[Hit]:
    """Imports of modules that fail; what porter's own table says of the package says more."""
    reported: set[str] = set()
    for kind in (ast.Import, ast.ImportFrom):
        for link in file.buckets[kind]:
            node = link[0]
            if kind is ast.ImportFrom:
                base = node.module or ""
                names = [] if node.level else [base, *(f"{base}.{a.name}" for a in node.names)]
            else:
                names = [a.name for a in node.names]
            for name in names:
                fact = facts.get(name)
                if fact is None or not fact.module or name.partition(".")[0] not in roots or name in reported:
                    continue
                known = package_row(name, file.rules.tables.packages)
                if known is not None and known[1].why or guard(link) is not None or file.awareness.covers_link(link):
                    continue
                reported.add(name)
                yield Hit(link, "module", values=_values(name, fact, 1))
                break


def _values(name: str, fact: Fact, count: int) -> tuple[tuple[str, str], ...]:
    return named(name=name, library=fact.library, end=fact.end, chain=fact.chain, count=str(count))
