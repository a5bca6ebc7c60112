"""`np.float`, `np.Inf`: names that numpy has taken away."""

from __future__ import annotations

from typing import Any

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import hints

_BUILTINS = {name: name for name in ("float", "int", "bool", "object", "str", "complex")} | {
    "long": "int",
    "unicode": "str",
}
_RENAMED = {
    **{"float_": "float64", "complex_": "complex128", "unicode_": "str_", "string_": "bytes_", "cfloat": "complex128"},
    **{
        "singlecomplex": "complex64",
        "longfloat": "longdouble",
        "longcomplex": "clongdouble",
        "clongfloat": "clongdouble",
    },
    **{"Inf": "inf", "Infinity": "inf", "infty": "inf", "PINF": "inf", "NaN": "nan", "NAN": "nan", "round_": "round"},
    **{"product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any", "mat": "asmatrix"},
}
_WRITTEN = {"NINF": "-{0}.inf", "NZERO": "-0.0", "PZERO": "0.0", "asfarray": "{0}.asarray(..., dtype=float)"}  # by hand
_SINCE = {
    "1.24": ("1.24.0", "1.26.4", "2.0.0", "2.3.0"),
    "2.0": ("2.0.0", "2.3.0"),
}  # among which the names are missing
_BACK = frozenset({"bool", "long"})  # numpy 2.0 has them again
_FRAMEWORKS = hints("another-framework")


class NumpyNames(Rule):
    code = "PRT708"
    references = frozenset(f"numpy.{name}" for name in (*_BUILTINS, *_RENAMED, *_WRITTEN))

    def visit(self, original: cst.Attribute | cst.Name, updated: Any, file: RuleFile) -> Answer:
        # where nothing is computed with torch, the numpy of today is no matter of ours
        if file.names.torch is None and (not file.facts.roads.loads or _is_of_another(file)):
            return None
        if not isinstance(original, cst.Attribute) or not isinstance(original.value, cst.Name):
            return None
        if not file.around.is_read(original):  # `np.float = np.float64`: somebody's own cure
            return None
        name = original.attr.value
        new, version = _RENAMED.get(name, ""), "2.0"
        if name in _BUILTINS:
            new, version = _BUILTINS[name], "1.24"
            node = cst.Name(new, lpar=updated.lpar, rpar=updated.rpar)
            is_free = not file.names.bound(new)
        elif name in _WRITTEN:
            node, new, is_free = updated, _WRITTEN[name].format(original.value.value), False
        else:
            node = updated.with_changes(attr=updated.attr.with_changes(value=new))
            new, is_free = f"{original.value.value}.{new}", True
        values = (("new", new), ("old", file.text(original)), ("version", version))
        why = "between" if name in _BACK else "gone"
        # numpy 2's own is a type that Python's is no parent of
        safe = name not in _BACK or not file.around.is_within(original, "isinstance")
        # where the project holds on to an older numpy, nothing stops
        severity = "note" if file.facts.lists.leaves_out(*_SINCE[version]) else None
        return Hit(original, why, new=node if is_free else None, safe=safe, values=values, severity=severity)


def _is_of_another(file: RuleFile) -> bool:
    bound = (target for bindings in file.names.imports.values() for target, _ in bindings)
    return any(target.partition(".")[0] in _FRAMEWORKS for target in bound)
