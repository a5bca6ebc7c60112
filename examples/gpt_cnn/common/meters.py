"""Speed and memory of a training, measured without stalling it."""

import time
from contextlib import contextmanager

import torch


class Throughput:
    """Items per second since the last report."""

    def __init__(self, device):
        self.device = device
        self.reset()

    def reset(self):
        self.items, self.started = 0, time.perf_counter()

    def add(self, items):
        self.items += items

    def report(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        rate = self.items / max(time.perf_counter() - self.started, 1e-9)
        self.reset()
        return rate


def peak_memory_mib(device, reset=True):
    if not torch.cuda.is_available() or device.type == "cpu":
        return 0.0
    peak = torch.cuda.max_memory_allocated(device) / 2**20
    if reset:
        torch.cuda.reset_peak_memory_stats(device)
    return peak


@contextmanager
def profiled(name, device):
    """A named range on the profiler's timeline."""
    if device.type != "cuda":
        yield
        return
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()
