"""What the files of facts are written with."""

import contextlib

import torch


def over(*cases):
    """One fact for each case."""

    def mark(function):
        function.cases = cases
        return function

    return mark


def is_(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


@contextlib.contextmanager
def raises(text, kind=Exception):
    try:
        yield
    except kind as error:
        said = f"{type(error).__name__}: {error}"
        assert text in said, f"it raises {said[:300]!r}, which does not say {text!r}"
    else:
        raise AssertionError(f"it does not raise ({text!r})")


def leaves(*tensors):
    return [t.detach().clone().requires_grad_(t.is_floating_point()) for t in tensors]


def flat(result):
    return [t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, torch.Tensor)]


def forward_and_backward(function, *tensors):
    """The results of `function(*tensors)`, and the gradients of a loss that uses all of those that have one."""
    given = leaves(*tensors)
    results = flat(function(*given))
    loss = sum((r.float() * weights(r)).sum() for r in results if r.requires_grad)
    if isinstance(loss, torch.Tensor):
        loss.backward()
    return [r.detach().cpu() for r in results] + [t.grad.cpu() for t in given if t.grad is not None]


def weights(result):
    """A different one for each element: a constant would hide a wrong place."""
    return torch.linspace(-1, 1, result.numel()).reshape(result.shape).to(result.device)


def same(found, wanted, tolerance=2e-5):
    assert len(found) == len(wanted), f"{len(found)} tensors, not {len(wanted)}"
    for number, (f, w) in enumerate(zip(found, wanted)):
        assert f.shape == w.shape, f"tensor {number}: {tuple(f.shape)} is not {tuple(w.shape)}"
        assert f.dtype == w.dtype, f"tensor {number}: {f.dtype} is not {w.dtype}"
        if tolerance == 0:
            assert torch.equal(f, w), f"tensor {number} differs by {(f.double() - w.double()).abs().max()}"
        else:
            assert torch.allclose(f.double(), w.double(), atol=tolerance, rtol=10 * tolerance), (
                f"tensor {number} differs by {(f.double() - w.double()).abs().max()}"
            )


def agree(on_npu, plain, *tensors, tolerance=2e-5):
    """`on_npu` on the device says what `plain` says on the CPU, forwards and backwards."""
    found = forward_and_backward(on_npu, *(t.npu() for t in tensors))
    same(found, forward_and_backward(plain, *tensors), tolerance)
