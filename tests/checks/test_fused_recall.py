"""Fused operators in spellings that no recogniser was written for: names say nothing, methods stand for operators and the other
way round. Each is seen, and by the code that it belongs to."""

from __future__ import annotations

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session

HEAD = """\
import math

import einops
import torch
import torch as T
import torch.nn as nn
import torch.nn.functional as fn
from torch import einsum, nn as N


"""
SEEDS = [
    (
        "PRT611",
        """class Zebra(nn.Module):
    def forward(self, quux):
        return quux * self.grains / T.sqrt((quux * quux).mean(dim=-1, keepdim=True) + 1e-5)
""",
    ),
    (
        "PRT611",
        """def scaled(z, g, tiny):
    power = T.square(z).mean(-1, True)
    return g * (z * (power + tiny).rsqrt())
""",
    ),
    (
        "PRT611",
        """class A(nn.Module):
    def forward(self, w):
        inv = (w.float() ** 2).mean(dim=-1, keepdims=True).add(self.tiny).pow(-0.5)
        return (w * inv).type_as(w) * self.g
""",
    ),
    (
        "PRT611",
        """class Even(nn.Module):
    def forward(self, u):
        ms = T.mean(u.float().square(), dim=-1, keepdim=True)
        out = u.float() / (ms + self.e).sqrt()
        return out.to(u.dtype) * self.w
""",
    ),
    (
        "PRT612",
        """class B(nn.Module):
    def forward(self, v):
        l, r = v.split(v.shape[-1] // 2, dim=-1)
        return r * (T.sigmoid(l) * l)
""",
    ),
    (
        "PRT612",
        """def gate(both):
    n = both.size(-1) // 2
    return fn.gelu(both[..., n:]) * both[..., :n]
""",
    ),
    (
        "PRT612",
        """class C(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.alpha, self.beta, self.omega = N.Linear(d, 4 * d), N.Linear(d, 4 * d), N.Linear(4 * d, d)

    def forward(self, v):
        return self.omega(self.beta(v) * fn.silu(self.alpha(v)))
""",
    ),
    (
        "PRT612",
        """class Fed(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.i, self.o, self.act = N.Linear(d, 8 * d, bias=False), N.Linear(4 * d, d), N.SiLU()

    def forward(self, u):
        both = self.i(u)
        p, q = T.chunk(both, chunks=2, dim=-1)
        return self.o(self.act(p).mul(q))
""",
    ),
    (
        "PRT613",
        """def spin(t):
    a, b = t.chunk(2, -1)
    return T.cat([b.neg(), a], -1)
""",
    ),
    (
        "PRT613",
        """class D(nn.Module):
    def forward(self, t, c, s):
        even, odd = t[..., 0::2], t[..., 1::2]
        return T.stack((even * c - odd * s, odd * c + even * s), -1).flatten(-2)
""",
    ),
    (
        "PRT613",
        """def mix(u, wave_c, wave_s):
    h = u.shape[-1] // 2
    lo, hi = u[..., :h], u[..., h:]
    return u * wave_c + T.cat((-hi, lo), dim=-1) * wave_s
""",
    ),
    (
        "PRT613",
        """def mix(u, wc, ws):
    lo, hi = u.chunk(2, dim=-1)
    return T.cat((lo * wc - hi * ws, lo * ws + hi * wc), dim=-1)
""",
    ),
    (
        "PRT614",
        """class E(nn.Module):
    def forward(self, a, b, c):
        w = fn.softmax(a.matmul(b.mT) / 8.0, -1)
        return w.matmul(c)
""",
    ),
    (
        "PRT614",
        """class F(nn.Module):
    def forward(self, x):
        q, k, v = map(lambda t: einops.rearrange(t, "n p (g w) -> n g p w", g=8), self.all(x).chunk(3, -1))
        energy = einsum("n g i w, n g j w -> n g i j", q * self.s, k)
        energy = energy - energy.amax(-1, keepdim=True)
        return einsum("n g i j, n g j w -> n g i w", energy.softmax(-1), v)
""",
    ),
    (
        "PRT614",
        """def look(one, two, three, hide=None):
    r = T.bmm(one, two.permute(0, 2, 1)) * one.size(-1) ** -0.5
    if hide is not None:
        r = r + hide
    p = T.softmax(r, dim=2)
    p = fn.dropout(p, 0.1)
    return T.bmm(p, three)
""",
    ),
    (
        "PRT614",
        """class Att(nn.Module):
    def forward(self, u, m):
        n, p, d = u.shape
        a, b, c = self.mix(u).reshape(n, p, 3, self.g, d // self.g).permute(2, 0, 3, 1, 4)
        t = T.einsum("ngpd,ngqd->ngpq", a, b) * self.s
        t = t.masked_fill(m == 0, -65000)
        t = t.softmax(dim=3)
        return T.einsum("ngpq,ngqd->npgd", t, c).flatten(2)
""",
    ),
    (
        "PRT614",
        """class Att(nn.Module):
    def forward(self, a, b, c, slope):
        t = T.matmul(a, b.transpose(-2, -1)) / math.sqrt(a.shape[-1]) + slope
        return T.matmul(fn.softmax(t, -1), c)
""",
    ),
    (
        "PRT615",
        """class G(nn.Module):
    def forward(self, a, b, c):
        return fn.scaled_dot_product_attention(a, b, c, self.rel_pos_table[self.where].permute(2, 0, 1)[None])
""",
    ),
    (
        "PRT615",
        """class H(nn.Module):
    def widen(self, t):
        n, g, p, w = t.shape
        return t.unsqueeze(2).expand(-1, -1, self.times, -1, -1).reshape(n, g * self.times, p, w)

    def forward(self, a, b, c):
        return fn.scaled_dot_product_attention(a, self.widen(b), self.widen(c), is_causal=True)
""",
    ),
    (
        "PRT615",
        """def attend(a, b, c, times):
    b = b.repeat_interleave(times, 1)
    c = c.repeat_interleave(times, 1)
    return fn.scaled_dot_product_attention(a, b, c)
""",
    ),
    (
        "PRT615",
        """def attend(a, b, c, seen):
    added = T.where(seen, 0.0, float("-inf"))
    return fn.scaled_dot_product_attention(a, b, c, attn_mask=added)
""",
    ),
    (
        "PRT615",
        """class Att(nn.Module):
    def forward(self, a, b, c):
        b = einops.repeat(b, "n g p d -> n (g r) p d", r=4)
        c = einops.repeat(c, "n g p d -> n (g r) p d", r=4)
        return fn.scaled_dot_product_attention(a, b, c)
""",
    ),
    (
        "PRT615",
        """class Att(nn.Module):
    def forward(self, a, b, c, alibi):
        m = alibi.to(a.dtype)
        return fn.scaled_dot_product_attention(a, b, c, attn_mask=m)
""",
    ),
    (
        "PRT616",
        """def judge(out, wanted, n_tokens):
    return fn.cross_entropy(out.reshape(-1, n_tokens), wanted.reshape(-1))
""",
    ),
    (
        "PRT616",
        """def judge(lm_out, wanted, cfg):
    return fn.cross_entropy(lm_out.view(-1, cfg.vocab_size), wanted.view(-1))
""",
    ),
    (
        "PRT619",
        """class I(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gn = N.GroupNorm(16, c)

    def forward(self, y):
        z = self.gn(y)
        return z * z.sigmoid()
""",
    ),
    (
        "PRT619",
        """def stack(c):
    layers = [N.GroupNorm(16, c), N.SiLU(inplace=True), N.Conv2d(c, c, 3)]
    return N.Sequential(*layers)
""",
    ),
    (
        "PRT619",
        """class J(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.calm = N.LayerNorm(d)

    def forward(self, y, before):
        total = before + self.inner(y)
        return self.calm(total)
""",
    ),
    (
        "PRT619",
        """class Res(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.one = N.Sequential(N.GroupNorm(num_groups=8, num_channels=c), N.SiLU(), N.Conv2d(c, d, 3))
""",
    ),
    (
        "PRT619",
        """class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n = N.GroupNorm(8, c)
        self.f = N.SiLU()

    def forward(self, u):
        return self.c(self.f(self.n(u)))
""",
    ),
    (
        "PRT619",
        """class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n = N.LayerNorm(c)

    def forward(self, u):
        u = u + fn.dropout(self.inner(u), 0.1, self.training)
        return self.n(u)
""",
    ),
    (
        "PRT621",
        """def shares(one, two, seen):
    e = one @ two.transpose(-1, -2)
    return T.where(seen, e, -1e30).softmax(-1)
""",
    ),
    (
        "PRT621",
        """def weigh(scores, dark, values):
    w = T.softmax(scores.mul(0.125).masked_fill(dark, -T.inf), -1)
    return T.matmul(w, values), w
""",
    ),
    (
        "PRT621",
        """class Rel(nn.Module):
    def forward(self, a, b, c, pad):
        t = T.matmul(a, b.transpose(2, 3)) + self.shift(T.matmul(a, self.r))
        t = (t * self.s).masked_fill(pad.unsqueeze(1).unsqueeze(2), -1e4)
        w = fn.softmax(t, dim=-1)
        return T.matmul(w, c) + T.matmul(w.sum(2, keepdim=True), self.v)
""",
    ),
    (
        "PRT622",
        """class L(nn.Module):
    def __init__(self, workers):
        super().__init__()
        self.workers = N.ModuleList(workers)

    def forward(self, rows, who):
        out = T.zeros_like(rows)
        for n, worker in enumerate(self.workers):
            mine = who == n
            out[mine] = worker(rows[mine])
        return out
""",
    ),
    (
        "PRT622",
        """class M(nn.Module):
    def forward(self, rows, who, much):
        pieces = rows.split(much.tolist(), 0)
        return T.cat([self.experts[n](piece) for n, piece in enumerate(pieces)], 0)
""",
    ),
    (
        "PRT622",
        """class O(nn.Module):
    def forward(self, rows, picked, share):
        done = T.zeros_like(rows)
        for e in range(self.num_experts):
            pos, slot = (picked == e).nonzero(as_tuple=True)
            if pos.numel() == 0:
                continue
            h = fn.silu(fn.linear(rows[pos], self.gate[e])) * fn.linear(rows[pos], self.up[e])
            done.index_add_(0, pos, fn.linear(h, self.down[e]) * share[pos, slot].unsqueeze(-1))
        return done
""",
    ),
    (
        "PRT622",
        """class Mix(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.nets = N.ModuleList([N.Linear(4, 4) for _ in range(n)])

    def forward(self, u, where_to):
        out = u.new_zeros(u.shape)
        for i in range(len(self.nets)):
            rows = T.nonzero(where_to == i).flatten()
            out[rows] = self.nets[i](u[rows])
        return out
""",
    ),
    (
        "PRT622",
        """class Mix(nn.Module):
    def forward(self, u, ends):
        begin, outs = 0, []
        for i, end in enumerate(ends.tolist()):
            outs.append(self.experts[i](u[begin:end]))
            begin = end
        return T.cat(outs)
""",
    ),
    (
        "PRT623",
        """def measure(net):
    acc = 0
    for _, w in net.named_parameters():
        if w.grad is not None:
            acc += w.grad.detach().norm(2).item() ** 2
    return acc ** 0.5
""",
    ),
    (
        "PRT623",
        """def measure(ws):
    return T.linalg.vector_norm(T.stack([T.linalg.vector_norm(w.grad) for w in ws]))
""",
    ),
    (
        "PRT623",
        """def measure(net):
    return sum((w.grad ** 2).sum().item() for w in net.parameters()) ** 0.5
""",
    ),
    (
        "PRT623",
        """def clip(ws, limit):
    biggest = 0.0
    for w in ws:
        biggest = max(biggest, w.grad.abs().max().item())
    for w in ws:
        w.grad.mul_(limit / biggest)
""",
    ),
    (
        "PRT623",
        """def total(net, kind):
    parts = []
    for w in net.parameters():
        if w.grad is not None:
            parts.append(T.norm(w.grad.detach(), kind))
    return T.norm(T.stack(parts), kind)
""",
    ),
    (
        "PRT623",
        """class Log:
    def show(self):
        return {n: w.grad.norm().item() for n, w in self.net.named_parameters()}
""",
    ),
    (
        "PRT624",
        """def bend(z):
    return z * (T.erf(z * 0.7071067811865476) + 1) * 0.5
""",
    ),
    (
        "PRT624",
        """class P(nn.Module):
    def forward(self, z):
        cube = z * z * z
        return 0.5 * z * (1 + T.tanh((2 / math.pi) ** 0.5 * (z + 0.044715 * cube)))
""",
    ),
    (
        "PRT624",
        """def quick(z):
    return T.sigmoid(z * 1.702).mul(z)
""",
    ),
    (
        "PRT624",
        """class Act(nn.Module):
    def forward(self, u):
        return u / 2 * (1 + T.erf(u * (1 / math.sqrt(2))))
""",
    ),
    (
        "PRT624",
        """@T.jit.script
def act(b, y):
    u = y + b
    return 0.5 * u * (T.tanh(0.79788456 * u * (1 + 0.044715 * u * u)) + 1.0)
""",
    ),
]


@pytest.mark.parametrize(("code", "text"), SEEDS, ids=[f"{code}-{at}" for at, (code, _) in enumerate(SEEDS)])
def test_it_is_seen_whatever_it_is_called(code: str, text: str) -> None:
    assert code in {f.code for f in analyse("model.py", (HEAD + text).encode(), open_session()).findings}
