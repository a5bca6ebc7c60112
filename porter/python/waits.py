"""What the host has to wait for: values that are brought back from the device, and sizes that only the device knows."""

from __future__ import annotations

COPIES = frozenset({"cpu", "numpy", "tolist"})  # methods; what they answer with lies in the memory of the host
READS = COPIES | {"item"}
SEARCHES = ("nonzero", "argwhere")
SIZED_BY_VALUES = (*SEARCHES, "masked_select", "unique", "unique_consecutive")
