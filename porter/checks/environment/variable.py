"""Names of environment variables in `os.environ`, `os.getenv`, env dictionaries: renamed, or explained."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import Any

from porter.checks.environment.variable_edits import (
    computes_otherwise,
    for_both,
    in_command,
    is_deterministic,
    is_taken_out,
    kept_name,
    renamed_in,
    twice,
    without_spaces,
)
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.engine.rule_file import Variable as VariableName
from porter.rulebook.table import Tables, Variable
from porter.rulebook.variable_values import answer, is_list, is_ordered, is_taken

_OF_CUBLAS = "CUBLAS_WORKSPACE_CONFIG"


class EnvironmentVariable(Rule):
    code = "PRT801"
    literals = {"variable"}
    nodes = ("Arg",)  # dict(os.environ, CUDA_VISIBLE_DEVICES="0")

    def __init__(self, tables: Tables) -> None:
        self.rows = tables.variables

    def visit(self, original: cst.BaseString | cst.Arg, updated: Any, file: RuleFile) -> Answer:
        literal = file.literal(original)
        if (
            literal is None
            or literal.kind != "variable"
            or (literal.role == "keyword") != isinstance(original, cst.Arg)
        ):
            return None
        if literal.name == _OF_CUBLAS and is_deterministic(literal, file):
            return Hit(original, "followed", code="PRT803", values=(("old", literal.name),))
        row, new = self.rows.get(literal.name), None
        if row is not None and row.to and (kept := kept_name(original, literal, row, file)):
            return kept
        if row is not None and row.to:
            taken = is_taken(row, literal.value)  # else the variable is better left out
            renamed = partial(in_command, name=literal.name) if literal.role == "command" else renamed_in
            new = renamed(updated, row.to) if taken else None
        if new is not None and row is not None and not file.style.one_world:
            if literal.role == "command" and f"{row.to}=" in file.text(original):
                return None  # it sets both
            both = twice(original, literal.name, row.to or "", file) if literal.role == "command" else None
            hit = self._hit(original, literal, literal.certain and not computes_otherwise(file), row, both, ())
            return hit if both else for_both(hit, literal, row, file)
        # Ray's GPU ids are none of an NPU: the line is ported as a whole; another framework has other devices
        foreign = literal.set and file.source.says(b"get_gpu_ids", file.statement) or computes_otherwise(file)
        readers = file.facts.variables.reader(literal.name) if literal.set else ()
        more = file.facts.variables.elsewhere(literal.name, file.path) if literal.set and not readers else None
        if more is not None:  # one file speaks for all that set it
            values = (("count", more), ("old", literal.name))
            return Hit(original, "elsewhere", code="PRT803", values=values) if more else None
        return without_spaces(
            self._hit(original, literal, literal.certain and not foreign, row, new, readers), literal, row, file
        )

    def _hit(
        self,
        node: cst.CSTNode,
        literal: VariableName,
        certain: bool,
        row: Variable | None,
        new: cst.CSTNode | None,
        readers: tuple[tuple[str, str], ...],
    ) -> Hit | None:
        if row is None:
            return Hit(node, "unknown", code="PRT803", values=(("old", literal.name),))
        if row.value != "keep":
            return None  # PRT802 answers name and value together
        values, gone = (("old", literal.name), ("new", row.to or "")), row.to is None and row.code == "PRT803"
        if gone and row.severity == "note" and _is_only_asked(literal):
            return Hit(node, "asked", code=row.code, values=values[:1])
        if gone and is_taken_out(literal):
            return Hit(node, "removed", code=row.code, values=values[:1])
        if row.to is None:
            why = answer(row, literal.value) if literal.set else row.why
            return Hit(node, why, code=row.code, severity=row.severity, effort=row.effort, values=(*values, *readers))
        if literal.listed and row.code == self.code:
            return Hit(node, "listed", values=(*values, ("line", str(literal.listed))), severity=row.severity)
        if is_list(row) and literal.set and not is_ordered(literal.value or ""):
            return Hit(node, "order", new=new, values=(*values, ("value", literal.value or "")))
        told = Hit(node, row.why, code=row.code, severity=row.severity, effort=row.effort, values=values)
        return replace(told, new=new, safe=row.fix == "safe" and certain and new is not None)


def _is_only_asked(literal: VariableName) -> bool:
    """`os.environ.get("CUDA_HOME")`, where `os.environ["CUDA_HOME"]` raises"""
    return not literal.set and literal.role == "key" and not isinstance(literal.link[1][0], ast.Subscript)
