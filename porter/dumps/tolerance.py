"""How far numbers may be apart by rounding. docs/reference.md gives the table and the reasons."""

from __future__ import annotations

from typing import NamedTuple

# by what one operation on the same inputs may change a number: some units of its rounding, of a sum in another order
_UNITS = {"float64": 1e-9, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
_COARSEST = 0.25  # of a type of one byte
SINGLE = _UNITS["float32"]
REDUCED = 1.2e-3  # products of float32 with ten bits of mantissa: TF32, HF32
SHARE = 0.25  # of the calls: where more have another type, it is no matter of one module
MOSTLY = 0.5  # of the weights: where more differ, it is no matter of one module


class Growth(NamedTuple):
    """How many times the distance of the inputs that of the outputs may be: statistics show less of the former."""

    tensors: float = 4.0
    statistics: float = 10.0


GROWTH = Growth()
CONDITION = 1000.0  # inputs so much larger than outputs are believed to cancel
MASKED = -1e4  # what fills a mask is no number that is summed


def unit(dtype: str) -> float:
    if dtype.startswith(("int", "uint", "bool", "complex")):
        return _UNITS["float32"]
    return _UNITS.get(dtype, _COARSEST)


def is_half(dtype: str) -> bool:
    return unit(dtype) > SINGLE
