"""Matrix products and convolutions."""

import torch
import torch.nn.functional as F

from virtual_npu.operators.register import Unsupported, derivatives, kernel, masked

_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


@kernel("npu_bmmV2")
def bmm(x, mat2, output_sizes):
    product = torch.matmul(x, mat2)
    if output_sizes and list(output_sizes) != list(product.shape):
        raise Unsupported("npu_bmmV2", f"output_sizes {list(output_sizes)}")
    return product


@kernel("npu_bmm_v2_mat1_backward")
def bmm_mat1_backward(grad, mat1, mat2, size):
    return derivatives(lambda m: torch.matmul(m, mat2), grad, mat1)[0].reshape(size)


@kernel("npu_bmm_v2_mat2_backward")
def bmm_mat2_backward(grad, mat1, mat2, size):
    return derivatives(lambda m: torch.matmul(mat1, m), grad, mat2)[0].reshape(size)


@kernel("npu_linear")
def linear(x, weight, bias=None):
    if x.dim() != 2 or weight.dim() != 2:
        raise RuntimeError(f"npu_linear: input and weight are matrices, not {x.dim()}D and {weight.dim()}D")
    return F.linear(x, weight, bias)


@kernel("npu_linear_backward")
def linear_backward(grad, x, weight):
    return tuple(derivatives(F.linear, grad, x, weight))


# ---- grouped
def _sizes(group_list, kind, rows):
    numbers = [int(n) for n in group_list]
    sizes = numbers if kind == 1 else [b - a for a, b in zip([0, *numbers], numbers)]
    if any(n < 0 for n in sizes) or sum(sizes) > rows:
        raise RuntimeError(f"npu_grouped_matmul: group_list {numbers} does not divide {rows} rows")
    return sizes


def _grouped(x, weight, bias, sizes, split_item, group_type, dtype):
    weights = list(weight[0]) if len(weight) == 1 and weight[0].dim() == 3 else list(weight)
    if group_type == 2:
        # grouped along what is summed: x is [m, k], the weight [k, n]
        parts = [a @ b for a, b in zip(x[0].split(sizes, 1), weight[0].split(sizes, 0))]
        return [torch.stack(parts)] if split_item in (2, 3) else parts
    parts = list(x) if len(x) > 1 or sizes is None else list(x[0].split([*sizes, x[0].shape[0] - sum(sizes)]))
    rest = parts[len(weights) :]
    products = [a @ b for a, b in zip(parts, weights)]
    if bias:
        biases = list(bias[0]) if len(bias) == 1 and bias[0].dim() == 2 else list(bias)
        products = [p + b.to(p.dtype) for p, b in zip(products, biases)]
    products = [p.to(dtype) for p in products]
    if split_item in (0, 1):
        return products
    # rows that belong to no group are not written
    lost = [torch.full((r.shape[0], products[0].shape[1]), float("nan"), dtype=dtype) for r in rest if r.shape[0]]
    return [torch.cat([*products, *lost])]


@kernel("npu_grouped_matmul", "npu_grouped_matmul.List")
def grouped_matmul(
    x, weight, *, bias=None, group_list=None, split_item=0, group_type=None, group_list_type=0, act_type=0,
    output_dtype=None, tuning_config=None, **unmodelled,
):  # fmt: skip
    name = "npu_grouped_matmul"
    for key, value in unmodelled.items():
        if value is not None and value != []:
            raise Unsupported(name, f"{key}=")
    if act_type:
        raise Unsupported(name, f"act_type={act_type}")
    if not isinstance(output_dtype, (torch.dtype, type(None))):
        raise Unsupported(name, f"output_dtype={output_dtype}")
    if not all(t.is_floating_point() for t in (*x, *weight)):
        raise Unsupported(name, "quantised weights")
    if group_type not in (None, -1, 0, 2):
        raise RuntimeError(f"group_type only supports -1, 0 and 2, but got {group_type}")
    if group_type is None and isinstance(group_list, torch.Tensor):
        raise RuntimeError("Requires manual passing group_type, current is None.")
    summed = group_type == 2
    sizes = None if group_list is None else _sizes(group_list, group_list_type, x[0].shape[1 if summed else 0])
    if sizes is None and len(x) != (weight[0].shape[0] if len(weight) == 1 and weight[0].dim() == 3 else len(weight)):
        raise RuntimeError(f"{name}: {len(x)} x for {len(weight)} weights and no group_list")
    return _grouped(x, weight, bias, sizes, split_item, group_type, output_dtype or x[0].dtype)


# ---- convolutions
def _check_lengths(name, x, *settings):
    if any(len(s) not in (1, x.dim() - 2) for s in settings):
        raise Unsupported(name, f"stride, padding or dilation of a length that is not {x.dim() - 2}")


def _convolve(x, weight, bias, stride, padding, dilation, groups):
    _check_lengths("npu_convolution", x, stride, padding, dilation)
    return _CONVOLUTIONS[x.dim() - 2](x, weight, bias, stride, padding, dilation, groups)


@kernel("npu_conv2d", "npu_conv3d", "npu_convolution")
def convolution(x, weight, bias, stride, padding, dilation, groups):
    return _convolve(x, weight, bias, stride, padding, dilation, groups)


@kernel("npu_conv2d_backward", "npu_conv3d_backward", "npu_convolution_backward")
def convolution_backward(x, grad, weight, stride, padding, dilation, groups, output_mask):
    return masked(
        derivatives(
            lambda x, w, b: _convolve(x, w, b, stride, padding, dilation, groups), grad, x, weight,
            torch.zeros(weight.shape[0], dtype=weight.dtype),
        ),
        output_mask,
    )  # fmt: skip


def _convolve_transposed(x, weight, bias, padding, output_padding, stride, dilation, groups):
    _check_lengths("npu_convolution_transpose", x, padding, output_padding, stride, dilation)
    return _TRANSPOSED[x.dim() - 2](x, weight, bias, stride, padding, output_padding, groups, dilation)


@kernel("npu_conv_transpose2d", "npu_convolution_transpose")
def convolution_transpose(x, weight, bias, padding, output_padding, stride, dilation, groups):
    return _convolve_transposed(x, weight, bias, padding, output_padding, stride, dilation, groups)


@kernel("npu_conv_transpose2d_backward", "npu_conv_transpose3d_backward", "npu_convolution_transpose_backward")
def convolution_transpose_backward(x, grad, weight, padding, output_padding, stride, dilation, groups, mask):
    def forward(x, w, b):
        return _convolve_transposed(x, w, b, padding, output_padding, stride, dilation, groups)

    bias = torch.zeros(weight.shape[1] * groups, dtype=weight.dtype)
    return masked(derivatives(forward, grad, x, weight, bias), mask)
