"""A DataLoader that is built anew in every epoch."""

from __future__ import annotations

import ast

from porter.checks.rule import Hit, Rule

from .loader_arguments import LOADERS


class LoaderInLoop(Rule):
    code, slug = "PRT634", "loader-in-loop"
    calls = LOADERS
    only = "epoch"

    def visit(self, original, updated, file):
        scene, link = file.scene, file.scene.link(original)
        loop = link and scene.epoch(link)
        return Hit(original.func, "epoch") if loop and not self._new_data(link[1][0], loop) else None

    @staticmethod
    def _new_data(call, loop) -> bool:
        """Whether each epoch has a data set of its own."""
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "dataset")]
        names = {n.id for g in given for n in ast.walk(g) if n.__class__ is ast.Name}
        inside = {n.id for n in ast.walk(loop) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
        return not names.isdisjoint(inside)
