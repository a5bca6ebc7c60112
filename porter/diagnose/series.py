"""Numbers that a training writes again and again: losses, gradient norms, scales, times of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from porter.logs.records import BAR, DATA, METRIC, PART, RATE, SCALE, SECONDS, SPEED, Record, of_training

MOST = 64  # different series whose values are kept
COUNTED = 256  # and series of which only is counted what is no number
KEPT = 4096  # points of one; beyond, every second one is dropped and every second one to come
FIRST = 8
LINE = 500  # characters of a line that are kept
WITH_DATA = "with data"  # seconds of the steps of which the seconds of their data are known


@dataclass
class Point:
    value: float
    line: int
    text: str


@dataclass
class Series:
    name: str
    count: int = 0
    stride: int = 1
    kept: int = KEPT  # 0: it is only counted
    points: list[Point] = field(default_factory=list)
    bad: Point | None = None  # the first one that is no number
    bad_count: int = 0
    bad_since: int = 0  # how many at the end, without a number between them

    def add(self, value: float, line: int, text: str) -> None:
        if not math.isfinite(value):
            self.bad = self.bad or Point(value, line, text)
            self.bad_count += 1
            self.bad_since += 1
            return
        self.bad_since = 0
        if self.kept and (self.count % self.stride == 0 or self.count < FIRST):
            self.points.append(Point(value, line, text))
            if len(self.points) > self.kept:
                del self.points[FIRST + 1 :: 2]
                self.stride *= 2
        self.count += 1

    @property
    def values(self) -> list[float]:
        return [point.value for point in self.points]


class Numbers:
    """Series by what they are, by name and process."""

    def __init__(self) -> None:
        self.series: dict[tuple[str, str, str], Series] = {}
        self._counted: dict[tuple[str, str, str], Series] = {}  # of parts of losses, and of losses of evaluations

    def take(self, number: int, process: str, text: str, record: Record) -> None:
        text = text[:LINE]
        step: dict[str, float] = {}
        for kind, name, value in record.readings:
            if kind == PART:
                self._add(self._counted, COUNTED, (kind, name, process), value, number, text, 0)
            elif kind in (SECONDS, DATA):
                step[kind] = value
            elif kind not in (RATE, SPEED):
                of_all = kind in (SCALE, METRIC)  # one value for all ranks
                key = kind, kind if kind == SCALE else name, "" if of_all else process
                self._add(self.series, MOST, key, value, number, text)
        if SECONDS in step:
            self._add(self.series, MOST, (SECONDS, SECONDS, process), step[SECONDS], number, text)
        # a loader starts with the epoch: the first step of one waits longer than any other, and each epoch prints it
        if DATA in step and SECONDS in step and record.step != 0:
            self._add(self.series, MOST, (DATA, DATA, process), step[DATA], number, text)
            self._add(self.series, MOST, (WITH_DATA, DATA, process), step[SECONDS], number, text)
        if "/it" in text or "it/s" in text:
            self._bar(number, process, text)

    def _bar(self, number: int, process: str, text: str) -> None:
        """Of a progress bar over training steps: the seconds since its start, by step."""
        match = BAR.match(text)
        if match is None or int(match["all"]) < 20 or not of_training(match["what"]):
            return
        key = "bar", match["all"], process
        series = self.series.get(key)
        step = int(match["at"])
        if step < 1 or series and series.points and len(series.points) >= KEPT:
            return
        seconds = int(match["h"] or 0) * 3600 + int(match["m"]) * 60 + int(match["s"])
        if series is None or not series.points or series.points[-1].value < step + seconds / 1e6:
            # step and seconds in one number: both are small, and a bar is drawn again and again
            self._add(self.series, MOST, key, step + min(seconds, 999_999) / 1e6, number, text)

    @staticmethod
    def _add(
        table: dict[tuple[str, str, str], Series],
        most: int,
        key: tuple[str, str, str],
        value: float,
        number: int,
        text: str,
        kept: int = KEPT,
    ) -> None:
        series = table.get(key)
        if series is None:
            if len(table) >= most:
                return
            series = table[key] = Series(key[1], kept=kept)
        series.add(value, number, text)

    def of(self, kind: str) -> Iterator[tuple[str, Series]]:
        """(process, series) of a kind."""
        for (own, _, process), series in [*self.series.items(), *self._counted.items()]:
            if own == kind:
                yield process, series
