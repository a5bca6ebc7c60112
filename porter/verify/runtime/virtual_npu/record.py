"""What a run says of itself, line by line into one file per process: losses, gradient norms, saved tensors, scalars that
were logged, losses that were printed, the error that ended it, and at the end the operators that ran and where they were asked for.

A loss is what backward() was called on. A program can name more values itself:

    from virtual_npu.record import value
    value("reward", reward)
"""

import atexit
import faulthandler
import functools
import hashlib
import json
import os
import sys
import time
import traceback

import torch
from after_import import after_import
from named_numbers import is_gauge
from torch.optim import optimizer as optimisers

from virtual_npu import about, compiled, decisions, differences, native, printed
from virtual_npu.learning import Learning
from virtual_npu.steps import Steps
from virtual_npu.updates import Updates

_SAVED_AT_MOST = 20_000  # tensors of one checkpoint
# tools that record a program put methods of their own in torch.Tensor: what is computed here is not the program's
_own = torch._C.TensorBase


class _Recorder:
    def __init__(self, folder):
        self.folder, self.owner, self.stream = folder, None, None
        self.root = os.environ.get("VIRTUAL_NPU_ROOT", "")
        self.steps, self.learning = Steps(), Learning(self.root, self.place)
        self.busy = False
        updates = os.environ.get("VIRTUAL_NPU_UPDATES")
        self.updates = Updates(updates, self.write, self.rank, _as_cpu) if updates else None

    def write(self, kind, name, content, where=None):
        if self.owner != os.getpid():  # a forked child has its own file, if it has something to say
            self.owner = os.getpid()
            self.stream = self.open("jsonl")
        row = {"kind": kind, "name": name, "value": content, "where": self.place() if where is None else where}
        self.stream.write(json.dumps(row) + "\n")

    def rank(self):
        rank = os.environ.get("RANK", "")
        if rank == "" and torch.distributed.is_available() and torch.distributed.is_initialized():
            rank = str(torch.distributed.get_rank())
        return rank or 0

    def open(self, kind):
        path = os.path.join(self.folder, f"{self.rank()}-{os.getpid()}.{kind}")
        return open(path, "a", buffering=1, encoding="utf-8")

    def place(self):
        """The innermost line of the user's own code."""
        frame = sys._getframe(1)
        while frame:
            file = frame.f_code.co_filename
            if self.root and file.startswith(self.root) and "site-packages" not in file:
                return f"{file[len(self.root) :]}:{frame.f_lineno}"
            frame = frame.f_back
        return ""


class _Untraced:
    """What is read here is not what the program does."""

    def __enter__(self):
        self.before, self.profiled = native.pause(False), native.profiled(False)

    def __exit__(self, *exception):
        native.pause(self.before)
        native.profiled(self.profiled)


_recorder = None


def value(name, content):
    """Records a number, or a tensor of one element, under a name."""
    if _recorder is not None:
        with _Untraced():
            _recorder.write("value", str(name), float(content).hex())


def start(folder):
    global _recorder
    _recorder = _Recorder(folder)
    native.trace(True, _recorder.root, True)
    if os.environ.get("VIRTUAL_NPU_EVENTS"):
        native.events(os.path.join(folder, f"{_recorder.rank()}-"))
        decisions.watch(_recorder.root)
    _hook_backward()
    optimisers.register_optimizer_step_pre_hook(_before_step)
    optimisers.register_optimizer_step_post_hook(_after_step)
    _hook_save()
    _hook_scalars()
    printed.watch(functools.partial(_recorder.write, "printed"))
    compiled.watch(functools.partial(_recorder.write, "compiled", "", ""))
    _hook_errors()
    if "VIRTUAL_NPU_UNTIL" in os.environ:  # where it hangs, said shortly before it is stopped
        left = float(os.environ["VIRTUAL_NPU_UNTIL"]) - time.time()
        if left > 0:
            faulthandler.dump_traceback_later(left, file=_recorder.open("stack"))
    atexit.register(_end)
    import multiprocessing.util

    # a process that multiprocessing made leaves without the handlers of atexit
    multiprocessing.util.Finalize(None, _end, exitpriority=1)


def _hook_backward():
    backward = torch.autograd.backward

    def recorded(tensors, *args, **kwargs):
        roots = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
        outermost = not _recorder.busy  # checkpointing calls backward inside of backward
        if outermost and len(roots) == 1 and roots[0].numel() == 1:
            with _Untraced():
                number = float(_as_cpu(roots[0])).hex()
                _recorder.write("loss", "", number)
                _recorder.learning.tell(_recorder.write)
            native.event("backward", number)
        _recorder.busy = True
        try:
            found = backward(tensors, *args, **kwargs)
        finally:
            if outermost:
                _recorder.busy = False
        if outermost:
            _recorder.steps.after_backward()
        return found

    torch.autograd.backward = recorded


def _before_step(optimiser, args, kwargs):
    with _Untraced(), torch.no_grad():
        total = 0.0
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    total += _square(parameter.grad)
        name = type(optimiser).__name__
        _recorder.write("grad_norm", name.replace("NpuFused", ""), (total**0.5).hex())
        if _recorder.updates:
            _recorder.updates.before(optimiser)


def _after_step(optimiser, args, kwargs):
    if _recorder.updates:
        with _Untraced(), torch.no_grad():
            _recorder.updates.after(optimiser)
    steps = _recorder.steps
    steps.count(optimiser)
    native.step(steps.done)
    steps.stop_after(steps.done)


def _hook_save():
    save = torch.save

    def recorded(content, f, *args, **kwargs):
        result = save(content, f, *args, **kwargs)
        with _Untraced():
            name = os.path.basename(f) if isinstance(f, (str, os.PathLike)) else "(stream)"
            for number, (key, tensor) in enumerate(_tensors(content)):
                if number >= _SAVED_AT_MOST:
                    break
                _recorder.write("saved", f"{name}:{key}", _digest(tensor))
        return result

    torch.save = recorded


def _hook_scalars():
    def hook():
        writer = sys.modules["torch.utils.tensorboard.writer"].SummaryWriter
        add = writer.add_scalar

        def recorded(self, tag, scalar_value, *args, **kwargs):
            if not is_gauge(tag):
                value(tag, scalar_value)
            return add(self, tag, scalar_value, *args, **kwargs)

        writer.add_scalar = recorded

    after_import("torch.utils.tensorboard.writer", hook)


def _error(kind, error, trace):
    if issubclass(kind, SystemExit):
        return
    where = ""
    for frame in traceback.extract_tb(trace):
        if _recorder.root and frame.filename.startswith(_recorder.root):
            where = f"{frame.filename[len(_recorder.root) :]}:{frame.lineno}"
    text = "\n".join(line for line in str(error).splitlines() if line.strip())
    text = text if len(text) < 8000 else text[:1000] + "\n" + text[-7000:]
    _recorder.write("error", kind.__name__, {"text": text, "about": about.package(error, trace, _recorder.root)}, where)


def _recorded(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            _error(type(error), error, error.__traceback__)
            raise

    return call


def _hook_errors():
    import multiprocessing.process

    spawn = sys.modules["torch.multiprocessing.spawn"]  # the name is also that of a function
    hook, wrap = sys.excepthook, spawn._wrap

    def recorded(kind, error, trace):
        _error(kind, error, trace)
        hook(kind, error, trace)

    # what a child process raises reaches no excepthook
    sys.excepthook = recorded
    process = multiprocessing.process.BaseProcess
    process.run = _recorded(process.run)
    spawn._wrap = functools.wraps(wrap)(lambda fn, *args: wrap(_recorded(fn), *args))


def _end():
    native.event("end", "")
    native.flush()
    if _recorder.stream is None or _recorder.owner != os.getpid():
        return
    with _Untraced():
        for name, where, kind, synchronises, calls, in_steps, dtype, shapes in native.seen():
            late = _late(shapes)
            row = {"class": kind, "sync": synchronises, "calls": calls, "in_steps": in_steps, "dtype": dtype}
            _recorder.write("operator", name, {**row, "shapes": len(shapes), "late_shapes": late[:8]}, where)
        for row in differences.rows(native):
            _recorder.write(*row)
        _recorder.write("end", "", {"steps": _recorder.steps.done}, "")
    _recorder.stream.close()
    _recorder.stream = None


def _late(shapes):
    """Shapes that went on to change: a short last batch, or a line first reached late, is no dynamic shape."""
    begun = min(shapes.values(), default=0)
    late = {shape: step for shape, step in shapes.items() if step > max(1, begun + 1)}
    return sorted(late) if len({*late.values()}) > 1 else []


def _as_cpu(tensor):
    local = _own.detach(tensor)
    local = local.to_local() if hasattr(local, "to_local") else local
    return native.as_cpu(local)


def _square(tensor):
    if tensor.is_sparse:
        indices, values = native.as_cpu(tensor.detach()._indices()), native.as_cpu(tensor.detach()._values())
        local = torch.sparse_coo_tensor(indices, values, tensor.shape).coalesce().values()
    else:
        local = _as_cpu(tensor)
    return float(_own.sum(_own.square(_own.double(local))))


def _digest(tensor):
    local = _own.contiguous(_as_cpu(tensor))
    content = _own.view(_own.flatten(local), torch.uint8) if local.numel() else local
    return [str(local.dtype), list(local.shape), hashlib.sha256(_own.numpy(content).tobytes()).hexdigest()[:16]]


def _tensors(content, path=""):
    if isinstance(content, torch.Tensor):
        if content.layout == torch.strided and not content.is_quantized:
            yield path, content
    elif isinstance(content, torch.nn.Module):
        yield from _tensors(content.state_dict(), path)
    elif isinstance(content, dict):
        for key, item in content.items():
            yield from _tensors(item, f"{path}.{key}" if path else str(key))
    elif isinstance(content, (list, tuple)):
        for number, item in enumerate(content):
            yield from _tensors(item, f"{path}.{number}" if path else str(number))
