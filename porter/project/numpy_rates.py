"""Where numpy computes a learning rate: its float64 goes into `optimizer.state_dict()`, which `torch.load` refuses from 2.6 on.

A rate counts where the code that computes it is read: `param_group["lr"] = 0.5 * (1 + np.cos(x))`, an element of an array that a
function of the project gives back, and what a LambdaLR multiplies with. A rate that goes through `float` is plain.
"""

from __future__ import annotations

from collections.abc import Iterable

from porter.project.imports import imports_name
from porter.project.numpy_values import NumpyValues, Place
from porter.regex import lazy

_SETS = lazy(rb"\[[\"']lr[\"']\][ \t]*[*]?=(?!=)|\.update\([ \t]*lr[ \t]*=")


def numpy_rates(values: NumpyValues) -> frozenset[Place]:
    """Where the rates of the project that numpy computes are computed."""
    texts = values.texts.items() if values.is_used() else ()
    setting = [path for path, data in texts if b"LambdaLR(" in data or b"param_groups" in data and _SETS.search(data)]
    modules = filter(None, map(values.module, setting))
    return frozenset(p for module in modules for rates in module.rates.values() for p in values.places(rates))


def has_any(path: str, data: bytes, places: Iterable[Place]) -> bool:
    """Whether one of these places is in a file, or it imports what is there."""
    return any(path == where or name and imports_name(data, where, name) for where, name in places)
