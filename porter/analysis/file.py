"""Describes a Python file to rules: its resolved names, what its strings and receivers are, and the target of the port."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from porter.analysis.nodes import Nodes
from porter.engine.rule import Rule
from porter.engine.rule_file import Glance
from porter.engine.session import RuleSet, Session
from porter.engine.suppress import Suppressions
from porter.python.around import Around
from porter.python.around_imports import AroundImports
from porter.python.comments import to_porter
from porter.python.index import Link
from porter.python.meaning import Meaning
from porter.python.source import Source
from porter.training.scene import Scene
from porter.training.tensors import Tensors

if TYPE_CHECKING:
    from porter.python.aware import Awareness


@cache
def _rules_with(rules: RuleSet, look: Glance) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules.all if rule.only is look)


class File(Nodes):
    """A Python file as rules see it. What it keeps refers back to it only weakly: so it is freed at once, without the
    garbage collector."""

    def __init__(self, path: str, source: Source, session: Session, again: bool = False):
        super().__init__(path, source, session, again)
        self.suppressions = Suppressions(to_porter(source))
        self.apis: dict[str, list[Link]] = {}  # the inventory: resolved names of interest, with their places
        self.silent: set[Rule] = set()  # rules that can find nothing in this file
        self._glances: dict[tuple[Glance, ast.AST], bool] = {}

    @cached_property
    def by_node(self) -> dict[str, list[Rule]]:
        """The rules to ask about nodes of a type, by LibCST's name of the type."""
        rules = {kind: [r for r in several if r not in self.silent] for kind, several in self.rules.keys.nodes.items()}
        return {kind: several for kind, several in rules.items() if several}

    def glance(self, look: Glance, link: Link) -> bool:
        """Whether `look`, the `only` of a rule, accepts a place. The answer is kept, because rules ask several times."""
        known = self._glances.get((look, link[0]))
        if known is None:
            rules, line = _rules_with(self.rules, look), getattr(link[0], "lineno", 1)
            known = self.failures.guard(rules, line, look, self.scene, link) or False
            self._glances[look, link[0]] = known
        return known

    def undisturbed(self, codes: Iterable[str]) -> bool:
        """Whether the index has all statements of the file, and no comment or setting silences one of these codes."""
        ignored = {code for ignore in self.suppressions.ignores for code in ignore.codes}
        return not self.hidden and (ignored | self.session.quiet.codes(self.path)).isdisjoint(codes)

    @cached_property
    def scene(self) -> Scene:
        return Scene(self)

    @cached_property
    def tensors(self) -> Tensors:
        return Tensors(self.scene)

    @cached_property
    def around(self) -> Around:
        return Around(self)

    @cached_property
    def meaning(self) -> Meaning:
        return Meaning(self)

    @cached_property
    def imported(self) -> AroundImports:
        return AroundImports(self)

    @cached_property
    def awareness(self) -> Awareness:
        from porter.python.aware import Awareness

        return Awareness(self)
