"""What to do next about a profile of an NPU: each sign has a number of the profile, and the share of the step it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from porter.profiles.find import Run
from porter.profiles.kernels import AICPU
from porter.profiles.model import NPU, Kernel, Profile
from porter.profiles.sums import (
    kind_time,
    operators,
    own_time,
    share,
    shown_profile,
    step_time,
    waiting_apis,
)

LEAST = 0.01  # of a step: less is not worth a change
FREE, EXPOSED, LOADING, MATRIX, APART = 0.10, 0.05, 0.05, 0.05, 0.05
SMALL_PACKET = 16.0  # megabytes: below, the links within a node are not filled
MANY = 200  # kernels of the optimiser in a step
_NAMED = 3


class Sign(NamedTuple):
    key: str
    time: float  # microseconds of a step that it is about
    share: float
    values: dict[str, object]
    advice: tuple[str, ...]  # `porter explain` knows these
    codes: tuple[str, ...]  # findings that say where


class About(NamedTuple):
    advice: tuple[str, ...]
    codes: tuple[str, ...] = ()


ABOUT = {
    "aicpu": About(("operators-on-the-cpu",), ("PRT702", "PRT307")),
    "conversion": About(("profile-here",), ("PRT642",)),
    "cast": About(("profile-here",), ("PRT642", "PRT307")),
    "transpose": About(("profile-here",), ("PRT642",)),
    "free": About(("host-waits", "task-queue", "core-binding"), ("PRT630", "PRT631", "PRT636", "PRT638", "PRT643")),
    "blocking": About(("launch-blocking-left-on",), ("PRT801",)),
    "exposed": About(("bucket-size", "accumulate-without-sync", "communication-buffers")),
    "loading": About(("loader-in-the-main-process", "preprocessing-time"), ("PRT633", "PRT634", "PRT636")),
    "fresh": About(("shapes-change",), ("PRT601", "PRT602", "PRT603", "PRT604")),
    "single": About(("mixed-precision-missing",), ("PRT304",)),
    "uneven": About(("width-alignment", "vocabulary-alignment"), ("PRT640",)),
    "softmax": About(("fused-operators",), ("PRT614", "PRT615", "PRT621")),
    "optimizer": About(("fused-operators",), ("PRT610", "PRT623")),
    "apart": About(("ranks-wait-for-the-first", "garbage-collector", "core-binding"), ("PRT631",)),
    "compiled": About(("compile-mode-forced", "compiled-operators")),
}


def signs(run: Run) -> list[Sign]:
    """The largest share first."""
    profile = shown_profile(run)
    if profile.device != NPU:
        return []
    found = [sign for check in _CHECKS for sign in check(profile)] + list(_apart(run))
    return sorted(found, key=lambda sign: (-sign.share, sign.key))


def _sign(profile: Profile, key: str, time: float, least: float, **values: object) -> Iterable[Sign]:
    part = share(profile, time) or 0.0
    if part >= least:
        yield Sign(key, profile.per_step(time) or 0.0, part, values, *ABOUT[key])


def _aicpu(profile: Profile) -> Iterable[Sign]:
    """Which types they have says why they run there."""
    rows = [row for row in operators(profile) if row.core == AICPU]
    named = [f"{row.name} ({', '.join(row.types)})" if row.types else row.name for row in rows[:_NAMED]]
    calls = sum(row.count for row in rows) / (profile.steps or 1)
    yield from _sign(profile, "aicpu", sum(row.time for row in rows), LEAST, n=calls, names=", ".join(named))


def _layouts(profile: Profile) -> Iterable[Sign]:
    rows = [row for row in operators(profile) if row.core != AICPU]
    for kind in ("conversion", "cast", "transpose"):
        yield from _rows(profile, kind, [row for row in rows if row.kind == kind])


def _rows(profile: Profile, key: str, rows: list[Kernel], least: float = LEAST) -> Iterable[Sign]:
    calls = sum(row.count for row in rows) / (profile.steps or 1)
    yield from _sign(profile, key, sum(row.time for row in rows), least, n=calls, names=_names(rows))


def _free(profile: Profile) -> Iterable[Sign]:
    waits = waiting_apis(profile)
    calls = sum(tally.count for tally in waits.values()) / (profile.steps or 1)
    key = "waits" if waits else "none" if profile.host.apis else "unknown"
    named = ", ".join(list(waits)[:_NAMED])
    values = {"n": calls, "names": named, "with": key}
    yield from _sign(profile, "free", profile.parts.free or 0.0, FREE, **values)


def _blocking(profile: Profile) -> Iterable[Sign]:
    if profile.origin.variables.get("ASCEND_LAUNCH_BLOCKING") == "1":
        yield from _sign(profile, "blocking", profile.parts.free or 0.0, 0.0)


def _exposed(profile: Profile) -> Iterable[Sign]:
    elapsed = sum(one.time for one in profile.collectives.values())
    waited = sum(one.wait for one in profile.collectives.values())
    packets = [(size, count) for link in profile.links.values() for size, count in link.packets.items()]
    size = sum(size * count for size, count in packets)
    small = sum(size * count for size, count in packets if size < SMALL_PACKET)
    values: dict[str, object] = {
        "wait": waited / elapsed if elapsed else None,
        "small": small / size if size else None,
        "with": "links" if elapsed and size else "none",
    }
    yield from _sign(profile, "exposed", profile.parts.exposed or 0.0, EXPOSED, **values)


def _loading(profile: Profile) -> Iterable[Sign]:
    loading = profile.host.loading
    if loading:
        yield from _sign(profile, "loading", loading.time, LOADING, n=loading.count / (profile.steps or 1))


def _shapes(profile: Profile) -> Iterable[Sign]:
    rows = [row for row in operators(profile) if row.fresh.count]
    calls = sum(row.fresh.count for row in rows)
    time = sum(row.fresh.time for row in rows)
    yield from _sign(profile, "fresh", time, LEAST, n=calls / max(profile.steps - 1, 1), names=_names(rows))


def _matrices(profile: Profile) -> Iterable[Sign]:
    rows = operators(profile)
    for key in ("single", "uneven"):
        of_key = [row for row in rows if getattr(row, key)]
        time = sum(getattr(row, key) for row in of_key)
        yield from _sign(profile, key, time, MATRIX, names=_names(of_key))


def _attention(profile: Profile) -> Iterable[Sign]:
    if not kind_time(profile, "attention"):
        yield from _rows(profile, "softmax", [row for row in operators(profile) if row.kind == "softmax"])


def _optimizer(profile: Profile) -> Iterable[Sign]:
    rows = [row for row in operators(profile) if row.kind == "optimizer"]
    if sum(row.count for row in rows) / (profile.steps or 1) > MANY:
        yield from _rows(profile, "optimizer", rows)


def _compiled(profile: Profile) -> Iterable[Sign]:
    tallies = [tally for name, tally in profile.host.apis.items() if name.lower() == "aclopcompileandexecute"]
    calls = sum(tally.count for tally in tallies) / (profile.steps or 1)
    yield from _sign(profile, "compiled", sum(tally.time for tally in tallies), LEAST, n=calls)


def _apart(run: Run) -> Iterable[Sign]:
    """One rank works longer than another: the other waits for it in the next collective."""
    times = [(time, one) for one in run.profiles if (time := own_time(one)) is not None]
    step = step_time(shown_profile(run))
    if len(times) < 2 or not step:
        return
    (least, quickest), (most, slowest) = min(times, key=_time), max(times, key=_time)
    if (most - least) / step >= APART:
        values: dict[str, object] = {"slow": name_of(slowest), "quick": name_of(quickest)}
        yield Sign("apart", most - least, (most - least) / step, values, *ABOUT["apart"])


def _time(pair: tuple[float, Profile]) -> float:
    return pair[0]


def name_of(profile: Profile) -> str:
    return profile.name if profile.origin.rank is None else str(profile.origin.rank)


def _names(rows: list[Kernel]) -> str:
    return ", ".join(list(dict.fromkeys(row.name for row in rows))[:_NAMED])


_CHECKS: tuple[Callable[[Profile], Iterable[Sign]], ...] = (
    _aicpu,
    _layouts,
    _free,
    _blocking,
    _exposed,
    _loading,
    _shapes,
    _matrices,
    _attention,
    _optimizer,
    _compiled,
)
