"""Imports of packages that bring CUDA code of their own: one finding per package and file."""

from __future__ import annotations

from porter.checks.build import imported
from porter.checks.rule import Hit, Rule


def row_of(name: str, packages: dict):
    """(imported name, row) of the longest part of a dotted name that the table knows."""
    while name:
        if name in packages:
            return name, packages[name]
        name = name.rpartition(".")[0]
    return None


class GpuPackage(Rule):
    code, slug = "PRT401", "gpu-package"

    def __init__(self, tables):
        self.packages = tables.packages
        own = {name for name, row in tables.packages.items() if row.why and row.code == self.code}
        self.imports = frozenset(name.partition(".")[0] for name in own)

    def visit(self, original, updated, file):
        rows = [row_of(name, self.packages) for name in imported(original)]
        found = [
            (name, row)
            for name, row in filter(None, rows)
            if row.why and row.code == self.code and not file.facts.owns(name.partition(".")[0], file.path)
        ]
        for name, row in dict(found).items():
            if role := file.around.speaks_for(name):  # once in a file
                severity = "note" if role == "optional" else None
                yield Hit(original, row.why, values=(("name", name),), severity=severity)
