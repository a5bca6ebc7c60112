"""Imports of packages that bring CUDA code of their own: one finding per package and file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.checks.native import package_uses
from porter.checks.native.asked_packages import ASKED
from porter.checks.native.attention_choices import XFORMERS_SWITCH, other_works, stands_beside
from porter.checks.native.faiss_parts import of_gpus
from porter.checks.native.guarded_uses import falls_back, is_missed
from porter.checks.native.package_bystanders import bystanders, is_told_elsewhere, needs_none
from porter.engine.nodes import bound, imported
from porter.engine.rule import TOGETHER, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.uses import in_vain
from porter.rulebook.table import Package, Tables, goes_with, package_row

ATTENTIONS = ("flash_attn", "xformers")


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
        names, lists = imported(original), file.facts.lists
        rows = [package_row(name, self.packages) for name in names]
        # `import numba` for `numba.cuda.jit`, `from audiotools import ml` for `ml.Accelerator`
        used = {part: name for name in names for part in self.parts.get(name, ()) if package_uses.reached(file, part)}
        rows += [(part, self.packages[part]) for part in used]
        matches = [
            (name, row)
            for name, row in filter(None, rows)
            if row.why and row.code == self.code and not goes_with(row, file.target.torch, lists, file.path)
            if not _is_own(name.partition(".")[0], file)
        ]
        for name, row in dict(matches).items():
            if is_told_elsewhere(file, name, self.packages) or name in ASKED and not ASKED[name](file):
                continue
            if row.device is not None and not package_uses.untold(file, name, row.device):
                continue
            apart = tuple(f"{part}." for part in self.parts.get(name, ()))
            if package_uses.only_parts(file, name, apart):
                continue
            if role := file.imported.speaks_for(used.get(name, name), apart):  # once in a file
                if role == "needed" and in_vain(file, used.get(name, name), apart):
                    if not row.anywhere or in_vain(file, name.partition(".")[0], ()):  # else any host has what is used
                        harm = "note" if row.anywhere else row.severity
                        yield Hit(original, "unused", values=(("name", name),), severity=harm)
                    continue
                if role == "needed" and (more := package_uses.idle(name, file)) is not None:
                    if more:
                        yield Hit(original, "idle", values=(("count", more), ("name", name)), severity=row.severity)
                    continue
                calls = package_uses.called(file, name, apart)
                values = (*((("calls", calls),) if calls else ()), ("name", name), *bystanders(file, name))
                if row.anywhere and needs_none(file, name, self.packages):
                    yield Hit(original, "on-host", values=values, severity="note", effort="minutes")
                    continue
                # several names of one stanza are one answer, as those of several versions are
                values = (*values, (TOGETHER, row.why)) if row.severity == "note" else values
                severity = "note" if role == "optional" and not is_missed([*bound(original)], file) else None
                other = _needless(original, name, row, role, file) or of_gpus(original, name, role, values, file)
                told = tuple((key, row.known_as[0] if key == "name" else value) for key, value in values)
                yield other or Hit(original, row.why, values=told, severity=severity)


def _is_own(package: str, file: RuleFile) -> bool:
    """Whether the project provides a package, in this file's folders or as one that its own setup.py installs: then what is
    in it is told there."""
    own = file.facts.own
    made = (folder for folder in own.packages if folder.rpartition("/")[2] == package)
    return own.has_package(package, file.path) or any(folder in file.facts.roads.installed for folder in made)


def _needless(original: cst.Import | cst.ImportFrom, name: str, row: Package, role: str, file: RuleFile) -> Hit | None:
    """What is said where nothing has to be rewritten."""
    runs = row.severity == "slow"  # an NPU host may have it, and its way then
    if role == "optional" and not runs and name not in ASKED and falls_back(name, list(bound(original)), file):
        return Hit(original, "guarded", values=(("name", name),), severity="note", effort="minutes")
    own = role == "optional" and stands_beside(bound(original), file)
    if name.partition(".")[0] in ATTENTIONS and (own or other_works(file.scene.link_to(file.statement), file)):
        return Hit(original, "chosen", values=(("name", name),), severity="note", effort="minutes")
    if name in ATTENTIONS and package_uses.only_asked_for(file, name):
        why = "switched" if name == "xformers" and file.source.says(XFORMERS_SWITCH.encode()) else "asked"
        why = "guarded" if role == "optional" and why == "asked" else why
        severity = row.severity if file.statement in file.tree.body else "note"
        return Hit(original, why, values=(("name", name),), severity=severity)
    if role == "optional" and package_uses.only_asked_for(file, name):
        return Hit(original, "guarded", values=(("name", name),), severity="note", effort="minutes")
    return None
