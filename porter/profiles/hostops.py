"""Operators on the host, in the order in which they call each other: the own time of each, and the lines that call it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

MOST = 1 << 18  # calls that are held, and as many frames of Python
_DEEP, _STACKS = 12, 20_000  # frames of a stack, and different stacks that are held
_LIBRARY = ("torch/", "torch_npu/", "<", "nn.Module", "site-packages/")


class Call(NamedTuple):
    name: int
    time: int  # nanoseconds, without the operators that it calls
    number: int  # what kernels call it by; -1: nothing
    stack: str  # of the program, the innermost frame first


class HostOps:
    def __init__(self) -> None:
        self._threads: dict[object, int] = {}
        self._columns = array("i"), array("q"), array("q"), array("i"), array("q")
        self._frames: list[str] = []
        self._frame_of: dict[str, int] = {}
        self._python = 0
        self.missed = 0

    def add(self, thread: object, name: int, start: int, end: int, number: int = -1) -> None:
        if len(self._columns[0]) - self._python >= MOST:
            self.missed += 1
        else:
            self._append(thread, start, end, name, number)

    def add_frame(self, thread: object, frame: str, start: int, end: int) -> None:
        """A function of Python. Those of libraries are no place in a program."""
        if self._python < MOST and not frame.startswith(_LIBRARY) and "site-packages/" not in frame:
            name = self._frame_of.setdefault(frame, len(self._frames))
            if name == len(self._frames):
                self._frames.append(frame)
            self._python += 1
            self._append(thread, start, end, -1 - name, -1)

    def calls(self) -> Iterator[Call]:
        thread, start, end, name, number = self._columns
        many = range(len(start))
        times = array("q", (end[at] - start[at] for at in many))
        stacks, stack_of = [""], array("i", [0]) * len(start)
        known = {"": 0}
        around: list[int] = []
        for at in sorted(many, key=lambda at: (thread[at], start[at], -end[at], name[at])):
            while around and (thread[at] != thread[around[-1]] or end[at] > end[around[-1]]):
                around.pop()
            if name[at] >= 0:
                outer = next((one for one in reversed(around) if name[one] >= 0), None)
                if outer is not None:
                    times[outer] -= times[at]
                frames = [self._frames[-1 - name[one]] for one in reversed(around) if name[one] < 0][:_DEEP]
                stack = ";".join(frames)
                if stack in known or len(stacks) < _STACKS:
                    stack_of[at] = known.setdefault(stack, len(stacks))
                    stacks += [stack] if stack_of[at] == len(stacks) else []
            around.append(at)
        yield from (Call(name[at], times[at], number[at], stacks[stack_of[at]]) for at in many if name[at] >= 0)

    def _append(self, thread: object, start: int, end: int, name: int, number: int) -> None:
        row = (self._threads.setdefault(thread, len(self._threads)), start, end, name, number)
        for column, value in zip(self._columns, row):
            column.append(value)
