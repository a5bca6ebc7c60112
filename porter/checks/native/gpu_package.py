"""Imports of packages that bring CUDA code of their own: one finding per package and file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from porter.checks.export.onnx_sessions import asks_for_device
from porter.checks.native.attention_choices import other_works
from porter.checks.native.detectron2_device import keeps_default
from porter.engine.nodes import imported
from porter.engine.rule import Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.uses import imports_of, in_vain, is_idle
from porter.rulebook.table import Package, Tables

SHOWN = 4
ATTENTIONS = ("flash_attn", "xformers")
# packages that run on the CPU unless a file asks for more, and parts of which a file may say all that is to say
ASKED = {"onnxruntime": asks_for_device, "detectron2.config.get_cfg": keeps_default}


def row_of(name: str, packages: Mapping[str, Package]) -> tuple[str, Package] | None:
    """(imported name, row) of the longest part of a dotted name that the table knows."""
    while name:
        if name in packages:
            return name, packages[name]
        name = name.rpartition(".")[0]
    return None


def parents(name: str) -> list[str]:
    """a.b and a of a.b.c."""
    words = name.split(".")
    return [".".join(words[:n]) for n in range(1, len(words))]


class GpuPackage(Rule):
    code = "PRT401"
    edits = False

    def __init__(self, tables: Tables) -> None:
        self.packages = tables.packages
        names = {name for name, row in tables.packages.items() if row.why and row.code == self.code}
        self.imports = frozenset(name.partition(".")[0] for name in names)
        self.parts: dict[str, list[str]] = {}  # of which the table has rows of their own
        for name in sorted(self.packages):
            for above in parents(name):
                self.parts.setdefault(above, []).append(name)

    def visit(self, original: cst.Import | cst.ImportFrom, updated: Any, file: RuleFile) -> Iterator[Hit]:
        names = imported(original)
        rows = [row_of(name, self.packages) for name in names]
        whole = names if isinstance(original, cst.Import) else ()  # `import numba` for `numba.cuda.jit`
        used = {part: name for name in whole for part in self.parts.get(name, ()) if _reached(file, part)}
        rows += [(part, self.packages[part]) for part in used]
        matches = [
            (name, row)
            for name, row in filter(None, rows)
            if row.why and row.code == self.code and not file.facts.own.has_package(name.partition(".")[0], file.path)
        ]
        for name, row in dict(matches).items():
            if name in ASKED and not ASKED[name](file):
                continue
            apart = tuple(f"{part}." for part in self.parts.get(name, ()))
            if role := file.imported.speaks_for(used.get(name, name), apart):  # once in a file
                if role == "needed" and in_vain(file, used.get(name, name), apart):
                    yield Hit(original, "unused", values=(("name", name),), severity=row.severity)
                    continue
                if role == "needed" and (idle := _idle(name, file)) is not None:
                    if idle:
                        yield Hit(original, "idle", values=(("count", idle), ("name", name)), severity=row.severity)
                    continue
                severity = "note" if role == "optional" else None
                calls = _called(file, name, apart)
                values = (("calls", calls), ("name", name)) if calls else (("name", name),)
                if name.partition(".")[0] in ATTENTIONS and other_works(file.scene.link_to(file.statement), file):
                    yield Hit(original, "chosen", values=(("name", name),), severity="note", effort="minutes")
                else:
                    yield Hit(original, row.why, values=values, severity=severity)


def _idle(package: str, file: RuleFile) -> str | None:
    """Where nothing of an imported package is used: in how many more files it is the same; "" where another file says so."""
    known = next((row for row in file.facts.lists.idle if row[0] == package), None)
    if (
        known is None
        or not known[2]
        or not file.path.endswith(".py")
        or not is_idle(file.source.utf8, package.encode())
    ):
        return None
    return str(known[2]) if known[1] == file.path else ""


def _called(file: RuleFile, package: str, apart: tuple[str, ...]) -> str:
    """What of a package, `apart` from some parts, is called in a file, the most often called first."""
    counts: dict[str, int] = {}
    for full, called in _uses(file):
        if called and f"{full}.".startswith(f"{package}.") and not f"{full}.".startswith(apart):
            name = full.removeprefix(f"{package}.").removesuffix(".__init__").rpartition(".")[2]
            counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{name} ×{count}" if count > 1 else name for name, count in ordered[:SHOWN]]
    return ", ".join(shown) + (f" (+{len(ordered) - SHOWN})" if len(ordered) > SHOWN else "")


def _reached(file: RuleFile, part: str) -> bool:
    """Whether a part of a package is used, and imported by nothing but the package."""
    return not imports_of(file, part) and any(f"{full}.".startswith(f"{part}.") for full, _ in _uses(file))


@once_for_file
def _uses(file: RuleFile) -> list[tuple[str, bool]]:
    """What is imported and used, by its full name, and whether it is called."""
    uses = []
    for link in file.names.uses:
        if link[0].id in file.names.imports:
            full, top, above = file.names.root(link[0].id, link) or "", *link
            while isinstance(above[0], ast.Attribute):
                full, top, above = f"{full}.{above[0].attr}", above[0], above[1]
            uses.append((full, isinstance(above[0], ast.Call) and above[0].func is top))
    return uses
