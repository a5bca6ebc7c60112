"""A DataLoader that is built anew in every epoch."""

from __future__ import annotations

from porter.checks.rule import Hit, Rule

from .loader_arguments import LOADERS


class LoaderInLoop(Rule):
    code, slug = "PRT634", "loader-in-loop"
    calls = LOADERS
    only = "epoch"

    def visit(self, original, updated, file):
        return (
            Hit(original.func, "epoch") if (link := file.scene.link(original)) and file.scene.in_epoch(link) else None
        )
