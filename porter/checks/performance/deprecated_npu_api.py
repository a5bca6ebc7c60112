"""Interfaces of torch_npu that its documentation lists as deprecated: rules/deprecated.toml names what to call instead."""

from __future__ import annotations

from typing import Any

from porter.engine.nodes import chain
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import Tables


class DeprecatedNpuApi(Rule):
    code = "PRT620"
    edits = False
    imports = {"torch_npu"}

    def __init__(self, tables: Tables) -> None:
        self.rows = {name: row for name, row in tables.moves.items() if row.code == self.code}
        self.references = frozenset(self.rows)

    def visit(
        self, original: cst.Attribute | cst.Name | cst.Import | cst.ImportFrom, updated: Any, file: RuleFile
    ) -> Answer:
        if isinstance(original, (cst.Import, cst.ImportFrom)):
            return self._import(original)
        name = file.name(original) or ""
        row = self.rows.get(name)
        if row is None or isinstance(original, cst.Name):
            return None  # the import that binds it says so
        return Hit(original, row.why, values=(("name", name),))

    def _import(self, original: cst.Import | cst.ImportFrom) -> list[Hit] | None:
        if isinstance(original, cst.Import) or isinstance(original.names, cst.ImportStar) or original.relative:
            return None
        module = ".".join(chain(original.module)) if original.module is not None else ""
        pairs = ((f"{module}.{alias.name.value}", alias) for alias in original.names)
        return [Hit(alias, self.rows[name].why, values=(("name", name),)) for name, alias in pairs if name in self.rows]
