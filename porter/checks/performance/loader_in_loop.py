"""A DataLoader that is built anew in every epoch."""

from __future__ import annotations

import ast

from porter.checks.performance import prefilters
from porter.checks.performance.loader_calls import LOADERS, ORDER, arguments
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import walk
from porter.training.changed_data import changed_in
from porter.training.frequency import happens_once
from porter.training.loops import over_epochs


class LoaderInLoop(Rule):
    code = "PRT634"
    edits = False
    calls = LOADERS
    only = staticmethod(prefilters.in_epoch)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        link = file.scene.link(original)
        loop = over_epochs(link) if link is not None else None
        given = arguments(original, file) if loop else None
        if link is None or not loop:
            return None
        if given is not None and given.get("num_workers", "0") == "0":  # without workers, nothing starts
            return None
        anew = self._changes(link[1][0], loop) or happens_once(link, loop)
        return None if anew else Hit(original.func, "epoch")

    @staticmethod
    def _changes(call: ast.Call, loop: ast.AST) -> bool:
        """Whether an epoch has a data set, or a size of batches, of its own. Workers that live on would keep the data set of the first."""
        wanted = [*call.args[:2], *(k.value for k in call.keywords if k.arg in ORDER[:2])]
        if changed_in(loop, {ast.unparse(g) for g in wanted if g.__class__ in (ast.Name, ast.Attribute)}):
            return True
        names = {n.id for g in wanted for n in walk(g) if n.__class__ is ast.Name}
        stored = {n.id for n in walk(loop) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
        return not names.isdisjoint(stored)
