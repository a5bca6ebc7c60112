"""What moves, selects, fills and orders elements."""

import torch

from virtual_npu.operators.register import Unsupported, in_place_kernel, kernel


def _transpose_and_reshape(x, perm, shape, transpose_first):
    return x.permute(perm).reshape(shape) if transpose_first else x.reshape(shape).permute(perm)


@kernel("npu_confusion_transpose")
def confusion_transpose(x, perm, shape, transpose_first):
    return _transpose_and_reshape(x, perm, shape, transpose_first)


@kernel("npu_confusion_transpose_backward")
def confusion_transpose_backward(grad, perm, shape, transpose_first):
    """`shape` is that of the input, and what the forward did last comes first."""
    back = [list(perm).index(i) for i in range(len(perm))]
    if transpose_first:
        return grad.permute(back).reshape(shape)
    return grad.reshape([shape[p] for p in perm]).permute(back)


@kernel("npu_transpose")
def transpose(x, perm, require_contiguous=True):
    return x.permute(perm)


@kernel("npu_broadcast")
def broadcast(x, size):
    return x.expand(size)


@kernel("npu_reshape")
def reshape(x, shape, can_refresh=False):
    return x.reshape(shape).clone()


@kernel("npu_slice")
def take_slice(x, offsets, size):
    return x[tuple(slice(o, None if s == -1 else o + s) for o, s in zip(offsets, size))]


@kernel("npu_pad")
def pad(x, paddings):
    pairs = list(zip(paddings[::2], paddings[1::2]))
    if len(pairs) != x.dim():
        raise RuntimeError(f"npu_pad: {len(paddings)} paddings for {x.dim()} dimensions")
    if pairs != pairs[::-1]:
        raise Unsupported("npu_pad", "paddings that differ between the dimensions: their order is not documented")
    return torch.nn.functional.pad(x, [n for pair in pairs for n in pair])


@in_place_kernel("one_")
def one_(x):
    x.fill_(1)


@kernel("npu_masked_fill_range")
def masked_fill_range(x, start, end, value, axis=-1):
    if x.dim() != 2 or axis not in (-1, 1):
        raise Unsupported("npu_masked_fill_range", f"axis {axis} of a {x.dim()}D tensor")
    x = x.clone()
    for number, (starts, ends) in enumerate(zip(start.tolist(), end.tolist())):
        for row, (first, last) in enumerate(zip(starts, ends)):
            x[row, first:last] = value[number]
    return x


@kernel("npu_one_hot")
def one_hot(x, num_classes=-1, depth=1, on_value=1, off_value=0):
    """The axis to be filled is called num_classes. An index that is out of range has no one."""
    hot = x.long().unsqueeze(-1) == torch.arange(depth)
    filled = torch.where(hot, torch.tensor(float(on_value)), torch.tensor(float(off_value)))
    return filled if num_classes == -1 else filled.movedim(-1, num_classes)


@kernel("npu_sort_v2")
def sort(x, dim=-1, descending=False):
    if dim not in (-1, x.dim() - 1):
        raise RuntimeError(f"npu_sort_v2: only the last dimension can be sorted along, not {dim}")
    return x.sort(dim, descending).values


@kernel("npu_max.dim")
def maximum(x, dim, keepdim=False):
    values, indices = x.max(dim, keepdim)
    return values, indices.int()


@kernel("npu_min.dim")
def minimum(x, dim, keepdim=False):
    values, indices = x.min(dim, keepdim)
    return values, indices.int()


@kernel("npu_max_backward", "npu_min_backward")
def extremum_backward(grad, dim, indices, sizes, keepdim):
    if not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return torch.zeros(sizes, dtype=grad.dtype).scatter(dim, indices.long(), grad)
