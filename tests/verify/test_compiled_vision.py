"""torchvision's operators in plain torch, where its compiled ones do not load: against what defines them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from porter.verify import standins

RUNTIME = standins.NATIVE.parent / "runtime"


@pytest.fixture(scope="module")
def vision() -> ModuleType:
    pytest.importorskip("torch", reason="torch is not installed: `make test PORTER_REQUIRE=all` installs it")
    sys.path.insert(0, str(RUNTIME))
    try:
        return importlib.import_module("compiled_vision")
    finally:
        sys.path.remove(str(RUNTIME))


def test_of_overlapping_boxes_the_best_is_kept(vision: ModuleType) -> None:
    import torch

    boxes = torch.tensor([[0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30], [0, 0, 10, 6.0]])
    scores = torch.tensor([0.8, 0.9, 0.1, 0.7])
    # 0.81 and 0.47 of the union are shared with the best one, of the boxes 0 and 3
    assert vision.nms(boxes, scores, 0.5).tolist() == [1, 3, 2]
    assert vision.nms(boxes, scores, 0.4).tolist() == [1, 2]
    assert vision.nms(boxes[:0], scores[:0], 0.5).tolist() == []


def test_a_deformable_convolution_by_nothing_is_a_convolution_and_by_one_pixel_that_of_the_shifted_image(
    vision: ModuleType,
) -> None:
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    x, weight = torch.randn(2, 4, 9, 10), torch.randn(6, 2, 3, 3)
    bias, offset = torch.randn(6), torch.zeros(2, 2 * 2 * 9, 5, 5)
    mask = torch.full((2, 2 * 9, 5, 5), 0.5)

    def deformed(offset, mask, use_mask):
        return vision.deform_conv2d(x, weight, offset, mask, bias, 2, 2, 1, 1, 1, 1, 2, 2, use_mask)

    plain = F.conv2d(x, weight, bias, stride=2, padding=1, groups=2)
    torch.testing.assert_close(deformed(offset, mask, False), plain)
    halved = F.conv2d(x, weight / 2, bias, stride=2, padding=1, groups=2)
    torch.testing.assert_close(deformed(offset, mask, True), halved)
    offset[:, 1::2] = 1.0  # to the right
    shifted = F.conv2d(F.pad(x, (0, 1))[..., 1:], weight, bias, stride=2, padding=1, groups=2)
    # the first column saw padding, and now sees the image
    torch.testing.assert_close(deformed(offset, mask, False)[..., 1:], shifted[..., 1:])


def test_a_deformable_convolution_has_the_derivatives_of_its_values(vision: ModuleType) -> None:
    import torch

    torch.manual_seed(0)
    made = torch.randn(1, 2, 5, 5), torch.randn(2, 2, 3, 3), torch.rand(1, 18, 3, 3) * 0.8 + 0.1, torch.rand(1, 9, 3, 3)
    x, weight, offset, mask = (tensor.double().requires_grad_() for tensor in made)

    def deformed(x, weight, offset, mask):
        bias = torch.zeros(2, dtype=torch.double)
        return vision.deform_conv2d(x, weight, offset, mask, bias, 1, 1, 0, 0, 1, 1, 1, 1, True)

    assert torch.autograd.gradcheck(deformed, (x, weight, offset, mask))


def test_regions_are_pooled_bin_by_bin(vision: ModuleType) -> None:
    import torch

    x = torch.arange(4 * 4 * 6, dtype=torch.float).view(1, 4, 4, 6)
    whole, left = torch.tensor([[0, 0, 0, 5, 3.0]]), torch.tensor([[0, 0, 0, 2, 3.0]])
    assert torch.equal(vision.roi_pool(x, whole, 1.0, 1, 1)[0].flatten(), x.amax((2, 3)).flatten())
    assert torch.equal(vision.roi_pool(x, left, 1.0, 2, 1)[0][0, :, :, 0], x[0, :, [1, 3], 2])
    # one channel of the four for each of the four bins
    pooled = vision.ps_roi_pool(x, whole, 1.0, 2, 2)[0]
    assert torch.equal(pooled[0, 0, 1, 0], x[0, 2, 2:, :3].mean())
    assert pooled.shape == (1, 1, 2, 2)
