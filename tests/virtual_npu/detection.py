"""torch_npu's operators on boxes by their corners, against plain torch and the numbers of their documentation."""

import torch
import torch_npu
from says import forward_and_backward, is_, over, raises, same, weights
from torch_npu.contrib import ROIAlign

NOT_MODELLED = "virtual NPU: the reference of"
FIRST = torch.tensor([[0.0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]])
TRUTH = torch.tensor([[0.0, 0, 10, 20], [0, 10, 10, 10], [10, 10, 20, 20], [5, 5, 15, 15]])


def _boxes(count):
    corner, size = torch.rand(count, 2) * 20, torch.rand(count, 2) * 20 + 1
    return torch.cat((corner, corner + size), 1)


def _share(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    of_a, of_b = ((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
    return shared, of_a + of_b - shared, of_b


@over("npu_iou 0", "npu_iou 1", "npu_ptiou 0", "npu_ptiou 1")
def fact_overlap_of_all_pairs(case):
    name, mode = case.split()
    more = 0.001 if name == "npu_iou" else 0.0
    wanted = torch.zeros(len(TRUTH), len(FIRST))
    for row, truth in enumerate(TRUTH.tolist()):
        for column, box in enumerate(FIRST.tolist()):
            shared, union, own = _share(box, truth)
            wanted[row, column] = (shared + more) / ((union if mode == "0" else own) + 0.001)
    found = getattr(torch_npu, name)(FIRST.npu(), TRUTH.npu(), int(mode))
    same([found.cpu()], [wanted], 1e-6)


def fact_other_modes_of_overlap_raise():
    with raises("mode is 0 (IoU) or 1 (IoF), not 2", RuntimeError):
        torch_npu.npu_iou(FIRST.npu(), FIRST.npu(), 2)


def fact_ciou_of_boxes_that_are_the_same_is_one_and_less_of_others():
    boxes = torch.tensor([[1.0, 5, 3], [1, 5, 3], [2, 4, 2], [2, 2, 2]])
    found = torch_npu.npu_ciou(boxes.npu(), boxes.npu(), trans=True, is_cross=False).cpu()
    same([found], [torch.ones(1, 3)], 1e-6)
    other = boxes * torch.tensor([[1.0], [1], [2], [1]])
    # half of it overlaps, the centres are the same: what is taken off is the ratio's share
    ratio = (4 / torch.pi**2) * (torch.atan(other[2] / other[3]) - torch.atan(boxes[2] / boxes[3])).square()
    found = torch_npu.npu_ciou(boxes.npu(), other.npu(), trans=True, is_cross=False).cpu()
    same([found], [(0.5 - ratio * ratio / (0.5 + ratio))[None]], 1e-6)


def fact_ciou_has_no_backward_here():
    boxes = torch.rand(4, 3).npu().requires_grad_()
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_ciou(boxes, torch.rand(4, 3).npu(), trans=True, is_cross=False).sum().backward()


@over("all", "few")
def fact_the_best_boxes_are_chosen(case):
    boxes, scores = _boxes(40), torch.rand(40)
    chosen = []
    for at in scores.argsort(descending=True).tolist():
        shares = (_share(boxes[at].tolist(), boxes[other].tolist()) for other in chosen)
        if scores[at] > 0.3 and all(shared / union <= 0.4 for shared, union, _ in shares):
            chosen.append(at)
    most = 40 if case == "all" else 3
    indices, count = torch_npu.npu_nms_v4(
        boxes.npu(), scores.npu(), most, torch.tensor(0.4).npu(), torch.tensor(0.3).npu(), True
    )
    is_(count.item(), len(chosen[:most]))
    is_((indices.dtype, indices.numel()), (torch.int32, most))
    is_(indices[: count.item()].tolist(), chosen[:most])


def fact_fewer_boxes_without_padding_are_refused():
    box = torch.tensor([[0.0, 0, 1, 1]]).npu()
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_nms_v4(box, torch.ones(1).npu(), 2, torch.tensor(0.5).npu(), torch.tensor(0.1).npu())


def fact_the_example_of_npu_nms_with_mask():
    given = torch.tensor(
        [[0.0, 1, 2, 3, 0.6, 0.5, 0.4, 0.3], [6, 7, 8, 9, 0.4, 0.5, 0.6, 0.7], [6, 7, 8, 8.9, 0.1, 0, 0, 0]]
    )
    boxes, indices, mask = torch_npu.npu_nms_with_mask(given.npu(), 0.5)
    same([boxes.cpu()], [given[:, :5]], 0)
    is_((indices.tolist(), mask.tolist(), mask.dtype), ([0, 1, 2], [1, 1, 0], torch.uint8))
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_nms_with_mask(given.flip(0).npu(), 0.5)


def fact_boxes_are_coded_and_decoded():
    """The examples of the documentation, but for what a device rounds; and there and back."""
    rois = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]])
    deltas = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]])
    decoded = torch_npu.npu_bounding_box_decode(rois.npu(), deltas.npu(), 0, 0, 0, 0, 1, 1, 1, 1, (10, 10), 0.1)
    same([decoded.cpu()], [torch.tensor([[2.5, 6.5, 9, 9], [9, 9, 9, 9]])], 1e-5)
    encoded = torch_npu.npu_bounding_box_encode(
        rois.npu(), torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]]).npu(), 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2
    )
    same([encoded.cpu()], [torch.tensor([[13.3281, 13.3281, 0, 0], [13.3281, 6.6641, 0, -5.4922]])], 1e-2)
    anchors, truths = _boxes(9), _boxes(9)
    means, deviations = (0.1, 0.2, 0.0, 0.1), (0.1, 0.1, 0.2, 0.2)
    coded = torch_npu.npu_bounding_box_encode(anchors.npu(), truths.npu(), *means, *deviations)
    back = torch_npu.npu_bounding_box_decode(anchors.npu(), coded, *means, *deviations, (99, 99), 0.001)
    same([back.cpu()], [truths], 1e-3)


def fact_the_example_of_npu_roi_align():
    x = torch.arange(1.0, 37).reshape(1, 1, 6, 6)
    found = torch_npu.npu_roi_align(x.npu(), torch.tensor([[0, -2.0, -2, 22, 22]]).npu(), 0.25, 3, 3, 2, 0)
    wanted = torch.tensor([[[[4.5, 6.5, 8.5], [16.5, 18.5, 20.5], [28.5, 30.5, 32.5]]]])
    same([found.cpu()], [wanted], 1e-6)


@over("aligned", "not aligned")
def fact_roi_align_interpolates(case):
    """Of a plane any average is exact: the value in the middle of each part."""
    aligned, rois = case == "aligned", torch.tensor([[1, 4.0, 6, 20, 18], [0, 8, 8, 16, 26]])
    rows, columns = torch.arange(16.0)[:, None], torch.arange(16.0)
    x = torch.stack([3 * rows + 2 * columns, rows - columns])[:, None]
    found, gradient = forward_and_backward(lambda x: ROIAlign((2, 2), 0.5, 2, aligned)(x, rois.npu()), x.npu())
    boxes = rois[:, 1:] * 0.5 - (0.5 if aligned else 0)
    wanted = torch.zeros(2, 1, 2, 2)
    for n, (number, (x1, y1, x2, y2)) in enumerate(zip(rois[:, 0].int(), boxes.tolist())):
        for i in range(2):
            for j in range(2):
                row, column = y1 + (y2 - y1) * (i + 0.5) / 2, x1 + (x2 - x1) * (j + 0.5) / 2
                wanted[n, 0, i, j] = 3 * row + 2 * column if number == 0 else row - column
    same([found], [wanted], 1e-5)
    # it is linear: what comes out, weighted, is what goes in, weighted with the gradient
    assert torch.allclose((gradient * x).sum(), (found * weights(found)).sum(), rtol=1e-5)


@over("float16", "bfloat16")
def fact_what_is_cut_out_has_the_type_of_its_map(case):
    x, rois = torch.rand(1, 2, 8, 8).to(getattr(torch, case)), torch.tensor([[0, 1.0, 1, 6, 6]]).npu()
    found = torch_npu.npu_roi_align(x.npu(), rois.to(x.dtype), 1.0, 2, 2, 2, 3)
    wanted = torch_npu.npu_roi_align(x.float().npu(), rois, 1.0, 2, 2, 2, 3)
    same([found.cpu()], [wanted.to(x.dtype).cpu()], 1e-2)
    gradient = torch_npu.npu_roi_alignbk(found, rois.to(x.dtype), list(x.shape), 2, 2, 1.0, 2, 3)
    is_(gradient.dtype, x.dtype)


def fact_other_ends_of_a_region_are_refused():
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_roi_align(torch.ones(1, 1, 4, 4).npu(), torch.zeros(1, 5).npu(), 1.0, 2, 2, 2, 1)
