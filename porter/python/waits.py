"""Lists methods and functions for which the host waits: those that copy values from the device, and those whose size depends on
values."""

from __future__ import annotations

COPIES = frozenset({"cpu", "numpy", "tolist"})  # methods that copy a tensor to the memory of the host
READS = COPIES | {"item"}
SEARCHES = ("nonzero", "argwhere")
# functions whose result has a size that depends on the values
SIZED_BY_VALUES = (*SEARCHES, "masked_select", "unique", "unique_consecutive")
