"""`yaml.load(file)`: from PyYAML 6.0 on it has to be told its Loader, and raises a TypeError."""

from __future__ import annotations

from porter.checks.support.fresh_environment import is_chosen
from porter.engine.nodes import with_keyword
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile

LOADS = frozenset({"yaml.load", "yaml.load_all"})
TEXT = r"\byaml\.load(?:_all)?\("
_SINCE = "6.0"
_FULL = "FullLoader"  # what PyYAML 5.1 to 5.4 took where none was named


def of_call(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
    """What there is to say of a call of these functions. Where the project holds an older PyYAML, nothing stops."""
    if len(original.args) != 1 or original.args[0].keyword is not None or original.args[0].star:
        return None
    if not isinstance(original.func, cst.Attribute) or is_chosen(file.link(original.func)):
        return None
    called, package = file.text(original.func), file.text(original.func.value)
    new = f"{called}(..., Loader={package}.{_FULL})"
    values = (("name", f"{called}(...)"), ("new", new), ("by", "PyYAML"), ("version", _SINCE))
    if file.facts.lists.below(f"pyyaml>={_SINCE}", file.path):
        return Hit(original, "loader", values=values, severity="note")
    loader = cst.Attribute(original.func.value, cst.Name(_FULL))
    return Hit(original, "loader", new=with_keyword(updated, "Loader", loader), safe=True, values=values)
