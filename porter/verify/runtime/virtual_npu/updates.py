"""The first step of each optimiser: what it did to its parameters, beside what it did in another run of the program."""

import os
import weakref

import numpy
import torch

_MOST = 1 << 26  # numbers that are kept of one optimiser
_own = torch._C.TensorBase


class Updates:
    """`folder`: the run that finds nothing there leaves its updates, each later one is compared with them."""

    def __init__(self, folder, write, rank, as_cpu):
        self.folder, self.write, self.rank, self.as_cpu = folder, write, rank, as_cpu
        self.begun, self.done, self.number = {}, weakref.WeakSet(), 0

    def before(self, optimiser):
        if optimiser not in self.done:
            self.begun[id(optimiser)] = [_own.clone(self.as_cpu(p)) for p in self._parameters(optimiser)]

    def after(self, optimiser):
        before = self.begun.pop(id(optimiser), None)
        if before is None:
            return
        self.done.add(optimiser)
        self.number += 1
        moved = [_own.flatten(_difference(self.as_cpu(p), b)) for p, b in zip(self._parameters(optimiser), before)]
        if moved:
            self._record(type(optimiser).__name__.replace("NpuFused", ""), _own.numpy(torch.cat(moved)))

    def _record(self, name, moved):
        path = os.path.join(self.folder, f"{self.rank()}-{self.number}.bin")
        if not os.path.exists(path):
            moved.tofile(path)
        other = numpy.fromfile(path, dtype=numpy.float32)
        row = {"parameters": len(moved), "size": _norm(other), "distance": "inf", "furthest": "inf"}
        if len(other) == len(moved):
            apart = moved.astype(numpy.float64) - other
            row |= {"distance": _norm(apart), "furthest": float(numpy.abs(apart).max(initial=0)).hex()}
        self.write("update", name, row)

    @staticmethod
    def _parameters(optimiser):
        """As many as are kept."""
        room, kept = _MOST, []
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                if not parameter.is_sparse and parameter.numel() <= room:
                    room -= parameter.numel()
                    kept.append(parameter)
        return kept


def _difference(now, before):
    return _own.float(_own.sub(_own.double(now), _own.double(before)))


def _norm(numbers):
    return float(numpy.linalg.norm(numbers.astype(numpy.float64))).hex()
