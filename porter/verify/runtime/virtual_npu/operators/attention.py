"""npu_fusion_attention. Its mask has 1 where SDPA's boolean mask has False, and its scale is 1 unless given.
pse is added before the product is scaled, as the formula of the documentation has it."""

import torch

from virtual_npu.operators.register import Unsupported, derivatives, kernel

_NAME = "npu_fusion_attention"
_ALL = 2147483647  # pre_tockens, next_tockens: no band
_SEQUENCE = {"BNSD": 2, "BSND": 1, "BSH": 1, "SBH": 0}
_COMPRESSED = (2048, 2048)  # the causal mask that stands for one of any size


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
    if layout in ("BNSD", "BSND", "TND"):
        return key.shape[2 if layout == "BSND" else 1]
    return key.shape[-1] * heads // query.shape[-1]


def _left_out(rows, columns, mask, sparse_mode, pre_tockens, next_tockens):
    """Where scores are left out, or None. Without a mask there is no mode: everything counts."""
    if mask is None:
        return None
    if sparse_mode not in (0, 1, 2, 3, 4):
        raise Unsupported(_NAME, f"sparse_mode {sparse_mode}")
    difference = torch.arange(columns) - torch.arange(rows)[:, None]
    if sparse_mode < 2:
        if mask.shape[-2] < rows or mask.shape[-1] < columns:
            raise RuntimeError(f"{_NAME}: atten_mask {tuple(mask.shape)} does not cover {rows} x {columns} scores")
        mask = mask.bool()[..., :rows, :columns]
        band = (difference > next_tockens) | (-difference > pre_tockens)
        if sparse_mode == 0 and bool((band & ~mask).any()):
            raise Unsupported(_NAME, "an atten_mask that keeps what pre_tockens and next_tockens leave out")
        return mask
    if tuple(mask.shape[-2:]) != _COMPRESSED:
        raise RuntimeError(f"{_NAME}: in sparse_mode {sparse_mode} atten_mask is 2048 x 2048, not {tuple(mask.shape)}")
    difference = difference - (0 if sparse_mode == 2 else columns - rows)
    if sparse_mode == 4:
        return (difference > next_tockens) | (-difference > pre_tockens)
    return difference > 0


def _scores_to_weights(scores, left_out, sink):
    if left_out is not None:
        scores = scores.masked_fill(left_out, torch.finfo(scores.dtype).min)
    if sink is None:
        return torch.softmax(scores, -1)
    last = sink.float().view(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat((scores, last), -1), -1)[..., :-1]


def _heads(q, k, v, pse, sink, scale, left_out, drop):
    """Result, and highest score and sum of each row; the heads are the second dimension."""
    if q.shape[1] % k.shape[1]:
        raise RuntimeError(f"{_NAME}: {q.shape[1]} heads of query for {k.shape[1]} of key")
    repeated = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(repeated, 1) if repeated > 1 else t for t in (k, v))
    scores = q.float() @ k.float().transpose(-1, -2)
    if pse is not None:
        if pse.dim() != 4 or pse.shape[-2] not in (1, scores.shape[-2]):
            raise Unsupported(_NAME, f"a compressed pse of the shape {tuple(pse.shape)}")
        scores = scores + pse.float()
    scores = scores * scale
    weights = _scores_to_weights(scores, left_out, sink)
    highest = scores.detach().amax(-1, keepdim=True)
    total = torch.exp(scores.detach() - highest).sum(-1, keepdim=True)
    if drop is not None:
        weights = weights * drop
    return weights.to(v.dtype) @ v, highest, total


class _Call:
    """The arguments that forward and backward have in common."""

    def __init__(self, query, key, heads, layout, scale, keep, draw, mask, mode, lengths, key_lengths):
        self.heads, self.layout, self.scale, self.mask, self.mode = heads, layout, scale, mask, mode
        self.key_heads = _key_heads(key, query, layout, heads)
        self.lengths, self.key_lengths = lengths, key_lengths
        self.keep, self.draw = keep, draw

    def __call__(self, query, key, value, pse=None, sink=None):
        generator = torch.Generator().manual_seed((self.draw[0] * 1000003 + self.draw[1]) & 0x7FFFFFFF)
        if self.layout == "TND":
            return self._sequences(query, key, value, pse, sink, generator)
        q, k, v = (
            _heads_first(t, self.layout, n)
            for t, n in ((query, self.heads), (key, self.key_heads), (value, self.key_heads))
        )
        result, highest, total = self._one(q, k, v, pse, sink, generator)
        return _as_layout(result, self.layout), highest, total

    def _one(self, q, k, v, pse, sink, generator):
        rows, columns = q.shape[2], k.shape[2]
        drop = None
        if self.keep < 1:
            drop = torch.empty(*q.shape[:3], columns).bernoulli_(self.keep, generator=generator) / self.keep
        return _heads(q, k, v, pse, sink, self.scale, _left_out(rows, columns, self.mask, *self.mode), drop)

    def _sequences(self, query, key, value, pse, sink, generator):
        """One after the other: the tokens of all are in one dimension, the lengths are summed up."""
        if pse is not None:
            raise Unsupported(_NAME, "pse= in the layout TND")
        found, first, key_first = [], 0, 0
        for last, key_last in zip(self.lengths, self.key_lengths):
            if last == 0 and first:
                break  # what follows takes no part
            q, k, v = (
                t[a:b].transpose(0, 1).unsqueeze(0)
                for t, a, b in ((query, first, last), (key, key_first, key_last), (value, key_first, key_last))
            )
            found.append(self._one(q, k, v, None, sink, generator))
            first, key_first = last, key_last
        parts = [torch.cat([part[i].squeeze(0).transpose(0, 1) for part in found]) for i in range(3)]
        missing = query.shape[0] - first
        return tuple(torch.cat([p, p.new_zeros(missing, *p.shape[1:])]) if missing else p for p in parts)


def _check(query, layout, lengths, key_lengths, unmodelled):
    if layout == "TND":
        if not lengths or not key_lengths or len(lengths) != len(key_lengths):
            raise RuntimeError(f"{_NAME}: the layout TND needs actual_seq_qlen and actual_seq_kvlen of one length")
    elif layout not in _SEQUENCE:
        raise Unsupported(_NAME, f"input_layout {layout!r}")
    elif lengths or key_lengths:
        raise Unsupported(_NAME, f"actual_seq_qlen= and actual_seq_kvlen= in the layout {layout}")
    if query.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise RuntimeError(f"{_NAME}: query must be float16, bfloat16 or float32, not {query.dtype}")
    for name, value in unmodelled.items():
        if value is not None and value != "":
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
    _check(query, input_layout, actual_seq_qlen, actual_seq_kvlen, {
        "padding_mask": padding_mask, "prefix": prefix, "dropout_mask": dropout_mask, "softmax_layout": softmax_layout,
    })
    if keep_prob < 1:
        seed, offset = _next_draw()
    attention = _Call(
        query, key, head_num, input_layout, scale, keep_prob, (seed, offset), atten_mask,
        (sparse_mode, pre_tockens, next_tockens), actual_seq_qlen, actual_seq_kvlen,
    )
    result, highest, total = attention(query, key, value, pse, sink)
    highest, total = (t.expand(*t.shape[:-1], 8) for t in (highest, total))
    return result, highest, total, torch.empty(0, dtype=query.dtype), seed, offset, 0


@kernel("npu_fusion_attention_grad")
def fusion_attention_grad(
    query, key, value, dy, head_num, input_layout, *, pse=None, padding_mask=None, atten_mask=None, softmax_max=None,
    softmax_sum=None, softmax_in=None, attention_in=None, scale_value=1.0, keep_prob=1.0, pre_tockens=_ALL,
    next_tockens=_ALL, inner_precise=0, seed=0, offset=0, numels=0, prefix=None, actual_seq_qlen=None,
    actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False, softmax_layout="", sink=None,
):
    attention = _Call(
        query, key, head_num, input_layout, scale_value, keep_prob, (seed, offset), atten_mask,
        (sparse_mode, pre_tockens, next_tockens), actual_seq_qlen, actual_seq_kvlen,
    )
    found = derivatives(lambda *given: attention(*given)[0], dy, query, key, value, pse, sink)
    dq, dk, dv, dp, dsink = found
    nothing = torch.empty(0, dtype=query.dtype)
    return dq, dk, dv, nothing if dp is None else dp, torch.empty(0) if dsink is None else dsink
# fmt: on
