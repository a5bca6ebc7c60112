"""`yaml.load(file)`: from PyYAML 6.0 on it has to be told its Loader, and raises a TypeError."""

from __future__ import annotations

from porter.checks.support.fresh_environment import is_chosen
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
    values = (
        ("name", f"{called}(...)"),
        ("new", f"{called}(..., Loader={package}.{_FULL})"),
        ("by", "PyYAML"),
        ("version", _SINCE),
    )
    is_held = file.facts.lists.below(f"pyyaml>={_SINCE}", file.path)
    return Hit(
        original,
        "loader",
        new=None if is_held else _told(updated),
        safe=True,
        values=values,
        severity="note" if is_held else None,
    )


def _told(call: cst.Call) -> cst.Call:
    loader = cst.Attribute(call.func.value, cst.Name(_FULL)) if isinstance(call.func, cst.Attribute) else call.func
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    first = call.args[0].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    return call.with_changes(args=[first, cst.Arg(loader, keyword=cst.Name("Loader"), equal=equal)])
