"""The same models in plain torch, each difference of a target written out: what porter's virtual NPU has to come to.

Prints, by variant and model, the losses, the norms of the gradients at each step, and what the first step added.
"""

import json
import sys

import torch
import torch.nn.functional as F
from models import NAMES, STEPS, batch, parameters
from torch.autograd import Function

RATE = 0.05
VARIANTS = {
    "base": {},
    "hf32-conv": {"conv": "hf32"},
    "hf32-matmul": {"product": "hf32"},
    "tanh-gelu": {"tanh": True},
    "float32-casts": {"wide": True},
    "A2 together": {"conv": "hf32", "tanh": True},
    "saturation": {"saturate": True},
    "fp16-products": {"conv": "fp16", "product": "fp16"},
    "no-bfloat16": {"short": torch.float16},
    "910 together": {"conv": "fp16", "product": "fp16", "saturate": True, "short": torch.float16},
}


def plain(x):
    return x


def hf32(x):
    """11 bits behind the leading one, ties to even."""
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(mantissa * 2.0**12), exponent - 12)


def fp16(x):
    return x.half().float()


ROUNDINGS = {None: (plain, plain), "hf32": (hf32, plain), "fp16": (fp16, fp16)}  # of what goes in, of what comes out


class Product(Function):
    """a @ b of matrices, or of stacks of them; and x @ w.T + bias."""

    @staticmethod
    def forward(ctx, a, b, bias, kind):
        into, out = ROUNDINGS[kind]
        if a.dtype != torch.float32:
            into = out = plain
        ctx.into, ctx.out, ctx.bias = into, out, bias is not None
        a, b = into(a), into(b)
        ctx.save_for_backward(a, b)
        # an operator that runs in float16 takes its bias in it, too
        return out(a @ b if bias is None else torch.addmm(bias if out is plain else out(bias), a, b))

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        g = ctx.into(gradient)
        return (
            ctx.out(g @ b.transpose(-1, -2)), ctx.out(a.transpose(-1, -2) @ g),
            gradient.sum(0) if ctx.bias else None, None,
        )  # fmt: skip


class Convolution(Function):
    @staticmethod
    def forward(ctx, x, kernel, bias, kind, stride, padding, transposed, groups):
        into, out = ROUNDINGS[kind]
        ctx.into, ctx.out = into, out
        ctx.how = ([stride] * 2, [padding] * 2, [1, 1], transposed, [0, 0], groups)
        x, kernel = into(x), into(kernel)
        ctx.save_for_backward(x, kernel)
        ctx.sizes = list(bias.shape)
        return out(torch.convolution(x, kernel, bias if out is plain else out(bias), *ctx.how))

    @staticmethod
    def backward(ctx, gradient):
        x, kernel = ctx.saved_tensors
        g = ctx.into(gradient)
        dx, dk, db = torch.ops.aten.convolution_backward(g, x, kernel, ctx.sizes, *ctx.how, [True] * 3)
        if ctx.out is plain:  # a sum multiplies nothing
            db = torch.ops.aten.convolution_backward(gradient, x, kernel, ctx.sizes, *ctx.how, [False, False, True])[2]
        return ctx.out(dx), ctx.out(dk), ctx.out(db), None, None, None, None, None


class Saturated(Function):
    """On a chip that saturates every result is: also that of a derivative."""

    @staticmethod
    def forward(ctx, x):
        return _finite(x)

    @staticmethod
    def backward(ctx, gradient):
        return _finite(gradient)


def _finite(x):
    top = torch.finfo(x.dtype).max
    return torch.where(torch.isnan(x), torch.zeros_like(x), x.clamp(-top, top))


class Model:
    def __init__(self, conv=None, product=None, tanh=False, wide=False, saturate=False, short=torch.bfloat16):
        self.conv_kind, self.product_kind, self.tanh, self.wide = conv, product, tanh, wide
        self.saturates, self.short = saturate, short

    def linear(self, x, w, b):
        return Product.apply(x.flatten(0, -2), w.t(), b, self.product_kind).unflatten(0, x.shape[:-1])

    def matmul(self, a, b):
        return Product.apply(a, b, None, self.product_kind)

    def conv(self, x, kernel, bias, stride=1, padding=0, transposed=False, groups=1):
        return Convolution.apply(x, kernel, bias, self.conv_kind, stride, padding, transposed, groups)

    def gelu(self, x):
        if not self.tanh:
            return F.gelu(x)
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x * x * x)))

    def mlp(self, p, x):
        return self.linear(self.gelu(self.linear(x, p["w1"], p["b1"])), p["w2"], p["b2"])

    def cnn(self, p, x):
        x = torch.relu(self.conv(x, p["k1"], p["b1"], padding=1))
        x = torch.relu(self.conv(x, p["k2"], p["b2"], stride=2, groups=2))
        return self.linear(x.flatten(1), p["w"], p["b"])

    def transformer(self, p, x):
        q, k, v = self.linear(x, p["qkv"], p["qkv_b"]).view(2, 7, 3, 2, 4).permute(2, 0, 3, 1, 4)
        if self.product_kind is None:
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = self.matmul(q * 4**-0.25, (k * 4**-0.25).transpose(-1, -2))
            hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
            seen = self.matmul(torch.softmax(scores.masked_fill(hidden, float("-inf")), -1), v)
        seen = seen.transpose(1, 2).reshape(2, 7, 8)
        x = F.layer_norm(x + self.linear(seen, p["out"], p["out_b"]), (8,))
        return x + self.linear(self.gelu(self.linear(x, p["up"], p["up_b"])), p["down"], p["down_b"])

    def lstm(self, p, words):
        x = p["table"][words]
        hidden = cell = torch.zeros(4, 6)
        seen = []
        for now in x.unbind(0):  # step by step, as torch does it off the CPU
            products = self.matmul(now, p["ih"].t()) + self.matmul(hidden, p["hh"].t())
            gates = products + p["b_ih"] + p["b_hh"]
            i, f, g, o = gates.chunk(4, 1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            hidden = torch.sigmoid(o) * torch.tanh(cell)
            seen.append(hidden)
        return self.linear(torch.stack(seen), p["w"], p["b"])

    def vae(self, p, x):
        mean, spread = self.conv(x, p["k1"], p["b1"], stride=2).chunk(2, 1)
        made = self.conv(mean + torch.exp(0.5 * spread), p["t1"], p["c1"], stride=2, transposed=True)
        m, s = (mean.double(), spread.double()) if self.wide else (mean, spread)
        return made, (((m + 1000) - 1000).square() + s.exp() - s).mean().float()

    def bfloat16(self, p, words):
        short = {key: value.to(self.short) for key, value in p.items()}
        x = torch.tanh(F.linear(F.embedding(words, short["table"]), short["w1"], short["b1"]))
        return F.linear(x, short["w2"], short["b2"]).float()

    def amp(self, p):
        """Where results saturate, the flag of the overflow stands for the inf in a gradient: the same steps are skipped."""
        scale, told = 2.0**19, {"loss": [], "norm": [], "update": []}
        for step in range(STEPS):
            x, y = batch("amp", step)
            half = {key: value.half() for key, value in p.items()}
            out = F.linear(torch.relu(F.linear(x.half(), half["w1"], half["b1"])), half["w2"], half["b2"])
            loss = (out.float() - y).square().mean() * scale
            found = dict(zip(p, torch.autograd.grad(loss, list(p.values()))))
            told["loss"].append(loss.item())
            if not all(torch.isfinite(g).all() for g in found.values()):
                scale /= 64
                continue
            found = {key: g / scale for key, g in found.items()}
            told["norm"].append(norm(found))
            added = flat(move(p, {key: -RATE * g for key, g in found.items()}))
            told["update"] = told["update"] or added
        return told

    def half_product(self, x, w, b):
        """x @ w.T + b in float16, and what each of its products saturates to."""
        if not self.saturates:
            return F.linear(x, w, b)
        return Saturated.apply(F.linear(Saturated.apply(x), Saturated.apply(w), Saturated.apply(b)))

    def scaled(self, p):
        scale, told = 2.0**19, {"loss": [], "norm": [], "update": []}
        sums = {key: torch.zeros_like(value) for key, value in p.items()}
        for step in range(STEPS):
            x, y = batch("scaled", step)
            half = {key: value.half() for key, value in p.items()}
            out = self.half_product(
                torch.relu(self.half_product(x.half(), half["w1"], half["b1"])), half["w2"], half["b2"]
            )
            loss = (out.float() - y).square().mean() * scale
            found = dict(zip(p, torch.autograd.grad(loss, list(p.values()))))
            told["loss"].append(loss.item())
            if not all(torch.isfinite(g).all() for g in found.values()):
                scale /= 64
                continue
            found = {key: g / scale for key, g in found.items()}
            told["norm"].append(norm(found))
            moved = {}
            for key, g in found.items():  # Adagrad
                sums[key] += g * g
                moved[key] = -RATE * g / (sums[key].sqrt() + 1e-10)
            added = flat(move(p, moved))
            told["update"] = told["update"] or added
        return told


def norm(gradients):
    return sum(g.double().square().sum().item() for g in gradients.values()) ** 0.5


def move(p, moved):
    """What is really added, after rounding."""
    added = {}
    with torch.no_grad():
        for key, value in p.items():
            before = value.clone()
            value += moved[key]
            added[key] = value.double() - before.double()
    return added


def flat(tensors):
    return torch.cat([t.flatten().float() for t in tensors.values()]).tolist()


def trained(model, name):
    p = {key: value.requires_grad_() for key, value in parameters(name).items()}
    if name in ("scaled", "amp"):
        return getattr(model, name)(p)
    told = {"loss": [], "norm": [], "update": []}
    for step in range(STEPS):
        x, y = batch(name, step)
        out, extra = model.vae(p, x) if name == "vae" else (getattr(model, name)(p, x), 0.0)
        loss = (out - y).square().mean() + extra
        found = dict(zip(p, torch.autograd.grad(loss, list(p.values()))))
        told["loss"].append(loss.item())
        told["norm"].append(norm(found))
        added = move(p, {key: -RATE * g for key, g in found.items()})
        told["update"] = told["update"] or flat(added)
    return told


if __name__ == "__main__":
    torch.set_num_threads(1)
    json.dump({v: {name: trained(Model(**how), name) for name in NAMES} for v, how in VARIANTS.items()}, sys.stdout)
