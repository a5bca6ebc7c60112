"""The times of a solver: torchdiffeq keeps them, and tolerances and steps, in float64 on the device of the state."""

from __future__ import annotations

from porter.engine.nodes import last_word, positional
from porter.engine.rule import TOGETHER, Hit, cst
from porter.engine.rule_file import RuleFile
from porter.regex import lazy

_NAMES = frozenset({"odeint", "odeint_adjoint", "odeint_event"})
SOLVERS = frozenset(f"torchdiffeq.{name}" for name in _NAMES)
# those that choose their steps; without a method it is the first
_ADAPTIVE = frozenset({"dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun", "tsit5", "adams"})
_NAMED = lazy(rb"[\"'](?:%s)[\"']" % "|".join(sorted(_ADAPTIVE)).encode())
_TYPED = lazy(rb"[\"']dtype[\"']")  # a key of the options, wherever the file makes them


def solved(original: cst.Call, file: RuleFile) -> Hit | None:
    """A call of a solver that may choose its steps, where nothing in the file names a type in options."""
    may_be = last_word(original.func) in _NAMES  # most calls are none
    given = positional(original, 5, ("method",)) if may_be and file.name(original.func) in SOLVERS else None
    if file.tested or given is None or any(a.star for a in original.args) or file.source.says(_TYPED):
        return None
    method = given[1].value if given[1] is not None else None
    name = method.raw_value if isinstance(method, cst.SimpleString) else "" if method is not None else "dopri5"
    if name and name not in _ADAPTIVE:
        return None
    is_open = not name and not file.source.says(_NAMED)  # a method that is chosen elsewhere may have fixed steps
    return Hit(original.func, "solver", values=((TOGETHER, "solver"),), severity="note" if is_open else None)
