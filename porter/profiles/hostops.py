"""The own time of operators on the host: an operator calls others, on its thread."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

MOST = 1 << 19  # calls that are held


class HostOps:
    def __init__(self) -> None:
        self._threads: dict[object, int] = {}
        self._thread, self._name = array("i"), array("i")
        self._start, self._end = array("q"), array("q")
        self.missed = 0

    def add(self, thread: object, name: int, start: int, end: int) -> None:
        if len(self._start) >= MOST:
            self.missed += 1
            return
        self._thread.append(self._threads.setdefault(thread, len(self._threads)))
        self._name.append(name)
        self._start.append(start)
        self._end.append(end)

    def own_times(self) -> Iterator[tuple[int, int, int]]:
        """(name, calls, nanoseconds without those of the operators within)."""
        times: dict[int, int] = {}
        counts: dict[int, int] = {}
        order = sorted(range(len(self._start)), key=lambda at: (self._thread[at], self._start[at], -self._end[at]))
        around: list[int] = []
        for at in order:
            while around and not self._within(at, around[-1]):
                around.pop()
            name, time = self._name[at], self._end[at] - self._start[at]
            times[name] = times.get(name, 0) + time
            counts[name] = counts.get(name, 0) + 1
            if around:
                times[self._name[around[-1]]] -= time
            around.append(at)
        for name in sorted(times):
            yield name, counts[name], times[name]

    def _within(self, inner: int, outer: int) -> bool:
        return self._thread[inner] == self._thread[outer] and self._end[inner] <= self._end[outer]
