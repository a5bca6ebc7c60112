"""What a profile says, as plain values. Times are microseconds of all profiled steps together, as floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

NPU, GPU, CPU = "npu", "gpu", "cpu"
NAMES = 20_000  # different operators that are told apart; the rest is one
REST = "(others)"
STACKS = 32  # different call stacks that are kept of one operator
LONGEST = 8000  # characters of a name: templates of CUDA are told apart by their ends


@dataclass
class Tally:
    """Calls of one thing."""

    count: int = 0
    time: float = 0.0
    most: float = 0.0

    def add(self, time: float, count: int = 1, most: float | None = None) -> None:
        self.count += count
        self.time += time
        self.most = max(self.most, time if most is None else most)


_Any = TypeVar("_Any")


def entry(table: dict[str, _Any], name: str, kind: Callable[[], _Any]) -> _Any:
    """What stands under a name, made where there is none; of a table that is full, what stands for the rest."""
    name = name[:LONGEST]
    return table.setdefault(name if name in table or len(table) < NAMES else REST, kind())


@dataclass
class Kernel(Tally):
    """All calls of an operator on one kind of core."""

    name: str = ""
    core: str = ""
    kind: str = "other"
    shapes: int = 0  # different input shapes; 0 where the profile has none
    fresh: Tally = field(default_factory=Tally)  # calls after the first step with shapes that no step before had
    single: float = 0.0  # time of calls with inputs of float32
    uneven: float = 0.0  # time of calls with a size that is no multiple of 16
    types: dict[str, None] = field(default_factory=dict)  # of inputs, of what runs on AI CPU


@dataclass
class TorchOp(Tally):
    """An operator of torch: `time` is its own time on the host."""

    device: float = 0.0  # of the kernels that it launches itself
    stacks: dict[str, float] = field(default_factory=dict)  # call stack -> time of the device, else of the host

    def call(self, stack: str, time: float) -> bool:
        """Whether the stack is one of those that are held."""
        if stack not in self.stacks and len(self.stacks) >= STACKS:
            return False
        self.stacks[stack] = self.stacks.get(stack, 0.0) + time
        return True


@dataclass
class Collective(Tally):
    """Calls of one collective; `time` is from its start to its end."""

    transit: float = 0.0
    wait: float = 0.0


@dataclass
class Link:
    """What went over one kind of link: megabytes, and milliseconds on the way."""

    size: float = 0.0
    time: float = 0.0
    packets: dict[float, int] = field(default_factory=dict)  # megabytes of a packet -> how many


@dataclass
class Parts:
    """Of the profiled steps; None is what the profile does not say."""

    computing: float | None = None
    exposed: float | None = None  # communication that nothing hides
    overlapped: float | None = None
    free: float | None = None
    bubble: float | None = None
    preparing: float | None = None
    copies: float | None = None  # within `free`: copies that nothing hides

    @property
    def total(self) -> float | None:
        known = (self.computing, self.exposed, self.free)
        return None if None in known else sum(part or 0.0 for part in known)


@dataclass
class Host:
    """What the host did."""

    loading: Tally | None = None  # the next batch of a DataLoader
    optimizer: Tally | None = None  # Optimizer.step
    apis: dict[str, Tally] = field(default_factory=dict)
    steps: Tally = field(default_factory=Tally)  # ProfilerStep ranges


@dataclass
class Origin:
    """Where a profile is from, and what of it was read."""

    rank: int | None = None
    world: int = 0  # ranks of the run, where the profile says so
    made_with: dict[str, str] = field(default_factory=dict)  # torch_npu, CANN, the level of the profiler
    variables: dict[str, str] = field(default_factory=dict)  # of the environment
    read: list[str] = field(default_factory=list)  # files
    absent: list[str] = field(default_factory=list)
    notes: list[tuple[str, dict[str, object]]] = field(default_factory=list)


@dataclass
class Profile:
    """Of one process."""

    name: str
    device: str = NPU
    steps: int = 0  # 0: the profile does not tell its steps apart
    origin: Origin = field(default_factory=Origin)
    parts: Parts = field(default_factory=Parts)
    kernels: dict[tuple[str, str], Kernel] = field(default_factory=dict)
    torch: dict[str, TorchOp] = field(default_factory=dict)
    host: Host = field(default_factory=Host)
    collectives: dict[str, Collective] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    waits: Tally | None = None  # gaps before kernels, on their stream

    @property
    def total(self) -> float | None:
        """Of all steps."""
        if self.parts.total is not None:
            return self.parts.total
        return self.host.steps.time or None

    def per_step(self, time: float | None) -> float | None:
        return None if time is None else time / (self.steps or 1)
