"""Files that take nothing from a package but names: one finding speaks for all of them.

Its values `bystanders` and `bystander_files` become the sentence `bystanders` of rules/words/rulebook.toml, whatever the message is. They
are listed in `_OF_THE_PLACE` of engine/together.py and in `_CARRIED` of project/told_together.py, too."""

from __future__ import annotations

from collections.abc import Mapping

from porter.engine.rule_file import RuleFile
from porter.python.host_uses import only_on_host
from porter.rulebook.table import Package

_SHOWN = 3


def is_told_elsewhere(file: RuleFile, package: str, rows: Mapping[str, Package]) -> bool:
    """Whether another file's finding counts this one. Of what is piped in, the project may know an older text."""
    counted = any(row.package == package and file.path in row.paths for row in file.facts.lists.bystanders)
    return counted and _only_on_host(file, package, rows)


def needs_none(file: RuleFile, package: str, rows: Mapping[str, Package]) -> bool:
    """Whether this file speaks for a package of which nothing in the project needs a device."""
    return _spoken_for(file, package) is not None and _only_on_host(file, package, rows)


def bystanders(file: RuleFile, package: str) -> tuple[tuple[str, str], ...]:
    """For `Hit.values`, of the file that speaks for a package: which files it counts."""
    paths = _spoken_for(file, package) or ()
    more = len(paths) - _SHOWN
    shown = ", ".join(paths[:_SHOWN]) + (f" (+{more})" if more > 0 else "")
    return (("bystanders", str(len(paths))), ("bystander_files", shown)) if paths else ()


def _spoken_for(file: RuleFile, package: str) -> tuple[str, ...] | None:
    rows = file.facts.lists.bystanders
    return next((row.paths for row in rows if row.package == package and row.speaker == file.path), None)


def _only_on_host(file: RuleFile, package: str, rows: Mapping[str, Package]) -> bool:
    return bool(only_on_host(file.tree, package, rows, hands_on=file.path.endswith("__init__.py")))
