"""Overlaps of boxes that are given as centre, width and height, pair by pair: what their documentation has formulas for."""

import torch

from virtual_npu.operators.register import Unsupported, derivatives, kernel


def _corners(boxes):
    x, y, w, h = boxes.float()
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def _overlap(first, second):
    """Intersection over union, union, and the corners of the smallest box around both."""
    (ax1, ay1, ax2, ay2), (bx1, by1, bx2, by2) = _corners(first), _corners(second)
    width = (torch.minimum(ax2, bx2) - torch.maximum(ax1, bx1)).clamp_min(0)
    height = (torch.minimum(ay2, by2) - torch.maximum(ay1, by1)).clamp_min(0)
    union = (ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - width * height
    around = torch.maximum(ax2, bx2) - torch.minimum(ax1, bx1), torch.maximum(ay2, by2) - torch.minimum(ay1, by1)
    return width * height / union, union, around


def _giou(first, second):
    iou, union, (width, height) = _overlap(first, second)
    return (iou - (width * height - union) / (width * height)).to(first.dtype).unsqueeze(1)


def _diou(first, second):
    iou, _, (width, height) = _overlap(first, second)
    apart = (first[:2].float() - second[:2].float()).square().sum(0)
    return (iou - apart / (width.square() + height.square())).to(first.dtype).unsqueeze(0)


def _check(name, boxes, trans, is_cross, mode):
    if not trans or is_cross or mode:
        raise Unsupported(
            name, f"trans={trans}, is_cross={is_cross}, mode={mode}; trans=True, is_cross=False, mode=0 is"
        )
    if boxes.dim() != 2 or boxes.shape[0] != 4:
        raise RuntimeError(f"{name}: boxes have the shape (4, n), not {tuple(boxes.shape)}")


def overlap(name, first, second, trans, is_cross, mode):
    """Intersection over union, the sides of the smallest box around both, and how far apart the centres are, squared."""
    _check(name, first, trans, is_cross, mode)
    iou, _, around = _overlap(first, second)
    return iou, around, (first[:2].float() - second[:2].float()).square().sum(0)


@kernel("npu_giou")
def giou(x, gtboxes, trans=False, is_cross=False, mode=0):
    _check("npu_giou", x, trans, is_cross, mode)
    return _giou(x, gtboxes)


@kernel("npu_giou_backward")
def giou_backward(grad, x, gtboxes, trans=False, is_cross=False, mode=0):
    return tuple(derivatives(_giou, grad.reshape(-1, 1), x, gtboxes))


@kernel("npu_diou")
def diou(x, gtboxes, trans=False, is_cross=False, mode=0):
    _check("npu_diou", x, trans, is_cross, mode)
    return _diou(x, gtboxes)


@kernel("npu_diou_backward")
def diou_backward(grad, x, gtboxes, trans=False, is_cross=False, mode=0):
    return tuple(derivatives(_diou, grad.reshape(1, -1), x, gtboxes))
