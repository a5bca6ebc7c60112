"""The edits: the lines of a plan, and what every program gets at its top."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from typing import Any

from porter.analysis.file import File
from porter.finding import Change, apply
from porter.instrument.loops import RECORDER, Missing, Plan
from porter.instrument.marks import Changed, Line, insertions, renewed, without
from porter.instrument.naming import statement_of
from porter.instrument.own_files import Edited
from porter.instrument.program import Found, Program
from porter.python.evidence import call_name
from porter.python.index import Node, walk
from porter.python.trees import parse

_UNDOES = frozenset({"benchmark", "deterministic"})


def start_line(given: Mapping[str, Any]) -> str:
    parts = (f"{name}={value!a}" for name, value in given.items())
    return f"{RECORDER}.start({', '.join(parts)})"


def edits(
    program: Program, found: list[Found], given: Mapping[str, Any]
) -> tuple[list[Edited], list[tuple[str, Missing]]]:
    """Of each file, and what could not be written, with the file."""
    done, missing = [], []
    lines: dict[str, list[Line]] = {program.script: _top(program.file(program.script), start_line(given))}
    for each in found:
        missing += [(each.path, one) for one in each.plan.missing]
        records = not given.keys().isdisjoint({"log", "lr_zero"})
        each = each._replace(plan=each.plan if records else _without_records(each.plan))
        lines.setdefault(each.path, _top(program.file(each.path), "") if each.plan.lines else []).extend(
            each.plan.lines
        )
    for path in sorted(lines):
        file = program.file(path)
        if "seed" in given:
            lines[path] += _undoing(file)
        changes, crowded = insertions(file.source, lines[path])
        missing += [(path, Missing(number, "crowded", line.text)) for number, line in crowded]
        done.append(_edited(program, path, changes))
    return done, missing


def _without_records(plan: Plan) -> Plan:
    """Where only the step is marked, for msProbe and the profiler."""
    recording = tuple(f"{RECORDER}.{name}(" for name in ("step", "loss", "watch"))
    return plan._replace(lines=[line for line in plan.lines if not line.text.startswith(recording)])


def _edited(program: Program, path: str, changes: list[Change]) -> Edited:
    old, source = program.data(path), program.file(path).source
    bare = source.stored.data
    new = apply(bare, source.stored.edits(tuple(changes)))
    try:
        kept = without(new) == bare and parse(new) is not None
    except Changed:
        kept = False
    if not kept:  # a promise: what was put in can be taken out to the byte
        raise RuntimeError(f"{path}: what is put in could not be taken out again")
    return Edited(path, old, new, renewed(old, changes))


def _top(file: File, start: str) -> list[Line]:
    """The import of the recorder: above the first import that may load torch, so that it is early enough for all."""
    first = _first_import(file.tree)
    if first is None:
        return []
    lines = _found_from_anywhere(file) if start else []
    return [Line(text, first) for text in [*lines, f"import {RECORDER}", start] if text]


def _first_import(tree: ast.Module) -> Node | None:
    statements = [s for s in tree.body if not _is_docstring(s) and not _is_of_the_library(s)]
    return next((s for s in statements if _imports(s)), next(iter(statements), None))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_of_the_library(statement: ast.stmt) -> bool:
    """An import of what comes with Python."""
    if isinstance(statement, ast.Import):
        return all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in statement.names)
    if isinstance(statement, ast.ImportFrom) and not statement.level:
        return (statement.module or "").partition(".")[0] in sys.stdlib_module_names
    return False


def _imports(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in walk(statement))


def _found_from_anywhere(file: File) -> list[str]:
    """A script of a package may be run as a module of it: then its folder is no place where modules are looked for."""
    packages = {n.module.partition(".")[0] for n in file.tree.body if isinstance(n, ast.ImportFrom) and n.module}
    is_relative = any(isinstance(node, ast.ImportFrom) and node.level for node in file.tree.body)
    root, folder, _ = file.path.partition("/")
    if not is_relative and not (folder and root in packages):
        return []
    return ["import os, sys", "sys.path.append(os.path.dirname(os.path.abspath(__file__)))"]


def _undoing(file: File) -> list[Line]:
    """Behind what makes runs differ again: `cudnn.benchmark = True`."""
    lines = []
    for link in [*file.buckets[ast.Assign], *file.buckets[ast.Call]]:
        node = link[0]
        if node.__class__ is ast.Assign:
            names = {getattr(t, "attr", "") for t in node.targets if "cudnn" in ast.unparse(t)}
            undoes = bool(names & _UNDOES) and getattr(node.value, "value", None) is not ("deterministic" in names)
        else:
            undoes = call_name(node.func) == "use_deterministic_algorithms"
            node = statement_of(link)[0] if undoes else node
        if undoes:
            lines.append(Line(f"{RECORDER}.deterministic()", node, below=True))
    return lines
