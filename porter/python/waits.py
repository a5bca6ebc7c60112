"""Lists methods and functions for which the host waits: those that copy values from the device, and those whose size depends on
values. And the clocks that need such a wait."""

from __future__ import annotations

COPIES = frozenset({"cpu", "numpy", "tolist"})  # methods that copy a tensor to the memory of the host
READS = COPIES | {"item"}
SEARCHES = ("nonzero", "argwhere")
# functions whose result has a size that depends on the values
SIZED_BY_VALUES = (*SEARCHES, "masked_select", "unique", "unique_consecutive")
# functions and methods that say what time it is, or how much of it has passed
CLOCKS = frozenset(
    """perf_counter perf_counter_ns monotonic monotonic_ns time_ns process_time process_time_ns default_timer elapsed_time""".split()
)
