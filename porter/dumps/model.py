"""A dump as plain data: calls in the order in which they ended, and the tensors that went in and came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod, sqrt
from typing import NamedTuple

FORWARD, BACKWARD, GRADIENTS = "forward", "backward", "parameters_grad"


@dataclass(slots=True)
class Value:
    """A tensor. Numbers that the dump does not have are None."""

    dtype: str  # float32, whatever the framework calls it
    shape: tuple[int, ...]
    top: float | None = None
    bottom: float | None = None
    mean: float | None = None
    norm: float | None = None
    md5: str = ""
    file: str = ""  # of its numbers, as dump.json names it
    trains: bool = False  # requires_grad

    @property
    def numbers(self) -> list[float | None]:
        return [self.top, self.bottom, self.mean, self.norm]

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith(("float", "bfloat", "complex", "hif"))

    @property
    def rms(self) -> float | None:
        return None if self.norm is None else self.norm / sqrt(self.count or 1)

    @property
    def largest(self) -> float | None:
        return None if self.top is None or self.bottom is None else max(abs(self.top), abs(self.bottom))


def mark(value: Value) -> tuple[object, ...]:
    """Of a tensor that is seen again, also in another shape."""
    # NaN is not the same as NaN
    return value.md5 or tuple("nan" if n != n else n for n in value.numbers), value.count


class Name(NamedTuple):
    """Of a call: `Module.layers.0.fc.Linear.forward.0`, `Functional.linear.3.backward`."""

    prefix: str
    path: str  # of a module; empty for an operator
    operator: str  # the class of a module
    direction: str
    number: int  # of the calls with this name, from 0


@dataclass(slots=True)
class Call:
    text: str  # as the dump spells it
    name: Name
    inputs: dict[str, Value] = field(default_factory=dict)
    outputs: dict[str, Value] = field(default_factory=dict)
    weights: dict[str, Value] = field(default_factory=dict)
    literals: dict[str, str] = field(default_factory=dict)  # arguments that are no tensors

    @property
    def is_module(self) -> bool:
        return bool(self.name.path)


@dataclass
class Dump:
    """Of one rank and one step."""

    folder: str
    framework: str = ""
    level: str = ""
    task: str = ""
    calls: dict[str, Call] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    notes: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def of(self, *directions: str) -> list[Call]:
        return [call for call in self.calls.values() if call.name.direction in directions]
