"""torch_npu's own operators against plain torch, forwards and backwards: products, shapes, boxes, experts."""

import torch
import torch.nn.functional as F
import torch_npu
from says import agree, is_, over, raises, same

torch.manual_seed(0)
X = torch.randn(2, 3, 8)
NOT_MODELLED = "virtual NPU: the reference of"


# ---- products
def fact_npu_linear():
    agree(lambda x, w, b: torch_npu.npu_linear(x, w, b), F.linear, torch.randn(3, 4), torch.randn(5, 4), torch.randn(5))


@over("npu_bmmV2", "broadcast")
def fact_products_of_batches(case):
    x = torch.randn(2, 3, 4)
    agree(lambda a, b: torch_npu.npu_bmmV2(a, b, []), torch.matmul, x, torch.randn(2, 4, 5))


@over("sums", "sizes", "list", "one for each")
def fact_npu_grouped_matmul(case):
    x, weight = torch.randn(6, 4), torch.randn(3, 4, 5)
    parts = [x[:1], x[1:4], x[4:]]
    wanted = torch.cat([p @ w for p, w in zip(parts, weight)])
    weights = [w.npu() for w in weight]
    found = {
        "sums": lambda: torch_npu.npu_grouped_matmul(
            [x.npu()], [weight.npu()], group_list=torch.tensor([1, 4, 6]).npu(), group_type=0, split_item=3
        ),
        "sizes": lambda: torch_npu.npu_grouped_matmul(
            [x.npu()], [weight.npu()], group_list=torch.tensor([1, 3, 2]).npu(), group_type=0, group_list_type=1,
            split_item=2,
        ),
        "list": lambda: torch_npu.npu_grouped_matmul([x.npu()], weights, group_list=[1, 4, 6], split_item=3),
        "one for each": lambda: torch_npu.npu_grouped_matmul([p.npu() for p in parts], weights, group_type=-1),
    }[case]()  # fmt: skip
    is_(len(found), 3 if case == "one for each" else 1)
    same([torch.cat([t.cpu() for t in found])], [wanted])


def fact_npu_grouped_matmul_along_the_sum():
    x, weight = torch.randn(4, 6), torch.randn(6, 5)
    found = torch_npu.npu_grouped_matmul(
        [x.npu()], [weight.npu()], group_list=torch.tensor([2, 6]).npu(), group_type=2, split_item=3
    )
    same([found[0].cpu()], [torch.stack([x[:, :2] @ weight[:2], x[:, 2:] @ weight[2:]])])


def fact_npu_grouped_matmul_has_a_bias():
    x, weight, bias = torch.randn(3, 4), torch.randn(2, 4, 5), torch.randn(2, 5)
    found = torch_npu.npu_grouped_matmul(
        [x.npu()], list(weight.npu()), bias=list(bias.npu()), group_list=[1, 3], split_item=3
    )
    same([found[0].cpu()], [torch.cat([x[:1] @ weight[0] + bias[0], x[1:] @ weight[1] + bias[1]])])


def fact_npu_grouped_matmul_leaves_rows_of_no_group_unwritten():
    x, weight = torch.randn(4, 4), torch.randn(2, 4, 5)
    found = torch_npu.npu_grouped_matmul(
        [x.npu()], [weight.npu()], group_list=torch.tensor([1, 3]).npu(), group_type=0, split_item=3
    )
    assert found[0][3].isnan().all()
    assert not found[0][:3].isnan().any()


@over("act_type", "scale", "quantised")
def fact_npu_grouped_matmul_refuses(case):
    x, weight = torch.randn(3, 4).npu(), torch.randn(2, 4, 5).npu()
    more = {"act_type": {"act_type": 1}, "scale": {"scale": [torch.ones(5).npu()] * 2}, "quantised": {}}[case]
    if case == "quantised":
        x, weight = x.to(torch.int8), weight.to(torch.int8)
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_grouped_matmul(
            [x], [weight], group_list=torch.tensor([1, 3]).npu(), group_type=0, split_item=3, **more
        )


def fact_npu_grouped_matmul_has_no_derivative():
    """torch_npu registers none: training code brings its own autograd function."""
    x = torch.randn(3, 4).npu().requires_grad_()
    found = torch_npu.npu_grouped_matmul([x], [torch.randn(4, 5).npu()] * 2, group_list=[1, 3], split_item=3)
    found[0].sum().backward()
    is_(x.grad, None)


@over("npu_convolution", "with a stride")
def fact_convolutions(case):
    image, weight, bias = torch.randn(2, 4, 6, 6), torch.randn(6, 2, 3, 3), torch.randn(6)
    stride = [2, 2] if "stride" in case else [1, 1]
    agree(
        lambda x, w, b: torch_npu.npu_convolution(x, w, b, stride, [1, 1], [1, 1], 2),
        lambda x, w, b: F.conv2d(x, w, b, stride, [1, 1], [1, 1], 2),
        image, weight, bias,
    )  # fmt: skip


def fact_npu_conv2d():
    image, weight = torch.randn(2, 4, 6, 6), torch.randn(6, 4, 3, 3)
    found = torch_npu.npu_conv2d(image.npu(), weight.npu(), None, [1, 1], [0, 0], [2, 2], 1)
    same([found.cpu()], [F.conv2d(image, weight, dilation=2)])


def fact_npu_convolution_transpose():
    image, weight, bias = torch.randn(2, 4, 6, 6), torch.randn(4, 3, 3, 3), torch.randn(3)
    agree(
        lambda x, w, b: torch_npu.npu_convolution_transpose(x, w, b, [1, 1], [1, 1], [2, 2], [1, 1], 1),
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1),
        image, weight, bias,
    )  # fmt: skip


# ---- shapes
@over("transpose first", "reshape first")
def fact_npu_confusion_transpose(case):
    x, first = torch.randn(2, 3, 4, 6), case == "transpose first"
    perm, shape = ((0, 2, 1, 3), (2, 4, 18)) if first else ((0, 2, 1), (2, 12, 6))
    agree(
        lambda x: torch_npu.npu_confusion_transpose(x, perm, shape, first),
        lambda x: x.permute(perm).reshape(shape) if first else x.reshape(shape).permute(perm),
        x, tolerance=0,
    )  # fmt: skip


SHAPES = {
    "npu_transpose": (lambda x: torch_npu.npu_transpose(x, (2, 0, 1)), lambda x: x.permute(2, 0, 1)),
    "npu_broadcast": (lambda x: torch_npu.npu_broadcast(x, [4, 2, 3, 8]), lambda x: x.expand(4, 2, 3, 8)),
    "npu_reshape": (lambda x: torch_npu.npu_reshape(x, (6, 8)), lambda x: x.reshape(6, 8)),
    "npu_slice": (lambda x: torch_npu.npu_slice(x, [0, 1, 2], [2, 2, 3]), lambda x: x[0:2, 1:3, 2:5]),
    "npu_pad": (lambda x: torch_npu.npu_pad(x, [1, 2] * 3), lambda x: F.pad(x, [1, 2] * 3)),
    "npu_sort_v2": (lambda x: torch_npu.npu_sort_v2(x, descending=True), lambda x: x.sort(-1, True).values),
}


@over("npu_transpose", "npu_broadcast", "npu_reshape", "npu_slice", "npu_pad", "npu_sort_v2")
def fact_elements_are_moved_by(name):
    on_npu, plain = SHAPES[name]
    same([on_npu(X.npu()).cpu()], [plain(X)], 0)
    assert on_npu(X.npu()).is_contiguous()


def fact_npu_pad_refuses_an_order_that_is_not_documented():
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_pad(torch.ones(2, 2).npu(), [1, 1, 0, 0])


@over("npu_max", "npu_min")
def fact_extremes(name):
    x = torch.randn(2, 3, 4)
    agree(
        lambda x: getattr(torch_npu, name)(x, 1)[0], lambda x: getattr(x, name.removeprefix("npu_"))(1).values, x,
        tolerance=0,
    )  # fmt: skip
    values, indices = getattr(torch_npu, name)(x.npu(), 1, True)
    assert torch.equal(x.npu().gather(1, indices.long()), values)
    is_(indices.dtype, torch.int32)


def fact_one():
    x = torch.zeros(2, 3).npu()
    assert torch_npu.one_(x) is x
    is_(x.tolist(), [[1.0] * 3] * 2)


def fact_npu_one_hot():
    """The documentation's example: what is out of range has no one."""
    found = torch_npu.npu_one_hot(torch.IntTensor([5, 3, 2, 1]).npu(), depth=5)
    wanted = torch.zeros(4, 5)
    wanted[1, 3] = wanted[2, 2] = wanted[3, 1] = 1
    same([found.cpu()], [wanted], 0)


def fact_npu_masked_fill_range():
    x = torch.rand(4, 4)
    start, end = torch.tensor([[0, 1, 2]]).int(), torch.tensor([[1, 2, 3]]).int()
    found = torch_npu.npu_masked_fill_range(x.npu(), start.npu(), end.npu(), torch.tensor([1.0]).npu(), 1)
    wanted = x.clone()
    wanted[0, 0] = wanted[1, 1] = wanted[2, 2] = 1
    same([found.cpu()], [wanted], 0)


# ---- boxes
@over("npu_giou", "npu_diou")
def fact_overlap_of_boxes(name):
    first, second = torch.rand(4, 9) + 0.1, torch.rand(4, 9) + 0.1

    def plain(a, b):
        rows = []
        for (ax, ay, aw, ah), (bx, by, bw, bh) in zip(a.t(), b.t()):
            width = (torch.min(ax + aw / 2, bx + bw / 2) - torch.max(ax - aw / 2, bx - bw / 2)).clamp(min=0)
            height = (torch.min(ay + ah / 2, by + bh / 2) - torch.max(ay - ah / 2, by - bh / 2)).clamp(min=0)
            outer_w = torch.max(ax + aw / 2, bx + bw / 2) - torch.min(ax - aw / 2, bx - bw / 2)
            outer_h = torch.max(ay + ah / 2, by + bh / 2) - torch.min(ay - ah / 2, by - bh / 2)
            union = aw * ah + bw * bh - width * height
            iou = width * height / union
            if name == "npu_giou":
                rows.append(iou - (outer_w * outer_h - union) / (outer_w * outer_h))
            else:
                rows.append(iou - ((ax - bx) ** 2 + (ay - by) ** 2) / (outer_w**2 + outer_h**2))
        return torch.stack(rows).reshape((-1, 1) if name == "npu_giou" else (1, -1))

    agree(lambda a, b: getattr(torch_npu, name)(a, b, trans=True), plain, first, second, tolerance=1e-4)


# ---- experts
def fact_tokens_are_permuted_to_their_experts():
    """The tokens and indices of the documentation's example."""
    tokens = torch.tensor([[1.0, 1, 1], [2, 2, 2], [3, 3, 3], [0, 0, 0]]).bfloat16()
    indices = torch.tensor([[0, 4], [4, 3], [4, 2], [1, 1]])
    permuted, places = torch_npu.npu_moe_token_permute(tokens.npu(), indices.npu(), 8)
    is_(permuted[:, 0].tolist(), [1.0, 0.0, 0.0, 3.0, 2.0, 1.0, 2.0, 3.0])
    is_(permuted[places.long(), 0].tolist(), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 0.0, 0.0])


@over("weighted", "one expert", "dropped")
def fact_tokens_come_back(case):
    tokens = torch.randn(4, 3)
    indices = (
        torch.tensor([[2], [0], [1], [0]]) if case == "one expert" else torch.tensor([[0, 3], [3, 1], [3, 2], [1, 0]])
    )
    probs = torch.rand(indices.shape)
    kept = 6 if case == "dropped" else None

    def on_npu(tokens, probs):
        permuted, places = torch_npu.npu_moe_token_permute(tokens, indices.npu(), kept)
        return torch_npu.npu_moe_token_unpermute(permuted * permuted, places, probs)

    def plain(tokens, probs):
        rank = indices.flatten().argsort(stable=True).argsort().reshape(indices.shape)
        taken = probs * (rank < (kept or indices.numel()))
        return (tokens * tokens) * taken.sum(1, keepdim=True)

    agree(on_npu, plain, tokens, probs, tolerance=1e-5)


def fact_permuting_padded_tokens_is_refused():
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_moe_token_permute(torch.ones(2, 3).npu(), torch.tensor([[0], [1]]).npu(), None, True)


# ---- rotary embedding
@over("half", "interleave")
def fact_npu_rotary_mul(mode):
    x, angle = torch.randn(2, 4, 3, 8), torch.arange(3.0)[:, None] * torch.rand(4)
    angle = torch.cat((angle, angle), -1) if mode == "half" else angle.repeat_interleave(2, -1)
    cos, sin = angle.cos()[None, None], angle.sin()[None, None]

    def plain(x, cos, sin):
        if mode == "half":
            turned = torch.cat((-x[..., 4:], x[..., :4]), -1)
        else:
            turned = torch.empty_like(x)
            turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)
        return x * cos + turned * sin

    agree(lambda x, c, s: torch_npu.npu_rotary_mul(x, c, s, mode), plain, x, cos, sin)


def fact_npu_rotary_mul_refuses_a_matrix():
    x = torch.randn(1, 1, 2, 4).npu()
    with raises(NOT_MODELLED, NotImplementedError):
        torch_npu.npu_rotary_mul(x, x, x, "half", torch.eye(4).npu())


def fact_a_forgotten_move_is_named():
    with raises("Could not run 'npu::npu_geglu' with arguments from the 'CPU' backend", NotImplementedError):
        torch_npu.npu_geglu(X)
