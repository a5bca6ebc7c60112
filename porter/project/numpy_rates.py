"""Where numpy computes a learning rate: its float64 goes into `optimizer.state_dict()`, which `torch.load` refuses from 2.6 on.

A rate counts where the code that computes it is read: `param_group["lr"] = 0.5 * (1 + np.cos(x))`, an element of an array that a
function of the project gives back, and what a LambdaLR multiplies with. A rate that goes through `float` is plain.
"""

from __future__ import annotations

from collections.abc import Iterable

from porter.project.imports import imports_name
from porter.project.numpy_values import NumpyValues, Place
from porter.regex import lazy

_SETS = lazy(rb"\[[\"']lr[\"']\][ \t]*[*]?=(?!=)|\bLambdaLR\(|\.update\([ \t]*lr[ \t]*=")
_WORDS = (b'"lr"]', b"'lr']", b"LambdaLR(", b".update(")  # one of these is in all that matches


def numpy_rates(values: NumpyValues) -> frozenset[Place]:
    """Where the rates of the project that numpy computes are computed."""
    texts = values.texts.items()
    setting = [path for path, data in texts if any(word in data for word in _WORDS) and _SETS.search(data)]
    modules = filter(None, map(values.module, setting if values.is_used() else ()))
    return frozenset(p for module in modules for rates in module.rates.values() for p in values.places(rates))


def has_rates(path: str, data: bytes, places: Iterable[Place]) -> bool:
    """Whether a file computes one of these rates, or imports what does."""
    return any(path == where or name and imports_name(data, where, name) for where, name in places)
