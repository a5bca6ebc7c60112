"""Layers whose inputs and outputs both leave blocks of the matrix unit partly empty: `nn.Linear(1023, 4095)`."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name, constant

LAYERS = frozenset(f"torch.nn.{name}" for name in ("Linear", "Conv1d", "Conv2d", "Conv3d"))
_BLOCK = 16
_LEAST = {"Linear": 256}  # below it, what a layer costs is the launch
_LEAST_CHANNELS = 64
_FIRST = ("in_features", "in_channels")
_SECOND = ("out_features", "out_channels")


def misfits(call: ast.Call) -> list[int]:
    """Both widths of an inner layer; nothing where one of them fits: it may be what a network is fed, or gives out."""
    named = {k.arg: k.value for k in call.keywords}
    given = list(call.args[:2])
    nodes = [*given, *(named[n] for names in (_FIRST, _SECOND)[len(given) :] for n in names if n in named)]
    numbers = [value for node in nodes if type(value := constant(node)) is int]
    least = _LEAST.get(call_name(call.func), _LEAST_CHANNELS)
    return numbers if len(numbers) == 2 and all(n >= least and n % _BLOCK for n in numbers) else []


def values(widths: list[int]) -> tuple[tuple[str, str], ...]:
    """For the message: what they are, and the next that fit."""
    new = (-(-n // _BLOCK) * _BLOCK for n in widths)
    return ("old", ", ".join(map(str, widths))), ("new", ", ".join(map(str, new)))
