"""npu_fusion_attention against plain torch, in every layout and mode that is modelled, and what it refuses."""

import math

import torch
import torch.nn.functional as F
import torch_npu
from says import agree, is_, over, raises, same

torch.manual_seed(0)
Q, K, V = torch.randn(2, 4, 6, 8), torch.randn(2, 4, 6, 8), torch.randn(2, 4, 6, 8)
LONG_K, LONG_V = torch.randn(2, 4, 10, 8), torch.randn(2, 4, 10, 8)
SCALE = 1 / math.sqrt(8)
CAUSAL = torch.ones(6, 6, dtype=torch.bool).triu(1)
COMPRESSED = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
INTO = {
    "BNSD": lambda t: t,
    "BSND": lambda t: t.transpose(1, 2),
    "BSH": lambda t: t.transpose(1, 2).flatten(2),
    "SBH": lambda t: t.permute(2, 0, 1, 3).flatten(2),
}


def _fused(q, k, v, layout="BNSD", heads=4, scale=SCALE, **more):
    moved = {name: x.to(q.device) if isinstance(x, torch.Tensor) else x for name, x in more.items()}
    return torch_npu.npu_fusion_attention(q, k, v, heads, layout, scale=scale, **moved)[0]


def _plain(q, k, v, left_out=None):
    kept = None if left_out is None else ~left_out
    return F.scaled_dot_product_attention(q, k, v, attn_mask=kept, enable_gqa=q.shape[1] != k.shape[1])


@over("BNSD", "BSND", "BSH", "SBH")
def fact_layout(layout):
    into = INTO[layout]
    given = [into(t).contiguous() for t in (Q, K, V)]
    back = {
        "BNSD": lambda t: t,
        "BSND": lambda t: t.transpose(1, 2),
        "BSH": lambda t: t.reshape(2, 6, 4, 8).transpose(1, 2),
        "SBH": lambda t: t.reshape(6, 2, 4, 8).permute(1, 2, 0, 3),
    }[layout]
    agree(
        lambda q, k, v: _fused(q, k, v, layout, atten_mask=CAUSAL),
        lambda q, k, v: into(_plain(back(q), back(k), back(v), CAUSAL)),
        *given,
    )


def fact_fewer_heads_of_key_and_value():
    agree(lambda q, k, v: _fused(q, k, v), _plain, Q, K[:, :2].contiguous(), V[:, :2].contiguous())


@over("bfloat16", "float16")
def fact_dtype(name):
    dtype = getattr(torch, name)
    found = _fused(*(t.to(dtype).npu() for t in (Q, K, V)))
    is_(found.dtype, dtype)
    same([found.cpu().float()], [_plain(*(t.to(dtype).float() for t in (Q, K, V)))], 2e-2)


def _difference(rows, columns):
    return torch.arange(columns) - torch.arange(rows)[:, None]


@over("0", "1", "2", "3", "4")
def fact_sparse_mode(text):
    """With more keys than queries: from the lower right corner is not from the upper left one."""
    mode = int(text)
    difference = _difference(6, 10)
    masks = {
        0: (difference > 2) | (-difference > 3),
        1: torch.rand(2, 1, 6, 10) > 0.6,
        2: difference > 0,
        3: difference > 4,
        4: (difference - 4 > 1) | (4 - difference > 2),
    }
    left_out = masks[mode]
    left_out[..., 0] &= mode != 1
    tockens = {0: (3, 2), 1: (0, 0), 2: (0, 5), 3: (0, 5), 4: (2, 1)}[mode]
    agree(
        lambda q, k, v: _fused(
            q, k, v, atten_mask=COMPRESSED if mode > 1 else left_out, sparse_mode=mode, pre_tockens=tockens[0],
            next_tockens=tockens[1],
        ),
        lambda q, k, v: _plain(q, k, v, left_out),
        Q, LONG_K, LONG_V,
    )  # fmt: skip


@over("0", "2", "3", "4")
def fact_without_a_mask_the_mode_has_no_effect(mode):
    agree(lambda q, k, v: _fused(q, k, v, sparse_mode=int(mode), pre_tockens=0, next_tockens=0), _plain, Q, K, V)


def fact_a_mask_of_bytes():
    agree(
        lambda q, k, v: _fused(q, k, v, atten_mask=CAUSAL.to(torch.uint8)),
        lambda q, k, v: _plain(q, k, v, CAUSAL),
        Q,
        K,
        V,
    )


def fact_the_scale_is_one_unless_given():
    agree(
        lambda q, k, v: torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD")[0],
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=1.0),
        Q, K, V,
    )  # fmt: skip


def fact_pse_is_added_before_the_scale():
    pse = torch.randn(2, 4, 6, 6)
    agree(
        lambda q, k, v, pse: _fused(q, k, v, pse=pse),
        lambda q, k, v, pse: torch.softmax((q @ k.transpose(-1, -2) + pse) * SCALE, -1) @ v,
        Q, K, V, pse,
    )  # fmt: skip


def fact_a_sink_takes_its_share():
    sink = torch.linspace(-0.2, 0.2, 4)

    def plain(q, k, v, sink):
        scores = torch.cat((q @ k.transpose(-1, -2) * SCALE, sink.view(1, 4, 1, 1).expand(2, 4, 6, 1)), -1)
        return torch.softmax(scores, -1)[..., :-1] @ v

    agree(lambda q, k, v, sink: _fused(q, k, v, sink=sink), plain, Q, K, V, sink)


@over("plain", "causal", "right down", "band", "unused")
def fact_sequences_of_several_lengths(case):
    lengths, key_lengths = [2, 5, 9], [4, 7, 12]
    q, k, v = torch.randn(10 if case == "unused" else 9, 4, 8), torch.randn(12, 2, 8), torch.randn(12, 2, 8)
    mode = {"causal": 2, "right down": 3, "band": 4}.get(case, 0)
    given = [2, 5, 9, 0] if case == "unused" else lengths, [4, 7, 12, 0] if case == "unused" else key_lengths

    def plain(q, k, v):
        found, a, c = [], 0, 0
        for b, d in zip(lengths, key_lengths):
            difference = _difference(b - a, d - c)
            shift = (d - c) - (b - a)
            left_out = {
                2: difference > 0, 3: difference > shift,
                4: (difference - shift > 1) | (shift - difference > 2),
            }.get(mode)  # fmt: skip
            parts = (t.transpose(0, 1)[None] for t in (q[a:b], k[c:d], v[c:d]))
            found.append(_plain(*parts, left_out)[0].transpose(0, 1))
            a, c = b, d
        whole = torch.cat(found)
        return torch.cat([whole, torch.zeros(len(q) - len(whole), 4, 8)])

    agree(
        lambda q, k, v: _fused(
            q, k, v, "TND", actual_seq_qlen=given[0], actual_seq_kvlen=given[1], sparse_mode=mode,
            atten_mask=COMPRESSED if mode else None, pre_tockens=2, next_tockens=1,
        ),
        plain, q, k, v,
    )  # fmt: skip


def fact_dropout_is_the_same_forwards_and_backwards():
    """With one row of weights for every head, the gradient of the values is the weights that were kept."""
    value = torch.ones(1, 4, 400, 1).npu().requires_grad_()
    query, key = torch.zeros(1, 4, 1, 1).npu(), torch.zeros(1, 4, 400, 1).npu()
    result = torch_npu.npu_fusion_attention(query, key, value, 4, "BNSD", keep_prob=0.75)[0]
    result.sum().backward()
    kept = (value.grad > 0).float().mean().item()
    assert abs(kept - 0.75) < 0.06, kept
    assert torch.allclose(value.grad.sum(2), result[:, :, 0], atol=1e-5)


def fact_dropout_draws_anew_and_can_be_seeded():
    def draw():
        return _fused(Q.npu(), K.npu(), V.npu(), keep_prob=0.5)

    torch.npu.manual_seed(1)
    first, second = draw(), draw()
    torch.npu.manual_seed(1)
    assert torch.equal(first, draw())
    assert not torch.equal(first, second)


REFUSED = {
    "prefix": {"prefix": [1, 1]},
    "padding_mask": {"padding_mask": torch.zeros(2, 6, dtype=torch.bool)},
    "dropout_mask": {"dropout_mask": torch.ones(64, dtype=torch.uint8)},
    "actual_seq_qlen": {"actual_seq_qlen": [6, 12], "actual_seq_kvlen": [6, 12]},
    "softmax_layout": {"softmax_layout": "TND"},
    "sparse_mode 5": {"sparse_mode": 5, "atten_mask": CAUSAL.expand(2, 1, 6, 6)},
    "sparse_mode 6": {"sparse_mode": 6, "atten_mask": COMPRESSED},
    "sparse_mode 7": {"sparse_mode": 7, "atten_mask": COMPRESSED},
    "a band that the mask does not have": {"atten_mask": CAUSAL, "pre_tockens": 1, "next_tockens": 0},
    "a compressed pse": {"pse": torch.zeros(1, 4, 3, 6)},
}


@over(
    "prefix", "padding_mask", "dropout_mask", "actual_seq_qlen", "softmax_layout", "sparse_mode 5", "sparse_mode 6",
    "sparse_mode 7", "a band that the mask does not have", "a compressed pse",
)  # fmt: skip
def fact_refused(name):
    with raises("virtual NPU: the reference of npu_fusion_attention does not model", NotImplementedError):
        _fused(Q.npu(), K.npu(), V.npu(), **REFUSED[name])


@over("small mask", "layout", "lengths", "double", "heads", "dtype")
def fact_wrong(name):
    q, k, v = Q.npu(), K.npu(), V.npu()
    calls = {
        "small mask": lambda: _fused(q, k, v, atten_mask=CAUSAL, sparse_mode=2),
        "layout": lambda: _fused(q, k, v, "NBSD"),
        "lengths": lambda: _fused(q[0], k[0], v[0], "TND"),
        "double": lambda: _fused(Q.double().npu(), K.double().npu(), V.double().npu()),
        "heads": lambda: _fused(q, torch.cat((k[:, :3],), 1), v[:, :3].contiguous()),
        "dtype": lambda: _fused(q.int(), k.int(), v.int()),
    }
    with raises("npu_fusion_attention", RuntimeError):
        calls[name]()
