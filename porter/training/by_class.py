"""Finds methods that run for every batch because of what their class is, wherever it is used: the step of an optimizer, the
losses of a module, the assignment of targets to predictions. Names decide, of the class, its bases and the method."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from porter.python.evidence import call_name
from porter.regex import lazy
from porter.rulebook.table import hint

_OPTIMIZERS, _MODULES, _LOSSES, _ASSIGNERS = map(hint, ("optimizer", "module", "loss-of-a-module", "assigner"))
_ASSIGNS = frozenset({"forward", "assign", "__call__"})
# text of a file that may have such a method
MAY_HAVE = lazy(rb"(?i)optimi[sz]er\)|\boptim\.\w+\)|\bdef \w*loss|matcher|assigner")


def runs(name: str, bases: Callable[[], Collection[str]], method: str, has_forward: Callable[[], bool]) -> bool:
    """Whether a method runs for every batch. `name`: of its class. `bases`: the last words of its bases."""
    if method == "step":
        return any(map(_OPTIMIZERS.search, bases()))
    if method in _ASSIGNS:
        return bool(_ASSIGNERS.search(name))
    return bool(_LOSSES.search(method)) and (has_forward() or any(map(_MODULES.search, bases())))


def method_runs(owner: ast.ClassDef, method: str) -> bool:
    """The same of a class in a tree."""

    def has_forward() -> bool:
        return any(getattr(statement, "name", "") == "forward" for statement in owner.body)

    return runs(owner.name, lambda: [call_name(base) for base in owner.bases], method, has_forward)
