"""Casts between memory formats, of which there is one here, and between dtypes."""

from virtual_npu.operators.register import in_place, kernel

in_place("npu_format_cast_", "npu_format_cast_.acl_format")


@kernel(
    "npu_format_cast",
    "npu_format_cast.Tensor",
    "_npu_format_cast",
    "_npu_format_cast.aclnn",
    "_npu_format_cast.input_dtype",
)
def format_cast(x, *args, **kwargs):
    return x.clone()


@kernel("_npu_dtype_cast")
def dtype_cast(x, dtype):
    return x.to(dtype, copy=True)


@kernel("npu_dtype_cast_backward", "_npu_dtype_cast_backward")
def dtype_cast_backward(grad, dtype, *args, **kwargs):
    return grad.to(dtype, copy=True)
