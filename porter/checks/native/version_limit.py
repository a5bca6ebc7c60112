"""`mmcv_maximum_version = '1.4.0'`: a limit that refuses, on import, the version of a package which works on NPUs."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.rulebook.table import Tables
from porter.versions import release

_LIMIT = lazy(r"(?i)^(\w+?)_max(?:imum)?_version$")
_LEAST = lazy(r"^([\w-]+)>=([\d.]+)$")
_LAST = {"mmcv": "1.7.2"}  # the newest release of the line that has it; PyPI


class VersionLimit(Rule):
    code = "PRT418"
    nodes = ("Assign",)
    text = r"(?i)_max(?:imum)?_version\s*="

    def __init__(self, tables: Tables) -> None:
        asked = (word for package in tables.packages.values() for word in package.replacement)
        self._least = {found[1]: found[2] for word in asked if (found := _LEAST.match(word)) and found[1] in _LAST}

    def visit(self, original: cst.Assign, updated: cst.Assign, file: RuleFile) -> Answer:
        target, value = original.targets[0].target, original.value
        if len(original.targets) != 1 or not isinstance(target, cst.Name) or not isinstance(value, cst.SimpleString):
            return None
        limit = _LIMIT.match(target.value)
        package = limit[1].lower() if limit else ""
        least, given = self._least.get(package), str(value.evaluated_value)
        if least is None or not release(given) or release(given) >= release(least):
            return None
        last = _LAST[package]
        new = updated.with_changes(value=value.with_changes(value=value.value.replace(given, last)))
        return Hit(
            original, "limit", new=new, values=(("name", package), ("old", given), ("new", last), ("least", least))
        )
