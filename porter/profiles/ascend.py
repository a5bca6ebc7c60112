"""ASCEND_PROFILER_OUTPUT: what torch_npu.profiler writes as text, of any version; files may be absent."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from porter.profiles import errors
from porter.profiles.kernels import Kernels
from porter.profiles.model import LONGEST, Collective, Kernel, Link, Profile, Tally, TorchOp, entry
from porter.profiles.stream import Tape, members
from porter.profiles.tables import Table
from porter.profiles.trace import Trace

OUTPUT = "ASCEND_PROFILER_OUTPUT"
_ALL_STACKS = 20_000  # different call stacks that are kept
_STACK = 4000  # characters
_STEPS = 100_000  # that are told apart
_PACKETS = 1000  # different sizes of packets that are told apart


def is_output(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in READERS)


def read_output(folder: str, name: str) -> Profile:
    profile = Profile(name)
    for file, reader in READERS.items():
        path = os.path.join(folder, file)
        if not os.path.lexists(path):
            profile.origin.absent.append(file)
        else:
            reader(path, profile)
            profile.origin.read.append(file)
    if not (profile.kernels or profile.torch or profile.total or profile.collectives):
        raise errors.empty(folder)
    return profile


def _step_trace(file: str, profile: Profile) -> None:
    table = Table(file, ("Computing", "Communication(Not Overlapped)", "Free"))
    columns = {
        "computing": "Computing",
        "exposed": "Communication(Not Overlapped)",
        "overlapped": "Overlapped",
        "free": "Free",
        "bubble": "Bubble",
        "preparing": "Preparing",
    }
    parts = profile.parts
    for row in table.rows():
        profile.steps += bool(table.text(row, "Step"))
        for part, column in columns.items():
            value = table.number(row, column)
            if value is not None:
                setattr(parts, part, (getattr(parts, part) or 0.0) + value)


def _kernel_details(file: str, profile: Profile) -> None:
    table = Table(file, ("Name", "Duration(us)"))
    kernels = Kernels(profile.kernels)
    waits = Tally()
    steps: set[str] = set()
    outside = Tally()
    for row in table.rows():
        time = table.number(row, "Duration(us)")
        step = table.text(row, "Step Id") or table.text(row, "Step ID")
        if time is None:
            continue
        if not step and profile.steps and ("Step Id" in table.columns or "Step ID" in table.columns):
            outside.add(time)
            continue
        if len(steps) < _STEPS:
            steps.add(step[:LONGEST])
        core = table.text(row, "Accelerator Core")
        kernel = kernels.of(table.text(row, "Name"), table.text(row, "Type"), core)
        kernel.add(time)
        shapes = table.text(row, "Input Shapes")
        kernels.inputs(kernel, step, shapes, table.text(row, "Input Data Types"), time)
        wait = table.number(row, "Wait Time(us)")
        if wait is not None and kernel.kind != "communication":
            waits.add(wait)
    found = len(steps - {""})
    if found and profile.steps and found != profile.steps:
        profile.origin.notes.append(("steps", {"n": found, "all": profile.steps}))
    profile.steps = profile.steps or found
    if "Wait Time(us)" in table.columns:
        profile.waits = waits
    if outside.count:
        profile.origin.notes.append(("outside", {"n": outside.count, "time": outside.time}))


def _op_statistic(file: str, profile: Profile) -> None:
    """The same kernels once more, put together; where the table of each of them was cut short, this one counts."""
    table = Table(file, ("OP Type", "Count", "Total Time(us)"))
    statistic: dict[tuple[str, str], Kernel] = {}
    kernels = Kernels(statistic)
    for row in table.rows():
        time, count = table.number(row, "Total Time(us)"), table.number(row, "Count")
        if time is not None and count:
            most = table.number(row, "Max Time(us)")
            kernel = kernels.of("", table.text(row, "OP Type"), table.text(row, "Core Type"))
            kernel.add(time, round(count), time / count if most is None else most)
    one, all_ = (sum(row.count for row in rows.values()) for rows in (profile.kernels, statistic))
    if not profile.kernels or all_ > one and not profile.steps:
        if profile.kernels:
            profile.origin.notes.append(("cut", {"n": one, "all": all_}))
        profile.kernels = statistic


def _api_statistic(file: str, profile: Profile) -> None:
    table = Table(file, ("API Name", "Time(us)", "Count"))
    for row in table.rows():
        time, count = table.number(row, "Time(us)"), table.number(row, "Count")
        if time is not None and count:
            tally = entry(profile.host.apis, table.text(row, "API Name"), Tally)
            tally.add(time, round(count), table.number(row, "Max(us)"))


def _operator_details(file: str, profile: Profile) -> None:
    table, held = Table(file, ("Name", "Host Self Duration(us)")), 0
    for row in table.rows():
        op = entry(profile.torch, table.text(row, "Name"), TorchOp)
        op.add(table.number(row, "Host Self Duration(us)") or 0.0)
        device = table.number(row, "Device Self Duration(us)") or 0.0
        op.device += device
        stack = table.text(row, "Call Stack")[:_STACK]
        if stack and stack != "N/A" and (stack in op.stacks or held < _ALL_STACKS):
            held += stack not in op.stacks
            op.call(stack, device)


def _communication(file: str, profile: Profile) -> None:
    """step -> p2p or collective -> operator@group -> its times, and its links."""
    for keys, value in members(Tape(file), 3):
        if len(keys) != 3 or keys[2].lower().startswith("total") or not isinstance(value, dict):
            continue
        times = value.get("Communication Time Info")
        if isinstance(times, dict):
            one = entry(profile.collectives, collective_name(keys[2]), Collective)
            one.add(1000 * _number(times.get("Elapse Time(ms)")))
            one.transit += 1000 * _number(times.get("Transit Time(ms)"))
            one.wait += 1000 * _number(times.get("Wait Time(ms)"))
        links = value.get("Communication Bandwidth Info")
        for kind, link in (links if isinstance(links, dict) else {}).items():
            if isinstance(link, dict):
                _link(entry(profile.links, str(kind), Link), link)


def _link(total: Link, link: dict[str, Any]) -> None:
    total.size += _number(link.get("Transit Size(MB)"))
    total.time += _number(link.get("Transit Time(ms)"))
    packets = link.get("Size Distribution")
    for size, counted in (packets if isinstance(packets, dict) else {}).items():
        if isinstance(counted, list) and counted and len(total.packets) < _PACKETS:
            try:
                megabytes = float(size)
            except ValueError:
                continue
            total.packets[megabytes] = total.packets.get(megabytes, 0) + round(_number(counted[0]))


def collective_name(name: str) -> str:
    """hcom_allReduce__123_4_1@5678 -> hcom_allReduce"""
    return name.partition("@")[0].partition("__")[0].rstrip("_0123456789") or name


def _number(value: object) -> float:
    number = float(value) if isinstance(value, (int, float)) else 0.0
    return number if abs(number) < 1e18 else 0.0


def _trace_view(file: str, profile: Profile) -> None:
    Trace(profile).read(file)


READERS: dict[str, Callable[[str, Profile], None]] = {
    "step_trace_time.csv": _step_trace,
    "kernel_details.csv": _kernel_details,
    "op_statistic.csv": _op_statistic,
    "api_statistic.csv": _api_statistic,
    "operator_details.csv": _operator_details,
    "communication.json": _communication,
    "trace_view.json": _trace_view,
}
