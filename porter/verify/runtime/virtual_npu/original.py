"""The untouched CUDA program on the virtual NPU: only names are translated, so that both programs run the same kernels.

torch.cuda becomes a view of torch.npu, "cuda" means "npu" and "nccl" means "hccl", both ways: what the program reads of a
device says cuda. torch_npu's own shim is not used here: it is one of the things a user may be porting with.
"""

import functools
import sys
import threading
import types

import torch
import torch.cuda.amp
import torch.utils._device
import torch_npu  # noqa: F401
from torch.overrides import TorchFunctionMode

from virtual_npu import scripted

_cuda, _npu = torch.cuda, torch.npu
_NAME, _VERSION, _CAPABILITY, _PROCESSORS = "NVIDIA (virtual)", "12.8", (9, 0), 132
_DEVICE_KEYS = ("device", "pin_memory_device")
_FORMATS = (torch.channels_last, torch.channels_last_3d)


def as_npu(device):
    if type(device) is str and (device == "cuda" or device.startswith("cuda:")):
        return "npu" + device[4:]
    if type(device) is torch.device and device.type == "cuda":
        return torch.device("npu") if device.index is None else torch.device("npu", device.index)
    return device


def as_cuda(device):
    return torch.device("cuda", device.index) if type(device) is torch.device and device.type == "npu" else device


def _translated(function, keys=_DEVICE_KEYS, result=lambda found: found):
    @functools.wraps(function)
    def call(*args, **kwargs):
        named = {key: as_npu(value) if key in keys else value for key, value in kwargs.items()}
        return result(function(*map(as_npu, args), **named))

    return call


def _wrap(owner, name, keys=_DEVICE_KEYS):
    setattr(owner, name, _translated(getattr(owner, name), keys))


# ---- torch.cuda: the functions of torch.npu, with CUDA's answers where they differ
_OF_A_DEVICE = (
    "set_device", "synchronize", "current_stream", "default_stream", "memory_allocated", "max_memory_allocated",
    "memory_reserved", "max_memory_reserved", "memory_stats", "memory_summary", "mem_get_info", "get_rng_state",
    "reset_peak_memory_stats", "reset_max_memory_allocated", "set_rng_state",
)  # fmt: skip


class _Device(_npu.device):
    def __init__(self, device):
        super().__init__(as_npu(device))


class _Stream(_npu.Stream):
    def __new__(cls, device=None, priority=0, **kwargs):
        return super().__new__(cls, as_npu(device), priority, **kwargs)


class _Autocast(torch.amp.autocast):
    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class _Scaler(torch.amp.GradScaler):
    def __init__(self, *args, **kwargs):
        super().__init__("npu", *args, **kwargs)


class _Properties(types.SimpleNamespace):
    """A class of its own: an error tells whose the attribute is that it lacks."""


def _properties(device=None):
    return _Properties(
        name=_NAME, total_memory=64 << 30, major=_CAPABILITY[0], minor=_CAPABILITY[1], multi_processor_count=_PROCESSORS
    )


def _fill_nvtx():
    """Marks on a profiler's timeline: nothing a comparison could see."""
    nvtx = _cuda.nvtx
    for name in ("mark", "range_push", "range_pop", "range_start", "range_end"):
        setattr(nvtx, name, lambda *args, **kwargs: 0)


def _fill_torch_cuda():
    before = dict(vars(_cuda))
    for name in _npu.__all__:
        if hasattr(_cuda, name):
            setattr(_cuda, name, getattr(_npu, name))
    for name in _OF_A_DEVICE:
        if hasattr(_npu, name):
            setattr(_cuda, name, _translated(getattr(_npu, name)))
    _cuda.get_device_name = lambda device=None: _NAME
    _cuda.get_device_capability = lambda device=None: _CAPABILITY
    _cuda.get_device_properties = _properties
    _cuda.is_bf16_supported = lambda *args, **kwargs: True
    _cuda.device, _cuda.Stream = _Device, _Stream
    _npu.amp.GradScaler = _Scaler  # what a library takes where it finds an NPU: on a GPU it would have torch's
    _cuda.default_generators = _npu.default_generators
    _cuda._lazy_init, _cuda._is_in_bad_fork, _cuda._initialized = _npu._lazy_init, _npu._is_in_bad_fork, True
    for name in ("torch.cuda.amp", "torch.cuda.amp.autocast_mode", "torch.cuda.amp.grad_scaler"):
        if name in sys.modules:
            sys.modules[name].autocast, sys.modules[name].GradScaler = _Autocast, _Scaler
    _fill_below(before)


def _fill_below(before):
    """torch.cuda.random, torch.cuda.memory and the like hold the functions that they, or their package, had `before`."""
    changed = {id(was): getattr(_cuda, name) for name, was in before.items() if getattr(_cuda, name) is not was}
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.cuda.") and not name.startswith("torch.cuda.amp"):
            vars(module).update(
                {key: changed[id(held)] for key, held in list(vars(module).items()) if id(held) in changed}
            )


# ---- tensors
_DEVICE_OF, _IS_CUDA = torch.Tensor.device.__get__, torch.Tensor.is_cuda.__get__


class _Names(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.device:
            return function(*args, **kwargs)
        if function == _DEVICE_OF:
            return function(*args) if _torch_asks() else as_cuda(function(*args))
        if function == _IS_CUDA:
            return function(*args) if _torch_asks() else args[0].is_npu
        if function == torch.Tensor.cuda:
            function = torch.Tensor.npu
        named = {key: as_npu(value) if key in _DEVICE_KEYS else value for key, value in kwargs.items()}
        # the numbers are the same in every memory format, and the device has but one
        if named.get("memory_format") in _FORMATS:
            named["memory_format"] = torch.contiguous_format
        return function(*map(_plain, args), **named)


def _torch_asks():
    """torch's own code, and the kernels, need the truth: what was seen elsewhere, where no mode is on, is compared with it.

    And then it goes the way that it goes in the port.
    """
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") == "torch.utils._device":  # the mode of `with torch.device(...)`, on the way
        frame = frame.f_back
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("torch", "torch_npu", "virtual_npu")


def _plain(argument):
    if type(argument) is torch.memory_format:
        return torch.contiguous_format if argument in _FORMATS else argument
    return as_npu(argument)


def _everywhere():
    """A mode belongs to a thread: each new one enters it as well."""
    _Names().__enter__()
    run = threading.Thread.run

    def translated(self):
        with _Names():
            return run(self)

    threading.Thread.run = translated
    backward = torch.autograd.graph._engine_run_backward

    def translated_backward(*args, **kwargs):
        # Tensor.backward runs with the mode off, and functions, hooks and checkpoints of the program run inside
        with _Names():
            return backward(*args, **kwargs)

    torch.autograd._engine_run_backward = torch.autograd.graph._engine_run_backward = translated_backward


# ---- what does not pass through __torch_function__
class _Generator(torch.Generator):
    def __new__(cls, device="cpu"):
        return super().__new__(cls, as_npu(device))

    @property
    def device(self):
        return as_cuda(super().device)


class _TorchStream(torch.Stream):
    def __new__(cls, device=None, **kwargs):
        return super().__new__(cls, device=torch.device("npu") if device is None else as_npu(device), **kwargs)

    @property
    def device(self):
        return torch.device("cuda", self.device_index)


class _TorchEvent(torch.Event):
    def __new__(cls, device=None, **kwargs):
        return super().__new__(cls, device=torch.device("npu") if device is None else as_npu(device), **kwargs)

    @property
    def device(self):
        return torch.device("cuda")


def _module_cuda(self, device=None):
    """Module.npu takes an index alone."""
    return self.npu(torch.device(as_npu(device)).index if isinstance(device, (str, torch.device)) else device)


def _wrap_the_rest():
    _wrap(torch.amp.autocast, "__init__", ("device_type",))
    scaler = torch.amp.GradScaler.__init__
    torch.amp.GradScaler.__init__ = lambda self, device="cuda", *args, **kwargs: scaler(
        self, as_npu(device), *args, **kwargs
    )
    for name in ("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype"):
        _wrap(torch, name, ("device_type",))
    _wrap(torch, "load", ("map_location",))
    _wrap(torch.jit, "load", ("map_location",))
    torch.Generator, torch.Stream, torch.Event = _Generator, _TorchStream, _TorchEvent
    torch.nn.Module.cuda = _module_cuda
    torch.version.cuda = _VERSION
    sys.modules["torch.nn.parallel.data_parallel"]._get_available_device_type = lambda: (
        "npu"
    )  # compared with its tensors
    torch.UntypedStorage.cuda = torch.UntypedStorage.npu
    _wrap(torch.utils._device.DeviceContext, "__init__")  # a mode below all others: nobody sees what it adds
    torch.get_default_device = _told_as_cuda(torch.get_default_device)
    torch.accelerator.current_accelerator = _told_as_cuda(torch.accelerator.current_accelerator)


def _told_as_cuda(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        found = function(*args, **kwargs)
        return found if _torch_asks() else as_cuda(found)

    return call


def _backend(name):
    return name.replace("nccl", "hccl").replace("cuda", "npu") if isinstance(name, str) else name


def _wrap_distributed():
    import torch.distributed as dist

    start, group, backend = dist.init_process_group, dist.new_group, dist.get_backend

    @functools.wraps(start)
    def init_process_group(backend=None, *args, **kwargs):
        kwargs.pop("device_id", None)  # NCCL can split a group that is bound to a device: here the parts are made anew
        return start(_backend(backend), *args, **kwargs)

    @functools.wraps(group)
    def new_group(*args, **kwargs):
        if "backend" in kwargs:
            kwargs["backend"] = _backend(kwargs["backend"])
        return group(*args, **kwargs)

    for module in (dist, dist.distributed_c10d):
        module.init_process_group, module.new_group = init_process_group, new_group
    dist.get_backend = lambda *args, **kwargs: backend(*args, **kwargs).replace("hccl", "nccl")
    dist.is_nccl_available = lambda: True
    if hasattr(dist, "init_device_mesh"):
        _wrap(dist, "init_device_mesh")
        _wrap(sys.modules["torch.distributed.device_mesh"], "init_device_mesh")


_fill_torch_cuda()
_fill_nvtx()
_everywhere()
_wrap_the_rest()
scripted.translate(as_npu)
if torch.distributed.is_available():
    _wrap_distributed()
