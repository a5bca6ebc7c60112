"""`np.float`, `np.Inf`: names that numpy has taken away, and modules of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.checks.support.fresh_environment import matters
from porter.engine.nodes import imported
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.target import first_python

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
_WRITTEN = {
    **{"NINF": "-{0}.inf", "NZERO": "-0.0", "PZERO": "0.0", "asfarray": "{0}.asarray(..., dtype=float)"},
    **{"msort": "{0}.sort(..., axis=0)", "find_common_type": "{0}.result_type", "obj2sctype": "{0}.dtype(...).type"},
    **{"issubclass_": "issubclass", "issubsctype": "{0}.issubdtype", "disp": "print", "safe_eval": "ast.literal_eval"},
    **{"cast": "{0}.asarray(..., dtype=...)", "math": "math", "DataSource": "{0}.lib.npyio.DataSource"},
    **{"asscalar": "a.item()", "trapz": "{0}.trapezoid"},
}  # by hand
_FLAT = {"in1d": "isin"}
_AT = {"asscalar": "1.23", "trapz": "2.4", "in1d": "2.4"} | dict.fromkeys(_BUILTINS, "1.24")  # the others: 2.0
_SINCE = {
    "1.23": ("1.23.0", "1.26.4", "2.0.0", "2.3.0"),
    "1.24": ("1.24.0", "1.26.4", "2.0.0", "2.3.0"),
    "2.0": ("2.0.0", "2.3.0"),
    "2.4": ("2.4.0",),
}  # among which the names are missing
_YOUNG = (*_SINCE["2.0"], *_SINCE["2.4"])  # those that have `trapezoid`
_FOR_NUMPY_2 = (2, 3)  # the first torch that was built for numpy 2
_MODULES = lazy(
    r"numpy\.(?:dual|lib\.(?:arraypad|arraysetops|function_base|histograms|index_tricks|nanfunctions|polynomial|"
    r"shape_base|twodim_base|type_check|ufunclike|utils))(?!\w)"
)
_BACK = frozenset({"bool", "long"})  # numpy 2.0 has them again


class NumpyNames(Rule):
    code = "PRT708"
    references = frozenset(f"numpy.{name}" for name in (*_BUILTINS, *_RENAMED, *_WRITTEN, *_FLAT))
    nodes = ("Import", "ImportFrom")
    text = r"\bnumpy\.(?:lib|dual)\b"

    def visit(
        self, original: cst.Attribute | cst.Name | cst.Import | cst.ImportFrom, updated: Any, file: RuleFile
    ) -> Answer:
        # where nothing is computed with torch, the numpy of today is no matter of ours
        if not matters(file):
            return None
        if isinstance(original, (cst.Import, cst.ImportFrom)):
            return _module(original, file)
        if not isinstance(original, cst.Attribute) or not isinstance(original.value, cst.Name):
            return None
        if not file.around.is_read(original):  # `np.float = np.float64`: somebody's own cure
            return None
        name = original.attr.value
        # `np.trapezoid if hasattr(np, "trapezoid") else np.trapz`; and a numpy below 2 has the old name alone
        if name == "trapz" and (b"trapezoid" in file.source.words or _is_older(file)):
            return None
        version, new = _AT.get(name, "2.0"), _RENAMED.get(name) or _FLAT.get(name, "")
        if name in _BUILTINS:
            new = _BUILTINS[name]
            node = cst.Name(new, lpar=updated.lpar, rpar=updated.rpar)
            is_free = not file.names.bound(new)
        elif name in _WRITTEN:
            node, new, is_free = updated, _WRITTEN[name].format(original.value.value), False
        else:
            node = updated.with_changes(attr=updated.attr.with_changes(value=new))
            new, is_free = f"{original.value.value}.{new}", True
        values = (("new", new), ("old", file.text(original)), ("version", version))
        why = "between" if name in _BACK else "flat" if name in _FLAT else "young" if name == "trapz" else "gone"
        # numpy 2's own is a type that Python's is no parent of
        safe = name not in _FLAT and (name not in _BACK or not file.around.is_within(original, "isinstance"))
        # where the project holds on to an older numpy, nothing stops
        severity = "note" if _are_left_out(_SINCE[version], file) else None
        return Hit(original, why, new=node if is_free else None, safe=safe, values=values, severity=severity)


def _is_older(file: RuleFile) -> bool:
    """Whether numpy stays below 2: the lists hold it there, or the target's torch was built for it."""
    return file.target.torch < _FOR_NUMPY_2 or _are_left_out(_YOUNG, file)


def _are_left_out(numpys: Iterable[str], file: RuleFile) -> bool:
    return file.facts.lists.leaves_out(*numpys, python=first_python(file.target.torch))


def _module(original: cst.Import | cst.ImportFrom, file: RuleFile) -> Hit | None:
    if file.imported.import_guard():
        return None
    old = next((found[0] for name in imported(original) if (found := _MODULES.match(name))), None)
    severity = "note" if _are_left_out(_SINCE["2.0"], file) else None
    return Hit(original, "module", values=(("old", old),), severity=severity) if old else None
