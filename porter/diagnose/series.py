"""Numbers that a training writes again and again: losses, gradient norms, scales, times of steps."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from porter.regex import lazy

MOST = 64  # different series
KEPT = 4096  # points of one; beyond, every second one is dropped and every second one to come
FIRST = 8

_NUMBER = r"[-+]?(?:\d[\d_]{0,15}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|nan|NaN|NAN|inf|Inf|INF|infinity)"
_END = r"(?![\w.])"
_LOSS = lazy(
    r"(?<![\w/.-])['\"]?((?:train(?:ing)?[_/ ]|lm |total[_ ])?loss|grad[_ ]norm)(?:/train)?['\"]?"
    rf"\s{{0,3}}[:=]\s{{0,3}}['\"(]?(?:tensor\()?({_NUMBER}){_END}",
)
_SCALE = lazy(rf"(?:reducing (?:loss )?scale (?:from [\d.e+-]{{1,30}} )?to|loss scale:) ?({_NUMBER}){_END}")
_MEGATRON = lazy(rf"elapsed time per iteration \(ms\): ({_NUMBER}){_END}")
_DATA = lazy(r"(?<!\w)time: (\d{1,6}\.\d{1,6})(?: \([\d.]{1,20}\))?,?\s{1,4}data(?:_time)?: (\d{1,6}\.\d{1,6})(?!\w)")
_BAR = lazy(
    r"^(?P<what>[^|]{0,60})\|[^|]{0,200}\| (?P<at>\d{1,9})/(?P<all>\d{1,9}) "
    r"\[(?:(?P<h>\d{1,4}):)?(?P<m>\d{1,2}):(?P<s>\d{2})<"
)
_METRIC = lazy(
    r"(?<![\w/.-])['\"]?(eval_(?:accuracy|acc|f1)|accuracy/top1|val_acc(?:uracy)?|acc@1|coco/bbox_mAP|mAP)['\"]?"
    rf"\s{{0,3}}[:=]\s{{0,3}}({_NUMBER}){_END}",
)
_FOREIGN = lazy(r"[A-Za-z\u4e00-\u9fff]")
_TRAINING = lazy(r"train|epoch|step|iter", re.IGNORECASE)


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
    points: list[Point] = field(default_factory=list)
    bad: Point | None = None  # the first one that is no number
    bad_count: int = 0

    def add(self, value: float, line: int, text: str) -> None:
        if not math.isfinite(value):
            self.bad = self.bad or Point(value, line, text)
            self.bad_count += 1
            return
        if self.count % self.stride == 0 or self.count < FIRST:
            self.points.append(Point(value, line, text))
            if len(self.points) > KEPT:
                del self.points[FIRST + 1 :: 2]
                self.stride *= 2
        self.count += 1

    @property
    def values(self) -> list[float]:
        return [point.value for point in self.points]


class Numbers:
    """Series by name and process."""

    def __init__(self) -> None:
        self.series: dict[tuple[str, str], Series] = {}

    def take(self, number: int, process: str, text: str) -> None:
        line = text[:2000]
        if "loss" in line or "grad" in line:
            for match in _LOSS.finditer(line):
                name = "grad_norm" if match[1].startswith("grad") else "loss"
                self._add(name, process, match[2], number, text)
            if "scale" in line:
                for match in _SCALE.finditer(line):
                    self._add("scale", "", match[1], number, text)
        if "elapsed time per iteration" in line and (step := _MEGATRON.search(line)):
            self._add("seconds", process, str(_number(step[1]) / 1000), number, text)
        if "data" in line and (both := _DATA.search(line)):
            self._add("seconds", process, both[1], number, text)
            self._add("data", process, both[2], number, text)
        if "/it]" in line or "it/s]" in line or "/it," in line:
            self._bar(number, process, line, text)
        if "acc" in line or "mAP" in line or "_f1" in line:
            for match in _METRIC.finditer(line):
                self._add(f"metric {match[1]}", "", match[2], number, text)

    def _bar(self, number: int, process: str, line: str, text: str) -> None:
        """Of a progress bar over training steps: the seconds since its start, by step."""
        match = _BAR.match(line)
        if match is None or int(match["all"]) < 20:
            return
        label = match["what"].strip(" \r:0123456789%.")
        if _FOREIGN.search(label) and not _TRAINING.search(label):
            return
        name = f"bar {match['all']}"
        series = self.series.get((name, process))
        step = int(match["at"])
        if step < 1 or series and series.points and len(series.points) >= KEPT:
            return
        seconds = int(match["h"] or 0) * 3600 + int(match["m"]) * 60 + int(match["s"])
        if series is None or not series.points or series.points[-1].value < step + seconds / 1e6:
            # step and seconds in one number: both are small, and a bar is drawn again and again
            self._add(name, process, repr(step + min(seconds, 999_999) / 1e6), number, text)

    def _add(self, name: str, process: str, value: str, number: int, text: str) -> None:
        series = self.series.get((name, process))
        if series is None:
            if len(self.series) >= MOST:
                return
            series = self.series[name, process] = Series(name)
        series.add(_number(value), number, text)

    def named(self, name: str) -> list[tuple[str, Series]]:
        return [(process, series) for (series_name, process), series in self.series.items() if series_name == name]

    def beginning(self, name: str) -> list[tuple[str, Series]]:
        return [
            (process, series) for (series_name, process), series in self.series.items() if series_name.startswith(name)
        ]


def _number(text: str) -> float:
    try:
        return float(text.lower().replace("_", ""))
    except ValueError:
        return math.nan
