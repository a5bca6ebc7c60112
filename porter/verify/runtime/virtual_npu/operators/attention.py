"""npu_fusion_attention. Its mask has 1 where SDPA's boolean mask has False, and its scale is 1 unless given."""

import torch

from virtual_npu.operators.register import Unsupported, derivatives, kernel

_NAME = "npu_fusion_attention"
_ALL = 2147483647  # pre_tockens, next_tockens: no band
_SEQUENCE = {"BNSD": 2, "BSND": 1, "BSH": 1, "SBH": 0}


def _heads_first(t, layout, heads):
    if layout == "BNSD":
        return t
    if layout == "BSND":
        return t.transpose(1, 2)
    t = t.reshape(t.shape[0], t.shape[1], heads, -1)
    return t.transpose(1, 2) if layout == "BSH" else t.permute(1, 2, 0, 3)


def _as_layout(t, layout):
    if layout == "BNSD":
        return t
    if layout == "BSND":
        return t.transpose(1, 2)
    return t.transpose(1, 2).flatten(2) if layout == "BSH" else t.permute(2, 0, 1, 3).flatten(2)


def _key_heads(key, query, layout, heads):
    if layout in ("BNSD", "BSND"):
        return key.shape[1 if layout == "BNSD" else 2]
    return key.shape[-1] * heads // query.shape[-1]


def _masked(shape, mask, sparse_mode, pre_tockens, next_tockens):
    """Where scores are left out, or None. Modes 2 and 3 come with a compressed causal mask of 2048 x 2048."""
    rows, columns = shape[-2:]
    if sparse_mode in (2, 3):
        return torch.ones(rows, columns, dtype=torch.bool).triu(1 + (columns - rows if sparse_mode == 3 else 0))
    if sparse_mode == 4:
        row = torch.arange(rows)[:, None] + columns - rows
        column = torch.arange(columns)
        return (column > row + next_tockens) | (column < row - pre_tockens)
    if sparse_mode not in (0, 1):
        raise Unsupported(_NAME, f"sparse_mode {sparse_mode}")
    left_out = None if mask is None else mask.bool()
    if sparse_mode == 0 and left_out is not None and (pre_tockens < columns or next_tockens < columns):
        difference = torch.arange(columns) - torch.arange(rows)[:, None]
        left_out = left_out | (difference > next_tockens) | (-difference > pre_tockens)
    return left_out


def _attention(query, key, value, heads, layout, scale, drop, statistics=None, *, pse, atten_mask, **banded):
    others = _key_heads(key, query, layout, heads)
    q, k, v = (_heads_first(t, layout, n) for t, n in ((query, heads), (key, others), (value, others)))
    if others != heads:
        k, v = k.repeat_interleave(heads // others, 1), v.repeat_interleave(heads // others, 1)
    scores = (q.float() @ k.float().transpose(-1, -2)) * scale
    if pse is not None:
        scores = scores + pse
    left_out = _masked(scores.shape, atten_mask, **banded)
    if left_out is not None:
        scores = scores.masked_fill(left_out, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, -1)
    if statistics is not None:
        highest = scores.amax(-1, keepdim=True)
        statistics += [highest, torch.exp(scores - highest).sum(-1, keepdim=True)]
    if drop is not None:
        weights = weights * drop
    return _as_layout(weights.to(v.dtype) @ v, layout)


def _drop(query, key, heads, layout, keep, seed, offset):
    if keep >= 1:
        return None
    batch = query.shape[1 if layout == "SBH" else 0]
    rows, columns = query.shape[_SEQUENCE[layout]], key.shape[_SEQUENCE[layout]]
    generator = torch.Generator().manual_seed((seed * 1000003 + offset) & 0x7FFFFFFF)
    return torch.empty(batch, heads, rows, columns).bernoulli_(keep, generator=generator) / keep


def _check(query, layout, unmodelled):
    if layout not in _SEQUENCE:
        raise Unsupported(_NAME, f"input_layout {layout!r}")
    if query.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise RuntimeError(f"{_NAME}: query must be float16, bfloat16 or float32, not {query.dtype}")
    for name, value in unmodelled.items():
        if value is not None:
            raise Unsupported(_NAME, f"{name}=")


def _next_draw():
    generator = torch.npu.default_generators[torch.npu.current_device()]
    seed, offset = generator.initial_seed() & 0x7FFFFFFF, generator.get_offset()
    generator.set_offset(offset + 4)
    return seed, offset


# fmt: off
@kernel("npu_fusion_attention")
def fusion_attention(
    query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None, scale=1.0, keep_prob=1.0,
    pre_tockens=_ALL, next_tockens=_ALL, inner_precise=0, prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None,
    sparse_mode=0, gen_mask_parallel=True, sync=False, softmax_layout="", sink=None, dropout_mask=None, seed=0, offset=0,
):
    _check(query, input_layout, {
        "padding_mask": padding_mask, "prefix": prefix, "actual_seq_qlen": actual_seq_qlen,
        "actual_seq_kvlen": actual_seq_kvlen, "sink": sink, "dropout_mask": dropout_mask,
    })
    if keep_prob < 1:
        seed, offset = _next_draw()
    statistics = []
    drop = _drop(query, key, head_num, input_layout, keep_prob, seed, offset)
    result = _attention(
        query, key, value, head_num, input_layout, scale, drop, statistics, pse=pse, atten_mask=atten_mask,
        sparse_mode=sparse_mode, pre_tockens=pre_tockens, next_tockens=next_tockens,
    )
    highest, total = (t.expand(*t.shape[:-1], 8) for t in statistics)
    return result, highest, total, torch.empty(0, dtype=query.dtype), seed, offset, 0


@kernel("npu_fusion_attention_grad")
def fusion_attention_grad(
    query, key, value, dy, head_num, input_layout, *, pse=None, padding_mask=None, atten_mask=None, softmax_max=None,
    softmax_sum=None, softmax_in=None, attention_in=None, scale_value=1.0, keep_prob=1.0, pre_tockens=_ALL,
    next_tockens=_ALL, inner_precise=0, seed=0, offset=0, numels=0, prefix=None, actual_seq_qlen=None,
    actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False, softmax_layout="", sink=None,
):
    drop = _drop(query, key, head_num, input_layout, keep_prob, seed, offset)

    def forward(q, k, v, p):
        return _attention(
            q, k, v, head_num, input_layout, scale_value, drop, pse=p, atten_mask=atten_mask, sparse_mode=sparse_mode,
            pre_tockens=pre_tockens, next_tockens=next_tockens,
        )

    dq, dk, dv, dp = derivatives(forward, dy, query, key, value, pse)
    return dq, dk, dv, torch.empty(0, dtype=query.dtype) if dp is None else dp, torch.empty(0)
# fmt: on
