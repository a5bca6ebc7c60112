"""The formula of a step, and where its time goes: of one profile. Times are microseconds of one step."""

from __future__ import annotations

from typing import NamedTuple

from porter.profiles.find import Run
from porter.profiles.kernels import AICPU, Kernels
from porter.profiles.model import CPU, Kernel, Profile, Tally

SYNCHRONISES = (
    "synchronize"  # in the name of what waits for the device; aclrtStreamWaitEvent waits on the device itself
)


class Part(NamedTuple):
    """A summand of the step (`within` is empty), or what is within another or beside it."""

    key: str
    time: float | None  # None: not in this profile
    share: float | None
    within: str = ""


def shown_profile(run: Run) -> Profile:
    """The one whose step is longest: the others wait for it, or are no longer."""
    return max(run.profiles, key=lambda one: one.per_step(one.total) or 0.0)


def step_time(profile: Profile) -> float | None:
    return profile.per_step(profile.total)


def base(profile: Profile) -> float:
    """What shares are of: all steps together, or where the profile has no step, all kernels that compute."""
    return profile.total or sum(row.time for row in profile.kernels.values() if row.kind != "communication")


def share(profile: Profile, time: float | None) -> float | None:
    total = base(profile)
    return time / total if time is not None and total else None


def formula(profile: Profile) -> list[Part]:
    """data loading + forward and backward + optimiser + what follows the model + communication + scheduling"""
    parts, host = profile.parts, profile.host
    optimizer = kind_time(profile, "optimizer") or None  # its kernels may have no name of their own
    computing = parts.computing
    model = None if computing is None or optimizer is None else max(computing - optimizer, 0.0)
    rows = [
        ("loading", host.loading.time if host.loading else None, "host"),
        ("computing", computing, ""),
        ("model", model, "computing"),
        ("optimizer", optimizer, "computing"),
        ("aicpu", core_time(profile, AICPU) if profile.kernels and profile.device == "npu" else None, "computing"),
        ("after", None, "computing"),
        ("communication", parts.exposed, ""),
        ("overlapped", parts.overlapped, "hidden"),
        ("scheduling", parts.free, ""),
        ("copies", parts.copies, "scheduling"),
        ("bubble", parts.bubble, "communication"),
        ("preparing", parts.preparing, "host"),
        ("host-optimizer", host.optimizer.time if host.optimizer else None, "host"),
    ]
    return [Part(key, profile.per_step(time), share(profile, time), within) for key, time, within in rows]


def kind_time(profile: Profile, kind: str) -> float:
    return sum(kernel.time for kernel in profile.kernels.values() if kernel.kind == kind)


def core_time(profile: Profile, core: str) -> float:
    return sum(kernel.time for kernel in profile.kernels.values() if kernel.core == core)


def operators(profile: Profile) -> list[Kernel]:
    """What takes time, the most first: kernels of the device, or operators of torch where the host computes."""
    rows = list(profile.kernels.values())
    if profile.device == CPU and not rows:
        kernels = Kernels({})
        for name, op in profile.torch.items():
            row = kernels.of(name, name, "")
            row.add(op.time, op.count, 0.0)
            rows.append(row)
    return sorted(rows, key=lambda row: (-row.time, row.name, row.core))


def tallies(rows: list[Kernel], by: str) -> dict[str, Tally]:
    """Operators put together by `kind` or `core`, the most time first."""
    together: dict[str, Tally] = {}
    for row in rows:
        together.setdefault(getattr(row, by), Tally()).add(row.time, row.count, row.most)
    return dict(sorted(together.items(), key=lambda item: (-item[1].time, item[0])))


def waiting_apis(profile: Profile) -> dict[str, Tally]:
    """Calls in which the host waits for the device."""
    apis = profile.host.apis
    waits = {name: tally for name, tally in apis.items() if SYNCHRONISES in name.lower()}
    return dict(sorted(waits.items(), key=lambda item: (-item[1].time, item[0])))


def own_time(profile: Profile) -> float | None:
    """Of a step, without waiting for other ranks: computing and what the device idles."""
    parts = profile.parts
    if parts.computing is None or parts.free is None:
        return None
    return profile.per_step(parts.computing + parts.free)
