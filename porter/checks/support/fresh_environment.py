"""Whether what an environment of today brings is a matter of the port of a file."""

from __future__ import annotations

from porter.engine.rule_file import RuleFile
from porter.rulebook.table import hints

_FRAMEWORKS = hints("another-framework")


def matters(file: RuleFile) -> bool:
    """Whether the file, or one of its programs, computes with torch: else its old packages may stay."""
    return file.names.torch is not None or file.facts.roads.loads and not _is_of_another(file)


def _is_of_another(file: RuleFile) -> bool:
    bound = (target for bindings in file.names.imports.values() for target, _ in bindings)
    return any(target.partition(".")[0] in _FRAMEWORKS for target in bound)
