"""How a reference becomes a kernel of the device."""

import functools

import torch
from torch.utils import _pytree as pytree

from virtual_npu import native

_LIBRARIES = {space: torch.library.Library(space, "IMPL") for space in ("npu", "aten")}
_KEYS = torch._C.DispatchKeySet
_WITH_AUTOGRAD = _KEYS(torch._C.DispatchKey.BackendSelect)
_WITHOUT_AUTOCAST = _KEYS(torch._C.DispatchKey.AutocastCPU)


class Unsupported(NotImplementedError):
    """An argument that the reference does not model. It raises: a wrong number would be believed."""

    def __init__(self, operator, what):
        super().__init__(
            f"virtual NPU: the reference of {operator} does not model {what}; nothing is said about an NPU"
        )


def kernel(*names):
    """Makes a function of CPU tensors the NPU kernel of npu::name (or of aten::name, where it is written so)."""

    operator_name = f"npu::{names[0].removeprefix('aten::')}"

    def register(reference):
        @functools.wraps(reference)
        def run(*args, **kwargs):
            tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
            device = _device(tensors, names[0])
            native.note(operator_name, False, tensors)
            with torch._C._AutoDispatchBelowAutograd():
                result = reference(*pytree.tree_map(_as_cpu, args), **pytree.tree_map(_as_cpu, kwargs))
                result = pytree.tree_map(functools.partial(_as_npu, device), result)
            _tell(operator_name, (args, kwargs), result)
            return result

        for name in names:
            space, _, operator = name.rpartition("::")
            _LIBRARIES[space or "npu"].impl(operator, run, "PrivateUse1", allow_override=True)
        return reference

    return register


def in_place_kernel(*names):
    """The same for operators that change, and give back, their only argument."""

    def register(reference):
        def run(x):
            native.note(f"npu::{names[0]}", False, [x])
            with torch._C._AutoDispatchBelowAutograd():
                reference(_as_cpu(x))
            _tell(f"npu::{names[0]}", (), x)
            return x

        for name in names:
            _LIBRARIES["npu"].impl(name, run, "PrivateUse1", allow_override=True)
        return reference

    return register


def in_place(*names):
    """Leaves the tensor as it is: for operators that change a memory format, of which there is one here."""
    for name in names:
        _LIBRARIES["npu"].impl(name, lambda x, *args, **kwargs: x, "PrivateUse1", allow_override=True)


def derivatives(function, gradient, *inputs):
    """The gradients of `function(*inputs)` for each input, on CPU tensors inside a kernel; None for what has none."""
    with torch._C._ForceDispatchKeyGuard(_WITH_AUTOGRAD, _WITHOUT_AUTOCAST), torch.enable_grad():
        given = [x.detach().requires_grad_() if _differentiable(x) else x for x in inputs]
        result = function(*given)
        wanted = [x for x in given if _differentiable(x)]
        found = torch.autograd.grad(result, wanted, gradient.to(result.dtype), allow_unused=True)
    by_input = {id(x): g for x, g in zip(wanted, found)}
    return [_zero_if_missing(by_input.get(id(x)), x) if isinstance(x, torch.Tensor) else None for x in given]


def masked(gradients, mask):
    """What a backward kernel gives back: nothing for a gradient that is not asked for."""
    return tuple(gradient if wanted else None for gradient, wanted in zip(gradients, mask))


def _zero_if_missing(gradient, x):
    return torch.zeros_like(x) if gradient is None else gradient


def _differentiable(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def _device(tensors, name):
    devices = sorted({str(x.device) for x in tensors if x.dim()}, reverse=True)
    if len(devices) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{devices[0]} and {devices[1]}! (when running npu::{name})"
        )
    return torch.device(devices[0]) if devices else torch.device("npu", torch.npu.current_device())


def _tell(name, given, result):
    settings = [x for x in pytree.tree_leaves(given) if isinstance(x, (bool, int, float, str))]
    native.computed(name, repr(settings), [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)])


def _as_cpu(x):
    return native.as_cpu(x) if isinstance(x, torch.Tensor) else x


def _as_npu(device, x):
    return native.as_npu(x.contiguous(), device) if isinstance(x, torch.Tensor) else x
