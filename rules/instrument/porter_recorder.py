# porter: skip-file put here by `porter instrument`; `porter instrument --remove` takes it away
"""Records a training run as JSON lines, one file for each rank: what the run is, its weights at the start, its first
batches, and the loss of each step. It needs nothing but torch, and never stops the training: where it fails, it says so once
and records no more.

PORTER_RECORD=other.jsonl writes another file without another edit; {run} in a name is the first number that is free.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import hashlib
import importlib
import importlib.util
import json
import os
import platform
import random
import sys
import time

sys.modules.setdefault("porter_recorder", sys.modules[__name__])  # whatever package it was imported from

_WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
_TOLD = (
    "ACL_",
    "ASCEND_LAUNCH",
    "ATB_",
    "CLOSE_MATMUL",
    "CUBLAS_",
    "CUDA_LAUNCH",
    "HCCL_",
    "INF_NAN_",
    "LCCL_",
    "NCCL_",
    "NVIDIA_TF32",
    "OMP_NUM",
    "PYTHONHASHSEED",
    "PYTORCH_",
    "TASK_QUEUE",
    "TORCH_",
)
_PACKAGES = "accelerate deepspeed lightning megatron mmcv mmengine numpy peft pytorch_lightning timm torchvision transformers trl"
_SECRET = ("key", "password", "secret", "token")
# what the vendors name for runs that can be repeated; read when a device wakes or a process group is made
_REPEATABLE = {
    "HCCL_DETERMINISTIC": "true",
    "LCCL_DETERMINISTIC": "1",
    "CLOSE_MATMUL_K_SHIFT": "1",
    "ATB_MATMUL_SHUFFLE_K_ENABLE": "0",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}


class _State:
    def __init__(self):
        self.settings = {}
        self.off = True  # until start()
        self.watched = False
        self.attached = []  # trainers
        self.steps = 0
        self.parts = 0  # batches since the last step
        self.samples = 0  # since the last step
        self.clock = None
        self.losses = []  # of backward passes since the last step
        self.named = {}
        self.model = None
        self.names = {}  # of parameters, by their identity
        self.modules = None  # their record
        self.hooks = []  # that look at autocast in the next forward pass
        self.autocast = []  # the dtypes that they saw; None where it was off
        self.is_told_late = False  # a framework tells of a step when its gradients are gone
        self.stash = None  # what was seen of them before they were clipped, or by the optimiser's hook
        self.stashed = ()  # the optimisers of which this was before clipping
        self.clip = None  # the norm that a framework computed
        self.moving = []  # the optimisers
        self.entered = 0  # the steps there were when an optimiser began one that has the backward pass within it
        self.places = {}  # weights of a mark, by device and dtype
        self.queue = []  # records whose values are still on their way from the device
        self.file = None
        self.debugger = self.profiler = None
        self.is_open = False  # a step has begun
        self.is_part = False


_state = _State()


def _safe(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if not _state.off or function.__name__ == "start":
            try:
                return function(*args, **kwargs)
            except Exception as error:
                text = f"{type(error).__name__}: {error}".partition("\n")[0]
                if not _state.off:
                    sys.stderr.write(f"porter_recorder: nothing more is recorded, the training goes on: {text}\n")
                _state.off = True
        return None

    return call


@_safe
def start(log=None, seed=None, norms=(), save_gradients=False, lr_zero=False, msprobe=None, profile=None, batches=10):
    """At the top of the program, before torch is imported."""
    _state.off = False
    log = os.environ.get("PORTER_RECORD") or log
    _state.settings = dict(locals(), log=log and os.path.abspath(log), profile=profile and os.path.abspath(profile))
    if msprobe:
        _state.settings["msprobe"] = os.path.abspath(os.path.join(os.path.dirname(__file__), msprobe))
    if seed is not None:
        _seed(seed)


def _seed(seed):
    os.environ["PYTHONHASHSEED"] = str(seed)  # of the processes that this one starts
    for name, value in _REPEATABLE.items():
        os.environ.setdefault(name, value)
    import torch

    if importlib.util.find_spec("torch_npu") is not None:
        import torch_npu  # noqa: F401
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    torch.manual_seed(seed)
    for device in ("cuda", "npu"):
        if hasattr(torch, device):
            getattr(torch, device).manual_seed_all(seed)
    deterministic()
    from torch.utils.data import DataLoader

    inner = DataLoader.__init__

    @functools.wraps(inner)
    def init(self, *args, **kwargs):
        # the order of the data depends on no other random numbers; workers take their seeds from the same generator
        if len(args) < 13 and kwargs.get("generator") is None:
            kwargs["generator"] = torch.Generator().manual_seed(seed)
        inner(self, *args, **kwargs)

    DataLoader.__init__ = init


@_safe
def deterministic():
    """Also behind what switches it off again. Operators without a deterministic kernel warn."""
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False


@_safe
def watch(model=None, optimizer=None):
    """Before the first step: writes down what the run starts from."""
    if _state.watched:
        return
    _state.watched = True
    model = _find_model(optimizer) if model is None else model
    parameters = list(_parameters(model))
    _state.model, _state.names = model, {id(parameter): name for name, parameter in parameters}
    _state.moving = _optimizers(optimizer)
    for each in _state.moving:
        if hasattr(each, "register_step_pre_hook"):  # since torch 2.0
            each.register_step_pre_hook(_before_step)
            each.register_step_post_hook(_after_step)
    _zero(optimizer)
    atexit.register(_end)  # here: torch_npu, which is imported by now, shuts the device down after it
    if _state.settings.get("log"):
        read, _state.queue = _state.queue, []  # batches of the first step: what the run is comes before them
        device = parameters[0][1].device.type if parameters else "cpu"
        _put(_run(device))
        _put({"kind": "weights", "parameters": {n: _weight(p) for n, p in parameters}})
        if optimizer is not None:
            _put(_settings_of(optimizer))
        _state.modules = _modules(model)
        _put(dict(_state.modules))
        _state.queue += read
        _hook_autocast(model)


def _run(device):
    import torch

    npu, cudnn = getattr(torch, "npu", None), torch.backends.cudnn
    rank, ranks = _ranks()
    flags = {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn_deterministic": cudnn.deterministic,
        "cudnn_benchmark": cudnn.benchmark,
        "cudnn_allow_tf32": cudnn.allow_tf32,
        "matmul_allow_tf32": torch.backends.cuda.matmul.allow_tf32,
    }
    for kind in ("conv", "matmul"):
        if hasattr(npu, kind):
            flags[kind + "_allow_hf32"] = getattr(npu, kind).allow_hf32
    versions = {name: getattr(sys.modules.get(name), "__version__", None) for name in _PACKAGES.split()}
    return {
        "kind": "run",
        "format": 1,
        "rank": rank,
        "ranks": ranks,
        "device": device,
        "torch": str(torch.__version__),
        "torch_npu": getattr(sys.modules.get("torch_npu"), "__version__", None),
        "python": platform.python_version(),
        "program": os.path.basename(sys.argv[0]),
        "arguments": _arguments(sys.argv[1:]),
        "seed": _state.settings.get("seed"),
        "determinism": flags,
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith(_TOLD)},
        "versions": {name: str(version) for name, version in versions.items() if version},
    }


def _arguments(words):
    shown, hide = [], False
    for word in words:
        name, equals, _ = word.partition("=")
        secret = word.startswith("-") and any(part in name.lower() for part in _SECRET)
        shown.append("***" if hide else name + "=***" if secret and equals else word)
        hide = secret and not equals
    return shown


def _ranks():
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return int(os.environ.get("RANK") or 0), int(os.environ.get("WORLD_SIZE") or 1)


def _find_model(optimizer):
    """The module that holds what the optimiser moves; the outermost of several."""
    import torch

    moved = {id(p) for each in _optimizers(optimizer) for group in each.param_groups for p in group["params"]}
    best, most = None, (0, 0)
    for module in [each for each in gc.get_objects() if type(each).__module__ != "weakref" and _is_module(each)]:
        held = {id(p) for p in torch.nn.Module.parameters(module)}
        size = (len(held & moved if moved else held), sum(1 for _ in module.modules()))
        if size[0] and size > most:
            best, most = module, size
    return best


def _is_module(thing):
    import torch

    return issubclass(type(thing), torch.nn.Module)


def _optimizers(optimizer):
    """The torch optimisers within what a framework wraps."""
    if optimizer is None:
        return []
    if isinstance(optimizer, dict):
        optimizer = list(optimizer.values())
    if isinstance(optimizer, (list, tuple)):
        return [inner for each in optimizer for inner in _optimizers(each)]
    if hasattr(optimizer, "chained_optimizers"):
        return _optimizers(optimizer.chained_optimizers)
    inner = getattr(optimizer, "optimizer", None)
    if hasattr(inner, "param_groups"):
        return _optimizers(inner)
    return [optimizer] if hasattr(optimizer, "param_groups") else []


def _parameters(model):
    many = isinstance(model, (list, tuple))
    for number, part in enumerate(model if many else [model]):
        for name, parameter in part.named_parameters() if hasattr(part, "named_parameters") else ():
            yield (f"{number}." if many and len(model) > 1 else "") + _plain(name), parameter


def _plain(name):
    for wrapper in _WRAPPERS:
        name = name.replace("." + wrapper, ".")
        while name.startswith(wrapper):
            name = name[len(wrapper) :]
    return name


def _local(tensor):
    """Of complex numbers both parts, as a last dimension."""
    import torch

    tensor = tensor.detach()
    tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    tensor = tensor.coalesce().values() if tensor.is_sparse else tensor
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _weight(parameter):
    import torch

    values = _local(parameter).cpu().double().flatten()
    about = {"norm": torch.linalg.vector_norm(values).item(), "mark": _mark(values).item()}
    return dict(about, shape=list(parameter.shape), dtype=str(parameter.dtype)[6:])


_PERIOD = 4099  # a prime: no size of a layer is a multiple of it


def _mark(values):
    """A sum of values by weights of their places. The norm stays the same in another order and with other signs: this does
    not, and it is about as large."""
    key = values.device, values.dtype
    if key not in _state.places:
        _state.places[key] = _places().to(values.dtype).to(values.device)
    weights, whole = _state.places[key], values.numel() // _PERIOD * _PERIOD
    rest = values[whole:]
    total = (rest * weights[: rest.numel()]).sum()
    return total + (values[:whole].view(-1, _PERIOD).sum(0) * weights).sum() if whole else total


def _places():
    import torch

    return ((torch.arange(_PERIOD, dtype=torch.float64) * 0.6180339887498949) % 1 - 0.5) * 12**0.5


def _settings_of(optimizer):
    groups, each = [], _optimizers(optimizer)
    for group in [group for one in each for group in one.param_groups]:
        plain = {name: value for name, value in group.items() if _is_plain(value)}
        groups.append(dict(plain, parameters=len(group["params"])))
    name = type(each[0] if each else optimizer).__name__
    return {"kind": "optimizer", "name": name, "groups": groups}


def _is_plain(value):
    if isinstance(value, (list, tuple)):
        return all(isinstance(part, (int, float)) for part in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _modules(model):
    model = model[0] if isinstance(model, (list, tuple)) and model else model
    dropout = {}
    for name, module in model.named_modules() if model is not None else ():
        probability = getattr(module, "p", None) if "Dropout" in type(module).__name__ else None
        probability = getattr(module, "dropout", None) if type(module).__name__ == "MultiheadAttention" else probability
        if isinstance(probability, float) and probability > 0:
            dropout[_plain(name)] = probability
    return {"kind": "modules", "training": bool(getattr(model, "training", False)), "dropout": dropout}


def _hook_autocast(model):
    """The forward pass that comes next tells in which precision it computes: the first one may be over."""
    model = model[0] if isinstance(model, (list, tuple)) and model else model
    modules = list(model.modules()) if model is not None else []
    if any(hasattr(m, "_orig_mod") or getattr(m, "_compiled_call_impl", None) is not None for m in modules):
        return  # a hook would have it compiled anew
    for module in modules:
        is_large = any(parameter.dim() > 1 for parameter in module.parameters(recurse=False))
        if is_large and not hasattr(module, "code"):  # which a scripted one has
            _state.hooks.append(module.register_forward_pre_hook(_see_autocast))


@_safe
def _see_autocast(module, inputs):
    device = next(module.parameters()).device.type
    _state.autocast.append(_autocast(device))


def _autocast(device):
    """The dtype that autocast chooses now; None where it is off."""
    import torch

    if hasattr(torch, "get_autocast_dtype"):  # since torch 2.4
        is_on, dtype = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    elif device == "cpu":
        is_on, dtype = torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()
    elif device == "cuda":
        is_on, dtype = torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()
    else:
        library = getattr(torch, device)
        is_on, dtype = library.is_autocast_enabled(), library.get_autocast_dtype()
    return str(dtype)[6:] if is_on else None


def _put_autocast():
    """A record of the modules again, with what the hooks saw."""
    if _state.autocast:
        seen = [dtype for dtype in _state.autocast if dtype]
        _put(dict(_state.modules, autocast=max(seen, key=seen.count) if seen else None))
    if _state.autocast or _state.steps > 1:
        for hook in _state.hooks:
            hook.remove()
        _state.hooks, _state.autocast = [], []


class _Later:
    """Values that come from the device without a wait for it."""

    def __init__(self, tensors, whole=False):
        import torch

        device = tensors[0].device
        if not whole:
            tensors = [torch.stack([t.detach().reshape(()).to(device, torch.float32) for t in tensors])]
        self.host, self.event = [t.detach().to("cpu", non_blocking=True) for t in tensors], None
        if device.type in ("cuda", "npu"):
            library = getattr(torch, device.type)
            with library.device(device):
                self.event = library.Event()
                self.event.record()

    def is_there(self):
        return self.event is None or self.event.query()

    def tensors(self):
        if self.event is not None:
            self.event.synchronize()
        return self.host

    def values(self):
        return self.tensors()[0].tolist()


def _put(record, later=None, fill=None):
    """`fill(record, later)` completes it when its values are there."""
    _state.queue.append((record, later, fill))
    _flush(False)


def _put_numbers(record, *tables):
    """A record, and what of it or in its tables are tensors of one element."""
    places = [(part, name) for part in (record, *tables) for name in part if hasattr(part[name], "data_ptr")]
    waiting = []
    for part, name in places:
        if part[name].device.type == "cpu":
            part[name] = _mean(part[name]).item()
        else:
            waiting.append((part, name))

    def fill(_, later):
        for (part, name), value in zip(waiting, later.values()):
            part[name] = value

    _put(record, _Later([_mean(part[name]) for part, name in waiting]) if waiting else None, fill)


def _mean(tensor):
    return tensor.detach() if tensor.numel() == 1 else tensor.detach().float().mean()


def _flush(whole):
    if not _state.watched:
        _state.queue = [_filled(*each) for each in _state.queue]
        return
    while _state.queue and (whole or _state.queue[0][1] is None or _state.queue[0][1].is_there()):
        record, later, fill = _state.queue.pop(0)
        if later is not None:
            fill(record, later)
        if _state.file is None:
            _state.file = _open()
        _state.file.write(json.dumps(_spelled(record)) + "\n")
    if _state.file is not None:
        _state.file.flush()


def _filled(record, later, fill):
    """Without what it was made of, where that is there."""
    if later is None or not later.is_there():
        return record, later, fill
    fill(record, later)
    return record, None, None


def _open():
    stem, suffix = os.path.splitext(_state.settings["log"])
    rank, ranks = _ranks()
    name = stem + (f".rank{rank}" if ranks > 1 else "") + (suffix or ".jsonl")
    number = 1
    while "{run}" in name and os.path.exists(name.replace("{run}", str(number))):
        number += 1
    name = name.replace("{run}", str(number))
    os.makedirs(os.path.dirname(name), exist_ok=True)
    _state.settings["file"] = name
    return open(name, "w", encoding="utf-8")


def _spelled(value):
    """JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {str(key): _spelled(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelled(part) for part in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


@_safe
def loss(value, name=None, is_part=False, batch=None):
    """Of one backward pass, with what it read: a step has the mean of its passes, or their sum where the program divides
    each by their number (`is_part`). With a name, of another loss beside it."""
    _batch(batch)
    if name is None:
        _note(value, is_part)
    else:
        _state.named[name] = value


def _note(value, is_part=False):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: ("loss" not in str(name), name != "loss"))
        _state.named.update((str(name), value[name]) for name in names[1:] if "loss" in str(name))
        value = value[names[0]] if names else None
    if value is not None:
        # what the program does to it in place later is not meant
        value = value.detach().clone() if hasattr(value, "detach") else float(value)
        _state.losses.append(value)
        _state.is_part = is_part


@_safe
def step(loss=None, optimizer=None, model=None, batch=None, scaler=None, grad_norm=None):
    """Once for each step of the optimiser, before it moves the weights."""
    watch(model, optimizer)
    if _state.hooks and _state.steps:
        _put_autocast()
    _note(loss)
    _batch(batch, max(len(_state.losses), 1))
    if not _moves(optimizer):
        return
    _state.steps += 1
    if _state.settings.get("log"):
        _record(_optimizers(optimizer), scaler or getattr(optimizer, "scaler", None), grad_norm)
    _state.losses, _state.named, _state.samples, _state.stash, _state.clip = [], {}, 0, None, None
    _state.parts, _state.stashed = 0, ()
    _zero(optimizer)


def _moves(optimizer):
    """Whether accelerate, DeepSpeed or mmengine does not only accumulate."""
    if hasattr(optimizer, "should_update") and hasattr(optimizer, "_inner_count"):  # which a dictionary of them has not
        return optimizer.should_update()
    if hasattr(optimizer, "is_gradient_accumulation_boundary"):
        return optimizer.is_gradient_accumulation_boundary()
    return getattr(getattr(optimizer, "gradient_state", None), "sync_gradients", True)


def _record(optimizers, scaler, grad_norm):
    now, losses, row = time.perf_counter(), _state.losses, {"step": _state.steps}
    if losses:
        row["loss"] = sum(losses[1:], losses[0]) / (1 if _state.is_part else len(losses))
    row["lr"] = next((group.get("lr") for each in optimizers for group in each.param_groups), None)
    is_others = _state.stashed and not any(one is each for one in _state.stashed for each in optimizers)
    stash = None if is_others else _state.stash
    total, norms, marks = stash or _gradients(optimizers, _factor(scaler, optimizers))
    row["grad_norm"] = next((norm for norm in (grad_norm, _state.clip, total) if norm is not None), None)
    row["loss_scale"] = getattr(scaler, "_scale", None)  # get_scale() would wait for it
    if _state.clock is not None:
        row["seconds"] = now - _state.clock
        row["samples_per_second"] = _state.samples / row["seconds"] if _state.samples else None
    _state.clock = now
    row = {name: value for name, value in row.items() if value is not None}
    if _state.named:
        row["losses"] = _state.named
    _put_numbers({"kind": "step", **row}, _state.named)
    if norms:
        _put_numbers({"kind": "norms", "step": _state.steps, "gradients": norms, "marks": marks}, norms, marks)


def _factor(scaler, optimizers):
    """What the gradients have to be divided by; None for nothing."""
    factor = getattr(scaler, "_scale", None)
    if factor is not None:
        stages = [scaler._per_optimizer_states.get(id(each), {}).get("stage") for each in optimizers]
        factor = factor if all(getattr(stage, "name", "READY") == "READY" for stage in stages) else None
    return factor


def _gradients(optimizers, factor=None, step=None):
    """The norm of all local gradients; of each, with its mark, where this step is asked for."""
    step, wanted, norms, marks, gradients = step or _state.steps, _state.settings.get("norms", ()), {}, {}, {}
    is_wanted = wanted == "all" or step in wanted
    moved = [p for each in optimizers for group in each.param_groups for p in group["params"]]
    if not any(id(parameter) in _state.names for parameter in moved):  # it moves copies of the weights
        moved = [p for _, p in _parameters(_state.model)] or moved
    for parameter in moved:
        gradient = getattr(parameter, "main_grad", None) if parameter.grad is None else parameter.grad
        if gradient is not None:
            local = _local(gradient).flatten()
            norm = _length(local)
            name = _state.names.get(id(parameter), f"parameter{len(norms)}")
            norms[name] = norm if factor is None else norm / factor.to(norm.device)
            if is_wanted and local.is_floating_point():
                mark = _mark(local.to(norm.dtype))
                marks[name] = mark if factor is None else mark / factor.to(mark.device)
            gradients[name] = gradient
    if not norms:
        return None, {}, {}
    if _state.settings.get("save_gradients") and step == 1:
        _save(gradients, factor)
    total = _whole(list(norms.values()))
    return (total, norms, marks) if is_wanted else (total, {}, {})


def _length(values):
    import torch

    return torch.linalg.vector_norm(values, dtype=torch.float64 if values.device.type == "cpu" else torch.float32)


def _whole(norms):
    import torch

    return torch.linalg.vector_norm(torch.stack([norm.to(norms[0].device) for norm in norms]))


def _save(gradients, factor):
    import torch

    _flush(True)
    scale = 1 if factor is None else factor.cpu()
    whole = {name: gradient.detach().cpu() / scale for name, gradient in gradients.items()}
    torch.save(whole, os.path.splitext(_state.settings["file"])[0] + ".gradients.pt")


@_safe
def _before_step(optimizer, args=(), kwargs=None):
    _zero(optimizer)
    was_clipped = any(optimizer is each for each in _state.stashed)
    if _state.is_told_late and not was_clipped and _state.settings.get("log"):
        _state.stash = _gradients([optimizer], step=_state.steps + 1)
    if _has_closure(args, kwargs):
        _state.entered = _state.steps
    else:
        _put_update(optimizer)


@_safe
def _after_step(optimizer, args=(), kwargs=None):
    # a closure that ran once: what it left is what moved the weights
    if _has_closure(args, kwargs) and _state.entered == _state.steps - 1:
        _put_update(optimizer)


def _has_closure(args, kwargs):
    return any(callable(value) for value in (*args[1:], *(kwargs or {}).values()))


_FIRST = 10  # steps of which it is written down what reaches the optimiser


def _put_update(optimizer):
    """The norm of the gradients that move the weights: clipped and unscaled, unless that was forgotten."""
    step, wanted = _state.steps + _state.is_told_late, _state.settings.get("norms", ())
    if not _state.settings.get("log") or not (step <= _FIRST or wanted == "all" or step in wanted):
        return
    moved = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if moved:
        gradients = [_local(parameter.grad).flatten() for parameter in moved]
        total = _whole([_length(gradient) for gradient in gradients])
        scale = getattr(optimizer, "grad_scale", None)  # by which a fused optimiser divides as it moves the weights
        total = total if scale is None else total / scale.to(total.device)
        number = next(number for number, each in enumerate(_state.moving) if each is optimizer)
        values = sum(gradient.numel() for gradient in gradients)
        _put_numbers({"kind": "update", "step": step, "optimizer": number, "grad_norm": total, "values": values})


@_safe
def _before_clip(optimizer, scaler=None):
    if _state.settings.get("log"):
        _state.stashed = _optimizers(optimizer)
        _state.stash = _gradients(_state.stashed, _factor(scaler, _state.stashed), step=_state.steps + 1)


def _clipping(function, optimizer):
    """A function of a framework that clips gradients: their norms are taken before it."""

    @functools.wraps(function)
    def clip(*args, **kwargs):
        _before_clip(optimizer)
        return function(*args, **kwargs)

    return clip


def _zero(optimizer):
    for each in _optimizers(optimizer) if _state.settings.get("lr_zero") else ():
        for group in each.param_groups:
            if hasattr(group.get("lr"), "zero_"):
                group["lr"].zero_()
            elif group.get("lr") is not None:
                group["lr"] = 0.0


def _tensors(value, path=""):
    if hasattr(value, "data_ptr"):
        yield path or "0", value
    elif hasattr(value, "items") or isinstance(value, (list, tuple)):
        for key, part in value.items() if hasattr(value, "items") else enumerate(value):
            yield from _tensors(part, f"{path}.{key}" if path else str(key))


def _batch(batch, times=1):
    """`times`: how many such batches there were."""
    found = list(_tensors(batch)) if _state.settings.get("log") else []
    _state.samples += times * next((tensor.shape[0] for _, tensor in found if tensor.dim()), 0)
    if not found or _state.steps >= _state.settings["batches"]:
        return
    _state.parts += 1
    more = f"#{_state.parts}" if _state.parts > 1 else ""
    rows = [{"path": path + more, "shape": list(t.shape), "dtype": str(t.dtype)[6:]} for path, t in found]
    later = _Later([tensor for _, tensor in found], True)
    # what lies on the host already may be filled anew
    later.host = [copy.clone() if copy.data_ptr() == t.data_ptr() else copy for copy, (_, t) in zip(later.host, found)]
    _put({"kind": "batch", "step": _state.steps + 1, "inputs": rows}, later, _hash)


def _hash(record, later):
    for row, tensor in zip(record["inputs"], later.tensors()):
        whole = tensor.contiguous()
        size = whole.numel() * whole.element_size()
        row["hash"] = hashlib.sha256(ctypes.string_at(whole.data_ptr(), size) if size else b"").hexdigest()[:16]
        if whole.is_floating_point() and size:
            row["mean"] = whole.double().mean().item()


@_safe
def begin(model=None):
    """The training step begins: for msProbe and the profiler."""
    settings = _state.settings
    if _state.is_open:
        return
    _state.is_open = True
    if settings.get("msprobe"):
        if _state.debugger is None:
            from msprobe.pytorch import PrecisionDebugger

            _state.debugger = PrecisionDebugger(config_path=settings["msprobe"])
        _state.debugger.start(model=_find_model(None) if model is None else model)
    if settings.get("profile") and _state.profiler is None:
        _state.profiler = _profiler(settings["profile"])
        _state.profiler.start()
        atexit.register(_state.profiler.stop)


@_safe
def end():
    """The training step has ended."""
    if _state.is_open:
        _state.is_open = False
        if _state.debugger is not None:
            _state.debugger.stop()
            _state.debugger.step()
        if _state.profiler is not None:
            _state.profiler.step()


def _profiler(folder):
    """One step of waiting, one of warming up, two that are recorded."""
    import torch

    library, device, more = torch.profiler, "CUDA", {}
    if hasattr(torch, "npu") and torch.npu.is_available():
        import torch_npu

        library, device = torch_npu.profiler, "NPU"
        level, metrics = library.ProfilerLevel.Level1, library.AiCMetrics.PipeUtilization
        more = {"experimental_config": library._ExperimentalConfig(profiler_level=level, aic_metrics=metrics)}
    kinds = library.ProfilerActivity
    activities = [kinds.CPU] + ([getattr(kinds, device)] if device == "NPU" or torch.cuda.is_available() else [])
    return library.profile(
        activities=activities,
        schedule=library.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=library.tensorboard_trace_handler(folder),
        record_shapes=True,
        **more,
    )


@_safe
def attach(trainer):
    """To a trainer of transformers, Lightning, mmengine or mmcv, before it trains; once, if it trains several times."""
    if any(trainer is each for each in _state.attached):
        return
    _state.attached.append(trainer)
    if hasattr(trainer, "add_callback") and hasattr(trainer, "training_step"):
        _attach_transformers(trainer)
    elif hasattr(trainer, "fit") and hasattr(trainer, "callbacks"):
        _attach_lightning(trainer)
    elif hasattr(trainer, "register_hook"):
        _attach_runner(trainer)
    else:
        raise TypeError(f"{type(trainer).__name__} is no trainer of transformers, Lightning, mmengine or mmcv")


def _attach_transformers(trainer):
    from transformers import TrainerCallback

    inner, state = trainer.training_step, {"told": False}

    def training_step(model, inputs, *args, **kwargs):
        _safe(_batch)(inputs)
        value = inner(model, inputs, *args, **kwargs)
        _safe(_note)(value, True)
        return value

    def clip(*args, **kwargs):
        _before_clip(trainer.optimizer, getattr(trainer.accelerator, "scaler", None))
        _state.clip = state["clip"](*args, **kwargs)
        return _state.clip

    class Recorder(TrainerCallback):
        def on_train_begin(self, args, control_state, control, model=None, optimizer=None, **_):
            accelerator = getattr(trainer, "accelerator", None)
            if accelerator is not None and accelerator.clip_grad_norm_ is not clip:  # which it is when it trains again
                state["clip"], accelerator.clip_grad_norm_ = accelerator.clip_grad_norm_, clip
            watch(model, optimizer)

        def on_step_begin(self, args, control_state, control, model=None, optimizer=None, **_):
            _zero(optimizer)
            begin(model)

        def on_pre_optimizer_step(self, args, control_state, control, model=None, optimizer=None, **_):
            state["told"] = True
            step(optimizer=optimizer, model=model)

        def on_step_end(self, args, control_state, control, model=None, optimizer=None, **_):
            if not state["told"]:  # an older transformers
                step(optimizer=optimizer, model=model)
            end()

    _state.is_told_late = not hasattr(TrainerCallback, "on_pre_optimizer_step")
    trainer.training_step = training_step
    trainer.add_callback(Recorder())


def _attach_lightning(trainer):
    package = type(trainer).__mro__[-2].__module__.partition(".")[0]
    library = importlib.import_module("lightning.pytorch" if package == "lightning" else package)

    def scaler():
        return getattr(getattr(trainer, "precision_plugin", None), "scaler", None)

    _watch_module_clipping(library.LightningModule, scaler)

    class Recorder(library.Callback):
        def on_train_start(self, trainer, module):
            watch(module, trainer.optimizers)

        def on_train_batch_start(self, trainer, module, batch, *_):
            _safe(_batch)(batch)
            begin(module)

        def on_before_backward(self, trainer, module, loss):
            factor = getattr(scaler(), "_scale", None)
            _safe(_note)(loss.detach() if factor is None else loss.detach() / factor, True)

        def on_before_optimizer_step(self, trainer, module, optimizer, *_):
            step(optimizer=optimizer, model=module, scaler=scaler())

        def on_train_batch_end(self, *_):
            end()

    trainer.callbacks.append(Recorder())


def _watch_module_clipping(kind, scaler):
    """Of a module that steps its optimisers itself. It is the class that is changed: a module may be pickled."""
    inner = getattr(kind, "clip_gradients", None)
    if inner is None or hasattr(inner, "__wrapped__"):
        return

    @functools.wraps(inner)
    def clip_gradients(self, optimizer, *args, **kwargs):
        if not self.automatic_optimization:  # where a trainer clips, the step was told before
            _before_clip(optimizer, scaler())
        return inner(self, optimizer, *args, **kwargs)

    kind.clip_gradients = clip_gradients


def _attach_runner(runner):
    try:
        from mmengine.hooks import Hook
    except ImportError:
        from mmcv.runner import Hook

    def optimizer():
        return getattr(runner, "optim_wrapper", None) or getattr(runner, "optimizer", None)

    class Recorder(Hook):
        priority = "VERY_LOW"
        is_first = True

        def before_train_iter(self, runner, *args, **kwargs):
            if self.is_first:
                self.is_first = False
                _safe(_watch_clipping)(runner, optimizer())
            watch(runner.model, optimizer())
            begin(runner.model)

        def after_train_iter(self, runner, batch_idx=None, data_batch=None, outputs=None):
            values = getattr(runner, "outputs", None) if outputs is None else outputs
            values = values.get("log_vars", values) if isinstance(values, dict) else None
            loss(values, batch=getattr(runner, "data_batch", data_batch))
            step(optimizer=optimizer(), model=runner.model)
            end()

    _state.is_told_late = True
    runner.register_hook(Recorder(), priority="VERY_LOW")


def _watch_clipping(runner, optimizer):
    many = getattr(optimizer, "optim_wrappers", None)  # of an OptimWrapperDict
    for wrapper in many.values() if many else [optimizer]:
        if hasattr(wrapper, "clip_func"):  # mmengine
            wrapper.clip_func = _clipping(wrapper.clip_func, wrapper)
    for hook in getattr(runner, "hooks", ()):
        if hasattr(hook, "clip_grads"):  # mmcv
            hook.clip_grads = _clipping(hook.clip_grads, optimizer)


@_safe
def _end():
    if _state.settings.get("log"):
        if not hasattr(sys, "last_type"):  # a run that ended by an error has no end
            _put({"kind": "end", "steps": _state.steps})
        _flush(True)
        _state.file.close()
