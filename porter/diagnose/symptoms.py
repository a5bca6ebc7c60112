"""What the numbers of a training say about it. Where there is doubt, nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from statistics import fmean, median
from typing import NamedTuple

from porter.diagnose.series import WITH_DATA, Numbers, Point, Series
from porter.logs.records import DATA, GRADIENT, LOSS, METRIC, PART, SCALE, SECONDS


class Symptom(NamedTuple):
    cause: str
    point: Point  # the line that shows it
    values: dict[str, str]  # for the {placeholders} of the cause's texts
    times: int = 1


def symptoms(numbers: Numbers) -> list[Symptom]:
    by_cause: dict[str, Symptom] = {}
    for look in (_not_a_number, _scale, _flat, _spike, _wandering, _first_step, _waiting, _slowest, _metric):
        for symptom in look(numbers):
            # of many ranks, the first line speaks for all
            if symptom.cause not in by_cause or symptom.point.line < by_cause[symptom.cause].point.line:
                by_cause[symptom.cause] = symptom
    return list(by_cause.values())


def _losses(numbers: Numbers, least: int) -> Iterator[Series]:
    for _, series in numbers.of(LOSS):
        if len(series.points) >= least and not series.bad:
            yield series


def _not_a_number(numbers: Numbers) -> Iterator[Symptom]:
    for kind in (LOSS, PART, GRADIENT, METRIC):
        for process, series in numbers.of(kind):
            if series.bad and _is_lost(kind, series) and not _only_shown(kind, process, series, numbers):
                values = {"name": series.name, "before": str(series.count)}
                yield Symptom("nan-loss", series.bad, values, series.bad_count)


def _is_lost(kind: str, series: Series) -> bool:
    if kind == GRADIENT:
        # a gradient that overflows now and then is what a loss scale is for
        return series.bad_count >= 3 and (series.bad_count > series.count // 2 or series.bad_since >= 3)
    return kind != METRIC or bool(series.count and series.bad_since)


def _only_shown(kind: str, process: str, series: Series, numbers: Numbers) -> bool:
    """A bar that never knew the loss, beside a loss that is known: the bar of a loop of one's own."""
    return (
        kind == LOSS
        and not series.count
        and any(own == process and other.count >= 5 and not other.bad for own, other in numbers.of(LOSS))
    )


def _scale(numbers: Numbers) -> Iterator[Symptom]:
    for _, series in numbers.of(SCALE):
        if not series.points or series.points[-1].value >= max(series.values):
            continue  # 1 from the first step to the last: a training without a scaler
        low = next((point for point in series.points if point.value < 1), None)
        if low:
            yield Symptom("loss-scale", low, {"scale": f"{low.value:g}"})
        elif series.count >= 8 and series.points[-1].value <= 16:
            yield Symptom("loss-scale", series.points[-1], {"scale": f"{series.points[-1].value:g}"})


def _flat(numbers: Numbers) -> Iterator[Symptom]:
    for series in _losses(numbers, 20):
        low, high = min(series.values), max(series.values)
        if high - low <= 1e-6 * max(abs(high), abs(low)):
            yield Symptom("flat-loss", series.points[0], {"value": f"{high:g}", "n": str(series.count)}, series.count)


def _spike(numbers: Numbers) -> Iterator[Symptom]:
    for series in _losses(numbers, 40):
        points = series.points
        for index in range(20, len(points)):
            before = [point.value for point in points[index - 20 : index]]
            usual = median(before)
            if usual > 0.01 and points[index].value > 5 * usual and points[index].value > 2 * max(before):
                yield Symptom("loss-spike", points[index], {"value": f"{points[index].value:g}", "usual": f"{usual:g}"})
                break


def _wandering(numbers: Numbers) -> Iterator[Symptom]:
    for series in _losses(numbers, 100):
        values = series.values
        if min(values) <= 0:
            continue
        quarter = len(values) // 4
        start, end = median(values[:quarter]), median(values[-quarter:])
        jumps = sum(abs(b - a) > 0.5 * min(a, b) for a, b in itertools.pairwise(values))
        if end >= start and jumps > len(values) // 2:
            stated = {"start": f"{start:.3g}", "end": f"{end:.3g}", "n": str(series.count)}
            yield Symptom("oscillating-loss", series.points[-1], stated)


def _first_step(numbers: Numbers) -> Iterator[Symptom]:
    for _, series in numbers.of(SECONDS):
        if len(series.points) >= 6 and series.points[0].line < series.points[1].line:
            first, usual = series.points[0], median(series.values[1:])
            if first.value >= 20 and first.value >= 10 * usual:
                yield Symptom("slow-first-step", first, {"first": f"{first.value:.0f}", "rest": f"{usual:.1f}"})
    for _, series in numbers.of("bar"):  # a value is a step, with the seconds so far as its millionths
        steps = [(int(point.value), round(point.value % 1 * 1e6), point) for point in series.points]
        if len(steps) < 3 or steps[0][0] != 1 or steps[-1][0] < 6:
            continue
        seconds = steps[0][1]
        usual = (steps[-1][1] - seconds) / (steps[-1][0] - 1)
        if seconds >= 30 and usual >= 0 and seconds >= 10 * usual:
            yield Symptom("slow-first-step", steps[0][2], {"first": str(seconds), "rest": f"{usual:.1f}"})


def _waiting(numbers: Numbers) -> Iterator[Symptom]:
    """A mean and no median: a loader that is too slow is waited for now and then, for long."""
    totals = dict(numbers.of(WITH_DATA))
    for process, series in numbers.of(DATA):
        if len(series.points) < 10 or process not in totals:
            continue
        data, step = fmean(series.values), fmean(totals[process].values)
        waited = sum(value >= 0.4 * step for value in series.values)
        if step >= 0.02 and data >= 0.4 * step and waited >= 3:
            values = {"data": f"{data:.3g}", "step": f"{step:.3g}", "share": f"{100 * data / step:.0f}"}
            yield Symptom("data-gap", series.points[-1], values)


def _slowest(numbers: Numbers) -> Iterator[Symptom]:
    ranks = [(process, series) for process, series in numbers.of(SECONDS) if process and len(series.points) >= 8]
    if len(ranks) < 2:
        return
    times = [(median(series.values[1:]), process, series) for process, series in ranks]
    usual = median(time for time, _, _ in times)
    slowest, process, series = max(times, key=lambda row: row[0])
    if slowest >= 1.5 * usual and slowest - usual >= 0.05:
        values = {"rank": process, "time": f"{slowest:.3g}", "usual": f"{usual:.3g}"}
        yield Symptom("slow-rank", series.points[-1], values)


def _metric(numbers: Numbers) -> Iterator[Symptom]:
    losses = [series for series in _losses(numbers, 20) if series.values[0] > 0]
    fell = any(median(s.values[-5:]) <= 0.5 * median(s.values[:5]) for s in losses)
    for _, series in numbers.of(METRIC):
        value = series.values[0] if series.points else 1
        # one that is at its best has nowhere to go
        if (
            fell
            and len(series.points) >= 3
            and len(set(series.values)) == 1
            and not series.bad
            and value not in (1, 100)
        ):
            yield Symptom("stuck-metric", series.points[-1], {"name": series.name, "value": f"{value:g}"})
