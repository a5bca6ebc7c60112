"""Whether what is installed fits together, and what to do where it does not: the judgement of `porter doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from porter.doctor.machine import Machine
from porter.versions import base, begins, release

OK, ABSENT, NOTE, WRONG = "ok", "absent", "note", "wrong"


class Release(NamedTuple):
    """A release of torch_npu and what it is made for."""

    name: str
    torch: tuple[str, ...]
    cann: str


class Check(NamedTuple):
    name: str  # python | torch | torch_npu | cann | driver | devices | catalogue
    status: str  # ok | absent | note | wrong
    key: str  # of the words that say it
    values: tuple[tuple[str, str], ...] = ()


def judge(machine: Machine, releases: Sequence[Release], known: Sequence[str]) -> list[Check]:
    """`known` are the torch_npu versions that there is a catalogue for, oldest first."""
    checks = [Check("python", OK, "python", (("version", machine.python), ("system", machine.system)))]
    checks += _torch(machine)
    checks += _torch_npu(machine, known)
    checks += _cann(machine, releases)
    if machine.driver:
        checks.append(Check("driver", OK, "driver", (("version", machine.driver),)))
    status, key = (OK, "devices") if machine.devices else (ABSENT, "devices.none")
    return [*checks, Check("devices", status, key, (("n", str(machine.devices)),))]


def fits(checks: Sequence[Check]) -> bool | None:
    """None where that cannot be told: a part is absent, or no release that is known has this pair."""
    if any(check.status == WRONG for check in checks):
        return False
    return True if {"pair", "cann.pair"} <= {check.key for check in checks} else None


def _torch(machine: Machine) -> list[Check]:
    if not machine.torch:
        return [Check("torch", ABSENT, "torch.none")]
    values = (("version", machine.torch), ("plain", machine.torch.partition("+")[0]))
    if machine.torch_is_cuda:
        return [Check("torch", NOTE, "torch.cuda", values)]
    return [Check("torch", OK, "torch", values)]


def _torch_npu(machine: Machine, known: Sequence[str]) -> list[Check]:
    if not machine.torch_npu:
        fitting = [v for v in known if machine.torch and base(v) == base(machine.torch)]
        key = "npu.install" if fitting else "npu.none"
        return [Check("torch_npu", ABSENT, key, (("version", (fitting or [""])[-1]),))]
    values = (("npu", machine.torch_npu), ("torch", machine.torch), ("wanted", base(machine.torch_npu)))
    if not machine.torch:
        return [Check("torch_npu", WRONG, "pair.no-torch", values)]
    if base(machine.torch) != base(machine.torch_npu):
        return [Check("torch_npu", WRONG, "pair.wrong", values)]
    return [Check("torch_npu", OK, "pair", values)]


def _cann(machine: Machine, releases: Sequence[Release]) -> list[Check]:
    cann = machine.cann
    if cann is None:
        return [Check("cann", ABSENT, "cann.none")]
    values: tuple[tuple[str, str], ...] = (("version", cann.version), ("path", cann.path), ("variable", cann.variable))
    if not cann.exists:
        return [Check("cann", WRONG, "cann.gone", values)]
    checks = []
    if not cann.variable:
        checks.append(Check("cann", WRONG if machine.torch_npu else NOTE, "cann.no-variable", values))
    if not cann.version:
        return [*checks, Check("cann", NOTE, "cann.unknown", values)]
    fitting = [r for r in releases if any(begins(machine.torch_npu, torch) for torch in r.torch)]
    if not fitting:
        status, key = (NOTE, "cann.no-pair") if machine.torch_npu else (OK, "cann")
        return [*checks, Check("cann", status, key, values)]
    wanted = " / ".join(r.cann for r in fitting)
    values = (*values, ("npu", machine.torch_npu), ("wanted", wanted))
    if any(begins(cann.version, r.cann) for r in fitting):
        return [*checks, Check("cann", OK, "cann.pair", values)]
    newer = release(cann.version)[:2] > max(release(r.cann)[:2] for r in releases)
    return [*checks, Check("cann", NOTE if newer else WRONG, "cann.newer" if newer else "cann.wrong", values)]
