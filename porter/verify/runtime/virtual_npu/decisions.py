"""What a program decides in Python, told in order beside the operators that run: seeds, optimisers, loss scalers, autocast,
gradients switched off, devices, process groups, data loaders.

Hooked before the names of CUDA are translated, so that both runs of a comparison come by here.
"""

import functools
import random
import sys
import threading

import torch
import torch_npu

from virtual_npu import native

_inside = threading.local()
_DECORATED = ("decorate_context", "generator_context")  # functions of torch
_SCALER = ("_enabled", "_init_scale", "_growth_factor", "_backoff_factor", "_growth_interval")


def watch(root):
    for owner, name in (
        (torch, "manual_seed"), (torch.random, "manual_seed"), (torch.npu, "manual_seed"),
        (torch.npu, "manual_seed_all"), (random, "seed"), (torch, "set_default_dtype"), (torch.npu, "set_device"),
        (torch.npu, "set_rng_state"), (torch, "set_rng_state"),
    ):  # fmt: skip
        _hook(owner, name, _arguments)
    if "numpy" in sys.modules:
        _hook(sys.modules["numpy"].random, "seed", _arguments)
    _hook(torch.optim.Optimizer, "__init__", _optimiser, after=True)
    for scaler in (torch.amp.GradScaler, torch_npu.npu.amp.GradScaler):
        _hook(scaler, "__init__", _scaler, after=True)
    _hook(torch.utils.data.DataLoader, "__init__", _loader, after=True)
    _hook(torch.amp.autocast, "__enter__", _autocast)
    for context in (torch.no_grad, torch.enable_grad, torch.inference_mode):
        _hook(context, "__enter__", lambda self: "", root=root)
    _hook(torch.set_grad_enabled, "__init__", _arguments_of_method, root=root)
    for name in ("detach", "detach_", "requires_grad_"):
        _hook(torch.Tensor, name, _arguments_of_method, root=root)
    if torch.distributed.is_available():
        for owner in (torch.distributed, torch.distributed.distributed_c10d):
            _hook(owner, "init_process_group", lambda backend=None, *args, **kwargs: f"backend={backend}")


def _hook(owner, name, content, after=False, root=""):
    """`content(*args, **kwargs)` says what was decided; `root`: only where a file below it asks by itself, or decorates a
    function of its own."""
    was = getattr(owner, name)
    title = name if not name.startswith("__") else owner.__name__

    @functools.wraps(was)
    def told(*args, **kwargs):
        if getattr(_inside, "deep", False) or (
            root and not _asking_code(sys._getframe(1)).co_filename.startswith(root)
        ):
            return was(*args, **kwargs)
        _inside.deep = True
        try:
            if not after:
                native.event(title, content(*args, **kwargs))
            result = was(*args, **kwargs)
            if after:
                native.event(title, content(*args, **kwargs))
            return result
        finally:
            _inside.deep = False

    setattr(owner, name, told)


def _asking_code(frame):
    """Below `@torch.no_grad()`, torch enters the context: the function that is decorated asks for it."""
    if frame.f_code.co_name in _DECORATED:
        return getattr(frame.f_locals.get("func"), "__code__", frame.f_code)
    return frame.f_code


def _plain(value):
    """As it is written; of a tensor, what is in it."""
    if isinstance(value, torch.Tensor):
        return str(native.as_cpu(value.detach()).tolist()) if value.numel() < 10_000 else "tensor"
    return repr(value).replace("cuda", "npu")


def _arguments(*args, **kwargs):
    return ", ".join([*map(_plain, args), *(f"{key}={_plain(value)}" for key, value in sorted(kwargs.items()))])


def _arguments_of_method(self, *args, **kwargs):
    return _arguments(*args, **kwargs)


def _settings(pairs):
    return ", ".join(f"{key}={_plain(value)}" for key, value in sorted(pairs) if not callable(value))


def _optimiser(self, *args, **kwargs):
    settings = {key: value for key, value in self.defaults.items() if key not in ("foreach", "fused")}
    return f"{type(self).__name__.replace('NpuFused', '')}: {_settings(settings.items())}"


def _scaler(self, *args, **kwargs):
    return _settings((key.strip("_"), vars(self).get(key)) for key in _SCALER)


def _loader(self, *args, **kwargs):
    names = ("batch_size", "num_workers", "drop_last", "pin_memory")
    return f"{_settings((name, getattr(self, name)) for name in names)}, sampler={type(self.sampler).__name__}"


def _autocast(self):
    return f"{self.device}, enabled={self._enabled}, {self.fast_dtype}"
