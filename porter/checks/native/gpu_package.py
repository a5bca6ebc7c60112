"""Imports of packages that bring CUDA code of their own: one finding per package and file."""

from __future__ import annotations

import ast

from porter.checks.build import imported
from porter.checks.rule import Hit, Rule

SHOWN = 4


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
                calls = _called(file, name)
                values = (("calls", calls), ("name", name)) if calls else (("name", name),)
                yield Hit(original, row.why, values=values, severity=severity)


def _called(file, package: str) -> str:
    """What of a package is called in a file, the most often called first."""
    counts: dict[str, int] = {}
    for link in file.names.uses:
        if link[0].id not in file.names.imports:
            continue
        full, top, above = file.names.root(link[0].id, link) or "", *link
        while isinstance(above[0], ast.Attribute):
            full, top, above = f"{full}.{above[0].attr}", above[0], above[1]
        if isinstance(above[0], ast.Call) and above[0].func is top and f"{full}.".startswith(f"{package}."):
            name = full.removeprefix(f"{package}.").removesuffix(".__init__").rpartition(".")[2]
            counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{name} ×{count}" if count > 1 else name for name, count in ordered[:SHOWN]]
    return ", ".join(shown) + (f" (+{len(ordered) - SHOWN})" if len(ordered) > SHOWN else "")
