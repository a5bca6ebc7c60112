"""The positions at which torch itself takes a device are all known: its signatures are asked, not our memory."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

import pytest

from porter.rulebook.table import load

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_torch")]

MODULES = """torch torch.amp torch.autograd.profiler torch.cuda torch.cuda.memory torch.cuda.random torch.distributed torch.distributed.device_mesh torch.distributed.pipelining
    torch.distributed.tensor torch.hub torch.jit torch.nested torch.nn torch.random torch.utils.checkpoint torch.utils.data""".split()
NAMES = {"device", "device_type", "map_location"}
FAR = 4  # behind so many others nobody gives a device by its position
# what is no string for a device, or is another's method
NOT = {
    "torch.TypedStorage", "torch.nn.Module", "torch.autograd.profiler.FunctionEvent", "torch.distributed.Work",
    "torch.distributed.pipelining.Pipe", "torch.distributed.pipelining.PipeInfo", "torch.nn.LazyLinear.cls_to_become",
    "torch.distributed.get_default_backend_for_device",
    # an NPU has no such function: the call waits for a person, and its argument with it
    "torch.cuda.Event.from_ipc_handle", "torch.cuda.ExternalStream", "torch.cuda.get_stream_from_external",
    "torch.cuda.can_device_access_peer", "torch.cuda.clock_rate", "torch.cuda.power_draw", "torch.cuda.temperature",
    "torch.cuda.device_memory_used", "torch.cuda.memory_usage", "torch.cuda.list_gpu_processes",
    "torch.cuda.memory.list_gpu_processes", "torch.cuda.use_mem_pool", "torch.cuda.memory.use_mem_pool",
}  # fmt: skip


def taken() -> Iterator[tuple[str, int]]:
    """Public functions, classes and their methods, and where each takes a device."""
    for module in MODULES:
        for name, value in sorted(vars(importlib.import_module(module)).items()):
            if name.startswith("_") or not callable(value):
                continue
            found = [(f"{module}.{name}", value)]
            if inspect.isclass(value):
                found += [(f"{module}.{name}.{k}", v) for k, v in vars(value).items() if not k.startswith("_")]
            for full, what in found:
                what = getattr(what, "__func__", what)  # of a class or static method
                try:
                    parameters = [*inspect.signature(what).parameters.values()]
                except (TypeError, ValueError):
                    continue
                skip = inspect.isfunction(what) and parameters[:1] and parameters[0].name in ("self", "cls")
                for at, parameter in enumerate(parameters[bool(skip) :]):
                    if parameter.name in NAMES and parameter.kind is parameter.POSITIONAL_OR_KEYWORD and at < FAR:
                        yield full, at


def test_where_torch_takes_a_device_is_a_sink() -> None:
    sinks = {name: sink.position for sink in load().sinks for name in sink.calls}
    missing = [
        (name, at)
        for name, at in taken()
        if name not in NOT and name.rpartition(".")[0] not in NOT and sinks.get(name) != at
    ]
    assert not missing
