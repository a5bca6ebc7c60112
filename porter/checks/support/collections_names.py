"""`collections.Iterable`, `from collections import Mapping`: names that Python 3.10 has left to collections.abc alone."""

from __future__ import annotations

from typing import Any

from porter.checks.device.import_parts import Alias
from porter.checks.support.fresh_environment import is_chosen, matters
from porter.engine.nodes import chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import hints

_NAMES = hints("moved-to-collections-abc")


class CollectionsNames(Rule):
    code = "PRT713"
    references = frozenset(f"collections.{name}" for name in _NAMES)
    nodes = ("ImportFrom",)
    text = r"\bcollections[ \t]+import\b"

    def visit(self, original: cst.Attribute | cst.Name | cst.ImportFrom, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.ImportFrom):
            return _statement(original, updated, file)
        if not isinstance(original, cst.Attribute) or not isinstance(original.value, cst.Name):
            return None  # the import answers for its names
        if not matters(file) or not file.around.is_read(original) or file.imported.optional(original):
            return None
        if is_chosen(file.link(original)):
            return None
        new = updated.with_changes(value=cst.Attribute(updated.value, cst.Name("abc")))
        return Hit(original, "default", new=new, safe=True, values=(("name", original.attr.value),))


def _statement(original: cst.ImportFrom, updated: cst.ImportFrom, file: RuleFile) -> Hit | None:
    if original.relative or original.module is None or chain(original.module) != ["collections"]:
        return None
    if isinstance(original.names, cst.ImportStar) or not matters(file):
        return None
    moved = [alias for alias in original.names if alias.name.value in _NAMES]
    if not moved or file.imported.import_guard() or file.imported.asked_first():
        return None
    if is_chosen(file.scene.link_to(file.statement)):
        return None
    values = (("name", ", ".join(str(alias.name.value) for alias in moved)),)
    module = dotted("collections.abc")
    if len(moved) == len(original.names):
        new = updated.with_changes(module=module)
        return Hit(original, "default", new=new, safe=True, values=values)
    if original.lpar is not None:  # its lines may hold comments
        return Hit(original, "default", values=values)
    kept = _list([alias for alias in original.names if alias not in moved])
    line = cst.Module([]).code_for_node(cst.ImportFrom(module=module, names=_list(moved)))
    return Hit(original, "default", new=updated.with_changes(names=kept), safe=True, after=(line,), values=values)


def _list(aliases: list[Alias]) -> list[Alias]:
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    last = len(aliases) - 1
    return [
        alias.with_changes(comma=cst.MaybeSentinel.DEFAULT if number == last else comma)
        for number, alias in enumerate(aliases)
    ]
