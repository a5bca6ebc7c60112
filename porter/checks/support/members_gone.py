"""Methods, attributes and keywords that libraries have taken away: `data.as_matrix()`, `plt.xscale("log", nonposx="clip")`.

Whose method it is, a name does not say: the file imports the library, defines no such method itself, and has no object of the others
that are known to have one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from porter.checks.support.fresh_environment import is_chosen
from porter.engine.nodes import last_word
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import imported_packages
from porter.regex import rare
from porter.rulebook.gone import ANSWER, of_answer, of_keyword
from porter.rulebook.table import Tables

_Row = tuple[tuple[str, str], ...]


class Members:
    """`members`: attributes that are gone. `texts`: patterns of calls whose keywords are. Their names alone would have each `append` looked
    at."""

    def __init__(self, tables: Tables) -> None:
        rows = {name.partition(":")[2]: row for name, row in tables.pins.items() if name.startswith("lost:")}
        self.members = {name: row for name, row in rows.items() if "(" not in name}
        self._keywords: dict[str, dict[str, _Row]] = {}
        self._answers: dict[str, _Row] = {}  # of methods whose answer takes the place of their object
        for name, row in rows.items():
            call, _, keyword = name.rstrip(")").partition("(")
            if keyword == ANSWER:
                self._answers[call] = row
            elif keyword:
                self._keywords.setdefault(call, {})[keyword] = row
        methods = [call for call in self._keywords if "." not in call]
        of_keywords = {of_keyword(call, word) for call, known in self._keywords.items() for word in known}
        self.texts = tuple(sorted(of_keywords.union(map(of_answer, self._answers))))
        self._lasts = frozenset(call.rpartition(".")[2] for call in self._keywords)
        self._others = {row[4][1]: rare(row[4][1].encode()) for row in rows.values() if row[4][1]}
        self._defined = {name: rare(rb"\bdef %s\b" % re.escape(name).encode()) for name in (*self.members, *methods)}

    def of_attribute(self, original: cst.Attribute, updated: Any, file: RuleFile) -> Hit | None:
        name = original.attr.value
        row = self.members.get(name)
        link = (
            file.scene.link_of(original, ast.Attribute)
            if row is not None and self._is_theirs(row, name, file)
            else None
        )
        if row is None or link is None or link[0].ctx.__class__ is not ast.Load or is_chosen(link):
            return None
        new = updated.with_changes(attr=cst.Name(row[2][1])) if row[2][1].isidentifier() else None
        return _hit(original, "member", new, name, row[2][1], row, file)

    def may_be(self, call: cst.Call) -> bool:
        """Whether the last word of what is called is one of theirs: it costs nothing, and most calls are no such."""
        return last_word(call.func) in self._lasts

    def of_call(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        full = file.name(original.func) or ""
        method = original.func.attr.value if isinstance(original.func, cst.Attribute) else ""
        known = self._keywords.get(full) or self._keywords.get(method) or {}
        for index, arg in enumerate(original.args):
            keyword = arg.keyword.value if arg.keyword is not None else ""
            row = known.get(keyword)
            if (
                row is None
                or not self._is_theirs(row, method, file)
                or is_chosen(file.scene.link_of(original, ast.Call))
            ):
                continue
            instead, call = row[2][1], full.rpartition(".")[2] or method
            is_name = instead.isidentifier()
            # with those of later arguments: each call is edited once
            args = [*updated.args[:index], *(_renamed(arg, known) for arg in updated.args[index:])]
            new = updated.with_changes(args=args) if is_name else None
            told = f"{call}({instead}=...)" if is_name else instead
            return _hit(original, "keyword", new, f"{call}({keyword}=...)", told, row, file, at=arg)
        return None

    def of_assignment(self, original: cst.Assign, file: RuleFile) -> Hit | None:
        """`data = data.append(rows)`: a list's method of that name gives nothing back."""
        call = original.value
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or len(original.targets) != 1:
            return None
        method = call.func.attr.value
        row = self._answers.get(method)
        if row is None or file.text(original.targets[0].target) != file.text(call.func.value):
            return None
        if not self._is_theirs(row, method, file) or is_chosen(file.scene.link_of(call, ast.Call)):
            return None
        given = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        if not given.isdisjoint(self._keywords.get(method, ())):
            return None  # told of its keyword
        return _hit(call.func, "member", None, method, row[2][1], row, file)

    def _is_theirs(self, row: _Row, name: str, file: RuleFile) -> bool:
        _, _, _, (_, root), (_, others) = row
        roots = imported_packages(file.names.imports)
        if root not in roots or name in self._defined and file.source.says(self._defined[name]):
            return False
        return not others or not file.source.says(self._others[others])


def _renamed(arg: cst.Arg, known: Mapping[str, _Row]) -> cst.Arg:
    row = known.get(arg.keyword.value) if arg.keyword is not None else None
    return arg.with_changes(keyword=cst.Name(row[2][1])) if row is not None and row[2][1].isidentifier() else arg


def _hit(
    original: Any, why: str, new: Any, name: str, instead: str, row: _Row, file: RuleFile, at: cst.CSTNode | None = None
) -> Hit:
    (by, since), (_, package), *_ = row
    values = (("name", name), ("new", instead), ("by", by), ("version", since))
    if package and file.facts.lists.below(f"{package}>={since}", file.path):
        # nothing stops there, and the older one may not know the new name
        return Hit(original if at is None else at, "held", values=values)
    return Hit(original, why, new=new, values=values)
