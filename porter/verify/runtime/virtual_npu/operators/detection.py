"""Boxes by their corners: overlaps of all pairs, choice of the best, coding against anchors, cutting out of feature maps.

Read from the operators' documentation and from torch_npu.contrib, which says what its wrappers compute.
"""

import torch

from virtual_npu.operators.boxes import overlap
from virtual_npu.operators.register import Unsupported, derivatives, kernel


def _pairs(boxes, others):
    """For each of `others` a row: the area that it shares with each of the boxes, and both areas."""
    boxes, others = boxes.float(), others.float()[:, None]
    low, high = torch.maximum(boxes[:, :2], others[..., :2]), torch.minimum(boxes[:, 2:4], others[..., 2:4])
    areas = [(b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]) for b in (boxes, others)]
    return (high - low).clamp_min(0).prod(-1), *areas


def _shares(name, boxes, gtboxes, mode, more):
    if mode not in (0, 1):
        raise RuntimeError(f"{name}: mode is 0 (IoU) or 1 (IoF), not {mode}")
    shared, area, truth = _pairs(boxes, gtboxes)
    whole = truth + area - shared if mode == 0 else truth.expand_as(shared)
    return ((shared + more) / (whole + 0.001)).to(boxes.dtype)


@kernel("npu_iou")
def npu_iou(bboxes, gtboxes, mode=0):
    return _shares("npu_iou", bboxes, gtboxes, mode, 0.001)


@kernel("npu_ptiou")
def npu_ptiou(bboxes, gtboxes, mode=0):
    return _shares("npu_ptiou", bboxes, gtboxes, mode, 0.0)


def _ciou(name, first, second, trans, is_cross, mode):
    iou, (width, height), apart = overlap(name, first, second, trans, is_cross, mode)
    (_, _, w1, h1), (_, _, w2, h2) = first.float(), second.float()
    angle = torch.atan(w2 / h2) - torch.atan(w1 / h1)
    v = angle.square() * (4 / torch.pi**2)
    taken = torch.where(v > 0, v * v / (1 - iou + v), 0.0)
    ciou = iou - (apart / (width.square() + height.square()) + taken)
    return ciou.to(first.dtype).unsqueeze(0), angle.to(first.dtype).unsqueeze(0)


@kernel("_npu_ciou")  # torch_npu writes npu_ciou in Python: it calls this one, which autograd knows
def _npu_ciou(x, gtboxes, trans=False, is_cross=True, mode=0, atan_sub_flag=False):
    return _ciou("npu_ciou", x, gtboxes, trans, is_cross, mode)


@kernel("npu_ciou_backward")
def npu_ciou_backward(*args, **kwargs):
    raise Unsupported("npu_ciou", "its backward pass: whether the weight of the ratio has a gradient is not documented")


def _chosen(boxes, iou_threshold):
    """Whether each box, best first, is not covered by a better one that is kept."""
    shared, area, truth = _pairs(boxes, boxes)
    covered = shared / (truth + area - shared) > iou_threshold
    kept = torch.ones(len(boxes), dtype=torch.bool)
    for at in range(len(boxes)):
        if kept[at]:
            kept[at + 1 :] &= ~covered[at, at + 1 :]
    return kept


@kernel("npu_nms_v4")
def npu_nms_v4(x, scores, max_output_size, iou_threshold, scores_threshold, pad_to_max_output_size=False):
    order = scores.float().argsort(descending=True, stable=True)
    order = order[scores.float()[order] > scores_threshold.item()]
    found = order[_chosen(x[order], iou_threshold.item())][: int(max_output_size)]
    count = torch.tensor(len(found), dtype=torch.int32)
    if len(found) < max_output_size:
        if not pad_to_max_output_size:
            raise Unsupported("npu_nms_v4", "fewer boxes than max_output_size without pad_to_max_output_size=True")
        found = torch.cat((found, found.new_zeros(int(max_output_size) - len(found))))
    return found.int(), count


@kernel("npu_nms_with_mask")
def npu_nms_with_mask(x, iou_threshold):
    if x.dim() != 2 or x.shape[1] != 8:
        raise RuntimeError(f"npu_nms_with_mask: input has the shape (n, 8), not {tuple(x.shape)}")
    scores = x[:, 4]
    if bool((scores[1:] > scores[:-1]).any()):
        raise Unsupported("npu_nms_with_mask", "boxes that are not in the order of their scores")
    return x[:, :5].clone(), torch.arange(len(x), dtype=torch.int32), _chosen(x, iou_threshold).to(torch.uint8)


def _centred(boxes):
    """Of boxes whose last pixel belongs to them."""
    x1, y1, x2, y2 = boxes.float().unbind(-1)
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1 + 1, y2 - y1 + 1


@kernel("npu_bounding_box_encode")
def npu_bounding_box_encode(anchors, truths, m0, m1, m2, m3, s0, s1, s2, s3):
    (px, py, pw, ph), (gx, gy, gw, gh) = _centred(anchors), _centred(truths)
    deltas = torch.stack(((gx - px) / pw, (gy - py) / ph, (gw / pw).abs().log(), (gh / ph).abs().log()), -1)
    return ((deltas - deltas.new_tensor((m0, m1, m2, m3))) / deltas.new_tensor((s0, s1, s2, s3))).to(anchors.dtype)


@kernel("npu_bounding_box_decode")
def npu_bounding_box_decode(rois, deltas, m0, m1, m2, m3, s0, s1, s2, s3, max_shape, wh_ratio_clip):
    if deltas.shape != rois.shape:
        raise Unsupported("npu_bounding_box_decode", "several deltas for each box")
    changes = deltas.float() * deltas.new_tensor((s0, s1, s2, s3)).float() + deltas.new_tensor((m0, m1, m2, m3)).float()
    dx, dy, dw, dh = changes.unbind(-1)
    (ax, ay, aw, ah), most = _centred(rois), abs(torch.tensor(wh_ratio_clip).log())
    x, y, w, h = ax + aw * dx, ay + ah * dy, aw * dw.clamp(-most, most).exp(), ah * dh.clamp(-most, most).exp()
    corners = x - w / 2 + 0.5, y - h / 2 + 0.5, x + w / 2 - 0.5, y + h / 2 - 0.5
    height, width = (max_shape * 2)[:2]
    limits = (width - 1, height - 1) * 2
    return torch.stack([c.clamp(0, limit) for c, limit in zip(corners, limits)], -1).to(rois.dtype)


def _samples(start, bins, size, count, limit):
    """Along one axis: the two pixels of each sample and the weight of the second; of those outside, whether they count."""
    at = torch.arange(bins * count) // count, torch.arange(bins * count) % count
    place = start + (at[0] + (at[1] + 0.5) / count) * size
    inside = (place >= -1) & (place <= limit)
    place = place.clamp(0, limit - 1)
    low = place.floor().long()
    return low, (low + 1).clamp(max=limit - 1), place - low, inside


def _roi_align(x, rois, scale, height, width, count, aligned):
    cut = []
    for roi in rois.float():
        number, box = int(roi[0]), roi[1:] * scale - (0.5 if aligned else 0.0)
        sizes = (box[2:] - box[:2]) if aligned else (box[2:] - box[:2]).clamp_min(1.0)
        y0, y1, fy, in_y = _samples(box[1], height, sizes[1] / height, count, x.shape[2])
        x0, x1, fx, in_x = _samples(box[0], width, sizes[0] / width, count, x.shape[3])
        rows = x[number][:, y0] * (1 - fy)[:, None] + x[number][:, y1] * fy[:, None]
        found = rows[..., x0] * (1 - fx) + rows[..., x1] * fx
        found = found * (in_y[:, None] & in_x)
        cut.append(found.reshape(-1, height, count, width, count).mean((2, 4)))
    return torch.stack(cut).to(x.dtype) if cut else x.new_zeros(0, x.shape[1], height, width)


def _aligned(mode, count):
    if mode not in (0, 3) or count <= 0:
        raise Unsupported("npu_roi_align", f"roi_end_mode={mode}, sample_num={count}; modes 0 and 3 with a number are")
    return mode == 3


@kernel("npu_roi_align")
def npu_roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode):
    aligned = _aligned(roi_end_mode, sample_num)
    return _roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sample_num, aligned)


@kernel("npu_roi_alignbk")
def npu_roi_alignbk(grad, rois, shape, pooled_width, pooled_height, spatial_scale, sample_num, roi_end_mode=None):
    aligned = _aligned(roi_end_mode, sample_num)

    def forward(x):
        return _roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sample_num, aligned)

    return derivatives(forward, grad, grad.new_zeros(list(shape)))[0]
