"""A trace, event by event: of torch.profiler (CUDA, or the host alone), and trace_view.json of torch_npu.profiler."""

from __future__ import annotations

from array import array
from typing import Any

from porter.profiles import errors, intervals
from porter.profiles.hostops import HostOps
from porter.profiles.intervals import Busy, Pair
from porter.profiles.kernels import Kernels
from porter.profiles.kinds import kind_of
from porter.profiles.model import CPU, GPU, LONGEST, NAMES, NPU, REST, Kernel, Profile, Tally, TorchOp, entry
from porter.profiles.stream import events
from porter.regex import lazy

_FAR = 1 << 62
_IDS = 1 << 23  # the largest number of an operator that kernels are joined with
_WINDOWS = 100_000
_OUTSIDE = 0.001  # of the steps: less time of kernels around them is not worth a word
_OVERLAP = {
    "Computing": "computing",
    "Communication(Not Overlapped)": "exposed",
    "Communication": "communication",
    "Free": "free",
}
# tasks of an NPU that compute nothing: waits, records, copies
_NO_KERNEL = lazy(r"EVENT|NOTIFY|WAIT|RECORD|MEMCPY|MEM_?SQE|DMA|PLACE_?HOLDER|WRITE_VALUE|MODEL|STREAM|PROFILER")


class Trace:
    """`profile` may hold what the tables beside the trace say: that is not said twice."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._alone = not profile.origin.read  # no table beside it
        self._kernels = Kernels(profile.kernels)
        self._computing, self._communication, self._copies = Busy(), Busy(), Busy()
        self._overlap: dict[tuple[object, str], float] = {}
        self._processes: dict[object, str] = {}
        self._windows: dict[str, Pair] = {}
        self._operators = HostOps()
        self._device_of, self._name_of = array("d"), array("i")
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._device, self._odd, self._unjoined = "", 0, 0
        self._device_span, self._host_span = [_FAR, -_FAR], [_FAR, -_FAR]

    def read(self, file: str) -> None:
        facts: dict[str, Any] = {}
        for event in events(file, facts):
            self._take(event)
        self._close(file, facts)

    def _take(self, event: dict[str, Any]) -> None:
        phase, name = event.get("ph"), event.get("name")
        if phase == "M":
            arguments = event.get("args")
            if name == "process_name" and isinstance(arguments, dict) and len(self._processes) < NAMES:
                self._processes[_key(event.get("pid"))] = str(arguments.get("name"))
            return
        if phase != "X" or not isinstance(name, str):
            return
        name = name[:LONGEST]
        start, time = nanoseconds(event.get("ts")), microseconds(event.get("dur", 0))
        if start is None or time is None:
            self._odd += 1
            return
        category = event.get("cat")
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            arguments = {}
        if isinstance(category, str):
            self._of_category(category.lower(), event, name, start, time, arguments)
        elif name in _OVERLAP:
            key = (_key(event.get("pid")), _OVERLAP[name])
            if key in self._overlap or len(self._overlap) < NAMES:
                self._overlap[key] = self._overlap.get(key, 0.0) + time
        elif self._alone and name.startswith("AscendCL@"):
            entry(self._profile.host.apis, name.removeprefix("AscendCL@"), Tally).add(time)
        elif self._alone and "Task Type" in arguments:
            self._of_task(name, str(arguments["Task Type"]), time)

    def _of_task(self, name: str, kind: str, time: float) -> None:
        """What runs on an NPU. Where the profile does not know the core, it says `Other`."""
        self._device = NPU
        if not _NO_KERNEL.search(kind) and not name.isupper():
            self._kernels.of(name, "", "" if kind == "Other" else kind).add(time)

    def _of_category(
        self, category: str, event: dict[str, Any], name: str, start: int, time: float, arguments: dict[str, Any]
    ) -> None:
        if category in ("kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset"):
            self._of_device(category, name, start, time, arguments)
        elif category in ("cpu_op", "operator", "user_annotation"):
            self._of_host(category, event, name, start, time, arguments)
        elif category == "python_function" and self._alone:
            self._operators.add_frame(_key(event.get("tid")), name, start, start + round(1000 * time))
        elif category in ("cuda_runtime", "runtime", "cuda_driver") and self._alone:
            entry(self._profile.host.apis, name, Tally).add(time)

    def _of_device(self, category: str, name: str, start: int, time: float, arguments: dict[str, Any]) -> None:
        self._device = GPU
        end = start + round(1000 * time)
        _widen(self._device_span, start, end)
        kernels = self._profile.kernels
        kernel = kernels.get((name, ""))
        if kernel is None:
            key = (name if len(kernels) < NAMES else REST, "")
            kind = kind_of(name) if category == "kernel" else "copy"
            kernel = kernels.setdefault(key, Kernel(name=key[0], kind=kind))
        kernel.add(time)
        busy = self._communication if kernel.kind == "communication" else self._computing
        (busy if category == "kernel" else self._copies).add(start, end)
        number = _number(arguments)
        if number is not None and self._room(number):
            self._device_of[number] += time

    def _of_host(
        self, category: str, event: dict[str, Any], name: str, start: int, time: float, arguments: dict[str, Any]
    ) -> None:
        host, end = self._profile.host, start + round(1000 * time)
        if name.startswith("ProfilerStep#"):
            if len(self._windows) < _WINDOWS:
                self._windows[name] = (start, end)
            return
        if name.startswith("enumerate(DataLoader)#") or name == "dataloader":
            host.loading = host.loading or Tally()
            host.loading.add(time)
        elif name.startswith("Optimizer.step#"):
            host.optimizer = host.optimizer or Tally()
            host.optimizer.add(time)
        if not self._alone or category == "user_annotation":
            return
        number = _number(arguments)
        if number is None or not self._room(number):
            number = -1
        else:
            self._name_of[number] = self._name(name)
        _widen(self._host_span, start, end)
        self._operators.add(_key(event.get("tid")), self._name(name), start, end, number)

    def _room(self, number: int) -> bool:
        if not 0 <= number < _IDS:
            self._unjoined += 1
            return False
        short = number + 1 - len(self._name_of)
        if short > 0:
            self._name_of.extend([-1] * short)
            self._device_of.extend([0.0] * short)
        return True

    def _name(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            if len(self._names) >= NAMES:
                name = REST
            number = self._numbers.setdefault(name, len(self._names))
            if number == len(self._names):
                self._names.append(name)
        return number

    def _close(self, file: str, facts: dict[str, Any]) -> None:
        profile = self._profile
        npu = "Ascend Hardware" in self._processes.values() or self._device == NPU
        if self._alone:
            profile.device = NPU if npu else self._device or CPU
            rank = facts.get("distributedInfo")
            if profile.origin.rank is None and isinstance(rank, dict) and isinstance(rank.get("rank"), int):
                profile.origin.rank = rank["rank"]
            if isinstance(rank, dict) and isinstance(rank.get("world_size"), int):
                profile.origin.world = rank["world_size"]
        profile.steps = profile.steps or len(self._windows)
        for start, end in self._windows.values():
            profile.host.steps.add((end - start) / 1000)
        if profile.device == NPU:
            self._of_overlap()
        elif profile.device == GPU:
            self._of_intervals()
            self._join()
        else:
            self._of_cpu()
        if self._unjoined and profile.device == GPU:
            profile.origin.notes.append(("unjoined", {"n": self._unjoined}))
        if self._odd:
            profile.origin.notes.append(("odd", {"n": self._odd}))
        if self._alone and not (profile.kernels or profile.torch):
            raise errors.empty(file)

    def _of_overlap(self) -> None:
        parts = self._profile.parts
        if parts.total is not None:
            return
        times: dict[str, float] = {}
        for (process, part), time in self._overlap.items():
            if self._processes.get(process) == "Overlap Analysis":
                times[part] = times.get(part, 0.0) + time
        if times:
            parts.computing, parts.free = times.get("computing", 0.0), times.get("free", 0.0)
            parts.exposed = times.get("exposed", 0.0)
            parts.overlapped = times.get("communication", 0.0) - parts.exposed

    def _of_intervals(self) -> None:
        parts, windows = self._profile.parts, self._windows.values()
        start = min((window[0] for window in windows), default=self._device_span[0])
        end = max((window[1] for window in windows), default=self._device_span[1])
        held, talked = self._computing.pairs(), self._communication.pairs()
        computing, talking = intervals.clipped(held, start, end), intervals.clipped(talked, start, end)
        copying = intervals.clipped(self._copies.pairs(), start, end)
        both = intervals.union(computing, talking)
        busy = intervals.total(both)
        closed = self._computing.closed + self._communication.closed
        outside = sum(map(intervals.total, (held, talked))) - sum(map(intervals.total, (computing, talking)))
        if outside > _OUTSIDE * (end - start):
            self._profile.origin.notes.append(("around", {"time": outside / 1000}))
        parts.computing = intervals.total(computing) / 1000
        parts.exposed = (busy - intervals.total(computing)) / 1000
        parts.overlapped = intervals.total(talking) / 1000 - parts.exposed
        parts.free = (end - start - busy) / 1000
        parts.copies = (intervals.total(intervals.union(both, copying)) - busy) / 1000
        if closed:
            self._profile.origin.notes.append(("closed", {"time": closed / 1000}))

    def _join(self) -> None:
        """Device time to the operators of torch that launched the kernels."""
        for number, name in enumerate(self._name_of):
            if name >= 0:
                op = self._profile.torch.setdefault(self._names[name], TorchOp())
                op.add(0.0)
                op.device += self._device_of[number]
        for call in self._operators.calls():
            op = self._profile.torch.setdefault(self._names[call.name], TorchOp())
            op.time += call.time / 1000
            if call.stack and call.number >= 0:
                op.call(call.stack, self._device_of[call.number])

    def _of_cpu(self) -> None:
        for call in self._operators.calls():
            op = self._profile.torch.setdefault(self._names[call.name], TorchOp())
            op.add(call.time / 1000, 1, 0.0)
            if call.stack:
                op.call(call.stack, call.time / 1000)
        if self._operators.missed:
            self._profile.origin.notes.append(("missed", {"n": self._operators.missed}))
        start, end = self._host_span
        if not self._windows and end > start:
            self._profile.host.steps.add((end - start) / 1000)


def nanoseconds(value: object) -> int | None:
    """Of microseconds as a trace writes them, in a string or as a number, which is read as text."""
    try:
        if isinstance(value, str):
            whole, _, part = value.partition(".")
            number = _thousandths(whole, part) if part.isdigit() else round(float(value) * 1000)
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value * 1000
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return number if -_FAR < number < _FAR else None


def microseconds(value: object) -> float | None:
    """How long something took."""
    try:
        time = float(value) if isinstance(value, (int, float, str)) else -1.0
    except (ValueError, OverflowError):
        return None
    return time if 0 <= time < _FAR / 1000 else None


def _thousandths(whole: str, part: str) -> int:
    number = int((part + "000")[:3]) + (part[3:4] >= "5")
    return int(whole) * 1000 + (-number if whole.startswith("-") else number)


def _widen(span: list[int], start: int, end: int) -> None:
    span[:] = min(span[0], start), max(span[1], end)


def _number(arguments: dict[str, Any]) -> int | None:
    """Which operator of torch this is, or launched this."""
    number = arguments.get("External id", arguments.get("external id"))
    return number if isinstance(number, int) else None


def _key(value: object) -> object:
    return value if isinstance(value, int) else str(value)[:100]
