"""What numpy has taken away, in which versions, and what is written instead."""

from __future__ import annotations

from porter.regex import lazy
from porter.versions import LATEST

# by which name of Python's own
BUILTINS = {name: name for name in ("float", "int", "bool", "object", "str", "complex")} | {
    "long": "int",
    "unicode": "str",
}
# by which other name of numpy
RENAMED = {
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
# by hand
WRITTEN = {
    **{"NINF": "-{0}.inf", "NZERO": "-0.0", "PZERO": "0.0", "asfarray": "{0}.asarray(..., dtype=float)"},
    **{"msort": "{0}.sort(..., axis=0)", "find_common_type": "{0}.result_type", "obj2sctype": "{0}.dtype(...).type"},
    **{"issubclass_": "issubclass", "issubsctype": "{0}.issubdtype", "disp": "print", "safe_eval": "ast.literal_eval"},
    **{"cast": "{0}.asarray(..., dtype=...)", "math": "math", "DataSource": "{0}.lib.npyio.DataSource"},
    **{"asscalar": "a.item()", "trapz": "{0}.trapezoid"},
}
# by a name of numpy that answers in another shape
FLAT = {"in1d": "isin"}
BACK = frozenset({"bool", "long"})  # numpy 2.0 has them again
MODULES = lazy(
    r"numpy\.(?:dual|lib\.(?:arraypad|arraysetops|function_base|histograms|index_tricks|nanfunctions|polynomial|"
    r"shape_base|twodim_base|type_check|ufunclike|utils))(?!\w)"
)
_GONE_WITH = {"asscalar": "1.23", "trapz": "2.4", "in1d": "2.4"} | dict.fromkeys(BUILTINS, "1.24")  # the others: 2.0
WITH_TRAPEZOID = "2.0"  # the first numpy that has it


def gone_with(name: str) -> str:
    """The version that took a name away."""
    return _GONE_WITH.get(name, "2.0")


def lacking(name: str) -> tuple[str, str]:
    """The versions without a name, or without one of MODULES, from one on and before another: who takes none of them has the name."""
    return gone_with(name), "2.0" if name in BACK else LATEST


def way_of(name: str) -> str:
    """The message that says what takes the place of a name."""
    return "between" if name in BACK else "flat" if name in FLAT else "young" if name == "trapz" else "gone"


def successor(name: str, module: str) -> str:
    """What is written instead. `module`: what numpy is called there."""
    if name in BUILTINS or name in WRITTEN:
        return BUILTINS.get(name) or WRITTEN[name].format(module)
    return f"{module}.{RENAMED.get(name) or FLAT[name]}"
