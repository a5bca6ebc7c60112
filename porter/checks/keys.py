"""Which rules each key names. A place is looked up by its name, so that many rules cost what one costs.

`registry.py` makes it of the rules for a chip; `analysis/candidates.py` asks.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from porter.checks.mistakes import LISTS
from porter.engine.rule import Rule
from porter.python.index import BINDERS, COMPREHENSIONS, TYPES
from porter.python.searches import Several, Sought


def _empty() -> dict[str, list[Rule]]:
    return defaultdict(list)


class Keys:
    """The keys of CONTRIBUTING.md, and what follows from them for the look at a file.

    `roots`: first words of full names that are to be resolved, whoever asks.
    """

    def __init__(self, rules: Iterable[Rule], roots: frozenset[str]) -> None:
        self.calls, self.references, self.prefixes, self.methods, self.builtins = (_empty() for _ in range(5))
        self.attributes, self.imports, self.literals, self.patterns, self.nodes = (_empty() for _ in range(5))
        filters: list[tuple[Any, tuple[type, ...], Any]] = []
        for rule in rules:
            for index in LISTS:
                for key in getattr(rule, index):
                    getattr(self, index)[key].append(rule)
            texts = (rule.text,) if isinstance(rule.text, str) else rule.text
            kinds = tuple({node_type: None for kind in rule.nodes for node_type in TYPES[kind]})
            filters.append((rule, kinds, Several(map(Sought, texts))))
        self.node_filters = [row for row in filters if row[0].nodes]
        asking: dict[str, list[Rule]] = {}  # a method, a builtin and a package may share a name
        for named in (self.calls, self.methods, self.builtins, self.imports):
            for name, several in named.items():
                asking.setdefault(name, []).extend(several)
        self.only = {  # by name: the glances of which one must let a place through; names that some rule wants anyhow are absent
            name: tuple(dict.fromkeys(rule.only for rule in several))
            for name, several in asking.items()
            if all(rule.only for rule in several)
        }
        asked = (*self.calls, *self.references, *self.prefixes)
        self.origins = roots | {name.partition(".")[0] for name in asked}
        wanted = {kind for row in filters for kind in row[1]}
        self.node_types = frozenset({ast.Call, ast.Attribute, ast.For, *BINDERS, *COMPREHENSIONS, *wanted})

    def mentioned(self, name: str) -> bool:
        """Whether a rule asks for mentions of a name, or of something it starts with."""
        references, prefixes = self.references, self.prefixes
        while name:
            if name in references or name in prefixes:
                return True
            name = name.rpartition(".")[0]
        return False
