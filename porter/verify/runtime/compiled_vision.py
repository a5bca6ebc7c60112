"""torchvision's compiled operators in plain torch, where its own do not load: a wheel that was built for another torch.

As beside torch_npu, they are computed on the CPU: what lies on a device is copied there and back.
"""

import inspect
import sys
from math import ceil, floor

import torch

_SIZES = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_STEPS = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask"
)
_OF_INPUT = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_ALL_OF_CONVOLUTION = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
# as torchvision declares them; those without a function here are asked for by its own meta registrations alone
_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align(Tensor input, Tensor rois, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool(Tensor input, Tensor rois, {_SIZES}) -> (Tensor, Tensor)",
    f"ps_roi_align(Tensor input, Tensor rois, {_SIZES}, int sampling_ratio) -> (Tensor, Tensor)",
    f"ps_roi_pool(Tensor input, Tensor rois, {_SIZES}) -> (Tensor, Tensor)",
    f"deform_conv2d({_ALL_OF_CONVOLUTION}, {_STEPS}) -> Tensor",
    f"_roi_align_backward(Tensor grad, Tensor rois, {_SIZES}, {_OF_INPUT}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_SIZES}, {_OF_INPUT}) -> Tensor",
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_SIZES}, int sampling_ratio, {_OF_INPUT})"
    " -> Tensor",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_SIZES}, {_OF_INPUT}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_ALL_OF_CONVOLUTION}, {_STEPS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"qroi_align(Tensor input, Tensor rois, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    "_cuda_version() -> int",
)
_KEYS = ("CPU", "PrivateUse1", "AutogradCPU", "AutogradPrivateUse1")
_library = None


def define():
    """Called right after torchvision has tried to load its own."""
    global _library
    extension = sys.modules["torchvision.extension"]
    if extension._has_ops():
        return
    _library = torch.library.Library("torchvision", "DEF")
    for schema in _SCHEMAS:
        _library.define(schema)
    for function in (nms, roi_align, roi_pool, ps_roi_align, ps_roi_pool, deform_conv2d):
        for key in _KEYS:
            _library.impl(function.__name__, _on_cpu(function), key)
    _library.impl("_cuda_version", lambda: -1, "CompositeExplicitAutograd")
    extension._has_ops = lambda: True


def _on_cpu(function):
    def call(first, *rest):
        given = [value.cpu() if isinstance(value, torch.Tensor) else value for value in (first, *rest)]
        result = function(*given)
        return (
            result.to(first.device) if isinstance(result, torch.Tensor) else tuple(r.to(first.device) for r in result)
        )

    return call


def nms(dets, scores, iou_threshold):
    order, kept = scores.argsort(descending=True, stable=True), []
    areas = (dets[:, 2] - dets[:, 0]) * (dets[:, 3] - dets[:, 1])
    while order.numel():
        best, order = order[0], order[1:]
        kept.append(best)
        low, high = torch.maximum(dets[best, :2], dets[order, :2]), torch.minimum(dets[best, 2:], dets[order, 2:])
        shared = (high - low).clamp_min(0).prod(-1)
        order = order[shared / (areas[best] + areas[order] - shared) <= iou_threshold]
    return torch.stack(kept) if kept else order


def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    from torchvision.ops.roi_align import _roi_align  # torchvision's own formula

    if not len(rois):
        return input.new_zeros(0, input.shape[1], pooled_height, pooled_width)
    formula = inspect.unwrap(_roi_align)  # without torch.compile around it
    return formula(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)


def ps_roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    every = roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, True)
    channels = _channels(input, pooled_height, pooled_width)
    rows, columns = torch.arange(pooled_height)[:, None], torch.arange(pooled_width)
    return every[:, channels, rows, columns], channels.int().expand(len(rois), *channels.shape)


def roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    corners = _rounded(rois[:, 1:] * spatial_scale)
    out = input.new_zeros(len(rois), input.shape[1], pooled_height, pooled_width)
    for k, (x1, y1, x2, y2) in enumerate(corners.tolist()):
        image = input[int(rois[k, 0])]
        # one pixel at least, and both ends belong to the region
        across, down = max(x2 - x1 + 1, 1) / pooled_width, max(y2 - y1 + 1, 1) / pooled_height
        for i, j, region in _bins(image, x1, y1, across, down, pooled_height, pooled_width):
            out[k, :, i, j] = region.amax((1, 2))
    return out, torch.zeros(out.shape, dtype=torch.int32)


def ps_roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    channels = _channels(input, pooled_height, pooled_width)
    starts, ends = _rounded(rois[:, 1:3]) * spatial_scale, (_rounded(rois[:, 3:]) + 1.0) * spatial_scale
    out = input.new_zeros(len(rois), *channels.shape)
    for k, (x1, y1, x2, y2) in enumerate(torch.cat([starts, ends], 1).tolist()):
        image = input[int(rois[k, 0])]
        across, down = max(x2 - x1, 0.1) / pooled_width, max(y2 - y1, 0.1) / pooled_height
        for i, j, region in _bins(image, x1, y1, across, down, pooled_height, pooled_width):
            out[k, :, i, j] = region[channels[:, i, j]].mean((1, 2))
    return out, channels.int().expand(len(rois), *channels.shape)


def _rounded(values):
    """Halves away from zero, as in C."""
    return (values.abs() + 0.5).floor() * values.sign()


def _channels(input, height, width):
    return torch.arange(input.shape[1]).view(-1, height, width)


def _bins(image, x, y, across, down, height, width):
    for i in range(height):
        top, bottom = (min(max(edge, 0), image.shape[1]) for edge in (floor(i * down + y), ceil((i + 1) * down + y)))
        for j in range(width):
            left, right = (
                min(max(edge, 0), image.shape[2]) for edge in (floor(j * across + x), ceil((j + 1) * across + x))
            )
            if bottom > top and right > left:
                yield i, j, image[:, top:bottom, left:right]


def deform_conv2d(
    input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups,
    use_mask,
):  # fmt: skip
    batch, channels = input.shape[:2]
    _, _, kernel_h, kernel_w = weight.shape
    rows, columns = offset.shape[2:]
    taps = kernel_h * kernel_w
    y, x = offset.view(batch, offset_groups, taps, 2, rows, columns).unbind(3)
    tap = torch.arange(taps).view(taps, 1, 1)
    y = y + tap // kernel_w * dilation_h + torch.arange(rows).view(rows, 1) * stride_h - pad_h
    x = x + tap % kernel_w * dilation_w + torch.arange(columns) * stride_w - pad_w
    values = _between(input.view(batch, offset_groups, channels // offset_groups, *input.shape[2:]), y, x)
    if use_mask:
        values = values * mask.view(batch, offset_groups, 1, taps, rows, columns)
    # of each group of the convolution: its channels, and the taps of each
    values = values.reshape(batch, groups, channels // groups * taps, rows * columns)
    filters = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = torch.einsum("gok,bgkp->bgop", filters, values).reshape(batch, -1, rows, columns)
    return out + bias.view(1, -1, 1, 1)


def _between(planes, y, x):
    """Between four neighbours; what lies outside of the image is zero."""
    batch, groups, channels, height, width = planes.shape
    flat, total = planes.flatten(3), 0
    low_y, low_x = y.floor(), x.floor()
    for row, by_row in ((low_y, 1 - (y - low_y)), (low_y + 1, y - low_y)):
        for column, by_column in ((low_x, 1 - (x - low_x)), (low_x + 1, x - low_x)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = row.clamp(0, height - 1).long() * width + column.clamp(0, width - 1).long()
            place = place.flatten(2)[:, :, None].expand(-1, -1, channels, -1)
            value = flat.gather(3, place).view(batch, groups, channels, *y.shape[2:])
            total = total + value * (by_row * by_column * inside)[:, :, None]
    return total
