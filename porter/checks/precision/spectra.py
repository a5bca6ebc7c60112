"""Complex numbers that only a Fourier transform sees: what goes in and comes out is kept in two parts."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.python.index import FUNCTIONS, Node, ancestors

_WAYS = ("", "2", "n")
_TO_REAL = frozenset(f"torch.fft.{name}{way}" for name in ("irfft", "hfft") for way in _WAYS) | {"torch.istft"}
_TO_COMPLEX = frozenset(f"torch.fft.{name}{way}" for name in ("fft", "ifft") for way in _WAYS)
_PARTS = frozenset({"torch.view_as_real", "torch.real", "torch.imag"})


def only_transformed(file: RuleFile, made: Link) -> bool:
    """Whether all that becomes of a complex tensor is a transform that the target has, and its real parts after it."""
    return _ends_well(file, made, {made[0]})


def _ends_well(file: RuleFile, value: Link, seen: set[Node]) -> bool:
    node, above = value[0], value[1]
    user = above[0]
    if user.__class__ is ast.Attribute:
        return user.attr in ("real", "imag")
    if user.__class__ is ast.Call:
        name = file.names.resolve(user.func, above) if user.args and user.args[0] is node else None
        if name in _PARTS:
            return True
        return _has(file, name) and (name in _TO_REAL or name in _TO_COMPLEX and _ends_well(file, above, seen))
    if user.__class__ is ast.Assign and len(user.targets) == 1 and user.targets[0].__class__ is ast.Name:
        return _read_well(file, user.targets[0], above, seen)
    return False


def _read_well(file: RuleFile, name: ast.Name, assignment: Link, seen: set[Node]) -> bool:
    """Of a name that is set to it: of all that the name may hold, no less."""
    if any(use[1][0].__class__ is ast.AugAssign and _sees(use, assignment) for use in file.names.spelled(name.id)):
        return False
    readers = [use for use in file.names.readers(name.id, (name, assignment)) if use[0] not in seen]
    seen.update(use[0] for use in readers)
    return bool(readers) and all(_ends_well(file, use, seen) for use in readers)


def _sees(use: Link, assignment: Link) -> bool:
    """Whether a name may be the same at both: the function around the assignment is around the use."""
    function = next((a[0] for a in ancestors(assignment) if a[0].__class__ in FUNCTIONS), None)
    return function is None or any(a[0] is function for a in ancestors(use))


def _has(file: RuleFile, name: str | None) -> bool:
    verdict = file.session.support.of(name) if name else None
    return verdict is not None and verdict.severity == "note"
