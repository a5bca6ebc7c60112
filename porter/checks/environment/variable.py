"""Names of environment variables in `os.environ`, `os.getenv`, env dictionaries: renamed, or explained."""

from __future__ import annotations

from typing import Any

from porter.engine.nodes import quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.engine.rule_file import Variable as Found
from porter.rulebook.table import Tables, Variable
from porter.rulebook.variable_values import is_list, is_ordered


class EnvironmentVariable(Rule):
    code = "PRT801"
    literals = {"variable"}
    nodes = ("Arg",)  # dict(os.environ, CUDA_VISIBLE_DEVICES="0")

    def __init__(self, tables: Tables) -> None:
        self.rows = tables.variables

    def visit(self, original: cst.BaseString | cst.Arg, updated: Any, file: RuleFile) -> Answer:
        found = file.literal(original)
        if found is None or found.kind != "variable" or (found.role == "keyword") != isinstance(original, cst.Arg):
            return None
        row, new = self.rows.get(found.name), None
        if row is not None and row.to:
            new = self._renamed(updated, row.to)
        # Ray's GPU ids are none of an NPU: the line is ported as a whole
        foreign = found.set and file.source.says(b"get_gpu_ids", file.statement)
        readers = file.facts.own.reader(found.name) if found.set else ()
        return self._hit(original, found, found.certain and not foreign, row, new, readers)

    @staticmethod
    def _renamed(node: cst.Arg | cst.BaseString, to: str) -> cst.CSTNode | None:
        if isinstance(node, cst.Arg):
            return node.with_changes(keyword=node.keyword and node.keyword.with_changes(value=to))
        return quoted(node, to) if isinstance(node, cst.SimpleString) else None

    def _hit(
        self,
        at: cst.CSTNode,
        found: Found,
        certain: bool,
        row: Variable | None,
        new: cst.CSTNode | None,
        readers: tuple[tuple[str, str], ...],
    ) -> Hit | None:
        if row is None:
            return Hit(at, "unknown", code="PRT803", values=(("old", found.name),))
        if row.value != "keep":
            return None  # PRT802 answers name and value together
        values = (("old", found.name), ("new", row.to or ""))
        if row.to is None:
            return Hit(at, row.why, code=row.code, severity=row.severity, effort=row.effort, values=(*values, *readers))
        if is_list(row) and found.set and not is_ordered(found.value or ""):
            return Hit(at, "order", new=new, values=(*values, ("value", found.value or "")))
        safe = row.fix == "safe" and certain and new is not None
        weight: dict[str, Any] = {"severity": row.severity, "effort": row.effort}
        return Hit(at, row.why, new=new, safe=safe, code=row.code, values=values, **weight)
