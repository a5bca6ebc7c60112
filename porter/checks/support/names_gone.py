"""`time.clock()`, `import cPickle`, `from scipy.misc import imread`: names that Python and libraries have taken away (rules/gone.toml)."""

from __future__ import annotations

import re
from typing import Any

from porter.checks.device.import_parts import renamed
from porter.checks.support import yaml_loaders
from porter.checks.support.fresh_environment import is_chosen, matters
from porter.checks.support.members_gone import Members
from porter.checks.support.names_that_went import gone
from porter.engine.nodes import chain
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import rare
from porter.rulebook.table import Tables
from porter.versions import release

_TAKEN = (3, 10)  # a Python that torch of every target takes: what a later one lacks, stops some


class NamesGone(Rule):
    code = "PRT722"
    nodes = ("Import", "ImportFrom", "Call", "Assign")
    calls = yaml_loaders.LOADS

    def __init__(self, tables: Tables) -> None:
        # PRT719 tells those of torch
        self._gone = rows = {name: row for name, row in gone(tables).items() if row[0][0] != "torch"}
        self.references = frozenset(name for name in rows if "." in name)
        self._members = of = Members(tables)
        self.attributes = of.members.keys()
        owners = sorted({re.escape(name.rpartition(".")[0]) for name in self.references})
        modules = [re.escape(name) for name, row in rows.items() if row[-1][0] == "module"]
        # `import Queue` and `from Queue import ...`, not `from queue import Queue`
        whole = (rf"\b{n}\b(?:(?<=import {n})(?<!\w import {n})|(?<=from {n})|(?<=, {n}))" for n in modules)
        self.text = (yaml_loaders.TEXT, *(rf"\b{owner}[ \t]+import\b" for owner in owners), *whole, *of.texts)
        # `hasattr(inspect, "getfullargspec")`
        self._thought = rare(rb"hasattr\((?:%s)," % "|".join(owners).encode())

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        is_call = isinstance(original, cst.Call)
        if is_call and file.name(original.func) in self.calls:
            return yaml_loaders.of_call(original, updated, file) if matters(file) else None
        if is_call and not self._members.may_be(original) or not matters(file) or file.source.says(self._thought):
            return None
        if is_call:
            return self._members.of_call(original, updated, file)
        if isinstance(original, cst.Assign):
            return self._members.of_assignment(original, file)
        if isinstance(original, (cst.Import, cst.ImportFrom)):
            is_guarded = file.imported.import_guard() or file.imported.asked_first()
            return None if is_guarded else self._of_import(original, updated, file)
        name = file.name(original) or ""
        if isinstance(original, cst.Attribute) and name not in self._gone:
            return self._members.of_attribute(original, updated, file)
        if (
            not isinstance(original, cst.Attribute)  # the import answers for its names
            or not file.around.is_read(original)
            or file.imported.optional(original)
            or is_chosen(file.link(original))
        ):
            return None
        new = updated.with_changes(attr=cst.Name(self._same(name))) if self._same(name) else None
        return self._hit(original, new, name, file)

    def _of_import(self, original: cst.Import | cst.ImportFrom, updated: Any, file: RuleFile) -> Hit | None:
        if isinstance(original, cst.Import):
            names = [".".join(chain(alias.name)) for alias in original.names]
            gone = next((name for name in names if name in self._gone), None)
            return self._hit(original, None, gone, file) if gone else None
        if original.relative or original.module is None:
            return None
        module = ".".join(chain(original.module))
        if module in self._gone:
            return self._hit(original, None, module, file)
        if isinstance(original.names, cst.ImportStar):
            return None
        names = [f"{module}.{alias.name.value}" for alias in original.names]
        gone_here = [name for name in names if name in self._gone]
        if not gone_here:
            return None
        new = None
        if all(map(self._same, gone_here)):
            aliases = [renamed(a, self._same(n) or a.name.value) for a, n in zip(updated.names, names, strict=True)]
            new = updated.with_changes(names=aliases)
        return self._hit(original, new, gone_here[0], file)

    def _same(self, name: str) -> str:
        kind, new = self._gone[name][-1] if name in self._gone else ("", "")
        return new if kind == "same" else ""

    def _hit(self, original: Any, new: Any, name: str, file: RuleFile) -> Hit:
        (by, since), (_, package), (kind, instead) = self._gone[name]
        is_held = package and file.facts.lists.below(f"{package}>={since}", file.path)  # then nothing stops
        is_late = by == "Python" and release(since) > _TAKEN
        successor = f"{name.rpartition('.')[0]}.{instead}" if kind == "same" else instead
        values = (("name", name), ("new", successor), ("by", by), ("version", since))
        why = "held" if is_held and new is None else "module" if kind == "module" else "default"
        return Hit(
            original,
            why,
            new=new,
            safe=True,
            values=values,
            severity="note" if is_held else "wrong" if is_late else None,
        )
