"""Trains the models as a ported program would, on the NPU."""

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401
from models import NAMES, STEPS, batch, parameters

RATE = 0.05


def mlp(p, x):
    return F.linear(F.gelu(F.linear(x, p["w1"], p["b1"])), p["w2"], p["b2"])


def cnn(p, x):
    x = torch.relu(F.conv2d(x, p["k1"], p["b1"], padding=1))
    x = torch.relu(F.conv2d(x, p["k2"], p["b2"], stride=2, groups=2))
    return F.linear(x.flatten(1), p["w"], p["b"])


def transformer(p, x):
    q, k, v = F.linear(x, p["qkv"], p["qkv_b"]).view(2, 7, 3, 2, 4).permute(2, 0, 3, 1, 4)
    seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 7, 8)
    x = F.layer_norm(x + F.linear(seen, p["out"], p["out_b"]), (8,))
    return x + F.linear(F.gelu(F.linear(x, p["up"], p["up_b"])), p["down"], p["down_b"])


def lstm(p, words):
    x, start = F.embedding(words, p["table"]), torch.zeros(1, 4, 6, device=words.device)
    weights = [p["ih"], p["hh"], p["b_ih"], p["b_hh"]]
    seen, _, _ = torch.lstm(x, (start, start), weights, True, 1, 0.0, True, False, False)
    return F.linear(seen, p["w"], p["b"])


def vae(p, x):
    mean, spread = F.conv2d(x, p["k1"], p["b1"], stride=2).chunk(2, 1)
    made = F.conv_transpose2d(mean + torch.exp(0.5 * spread), p["t1"], p["c1"], stride=2)
    wide = mean.double() + 1000
    return made, ((wide - 1000).square() + spread.double().exp() - spread.double()).mean().float()


def bfloat16(p, words):
    short = {key: value.to(torch.bfloat16) for key, value in p.items()}
    x = torch.tanh(F.linear(F.embedding(words, short["table"]), short["w1"], short["b1"]))
    return F.linear(x, short["w2"], short["b2"]).float()


def scaled(p, optimiser):
    """Loss scaling written by hand: a step with an infinite gradient is skipped. 65504 is no infinity."""
    scale = 2.0**19
    for step in range(STEPS):
        x, y = (t.npu() for t in batch("scaled", step))
        half = {key: value.half() for key, value in p.items()}
        out = F.linear(torch.relu(F.linear(x.half(), half["w1"], half["b1"])), half["w2"], half["b2"]).float()
        optimiser.zero_grad()
        ((out - y).square().mean() * scale).backward()
        if all(torch.isfinite(value.grad).all() for value in p.values()):
            for value in p.values():
                value.grad /= scale
            optimiser.step()
        else:
            scale /= 64


class Plain(torch.optim.SGD):
    """Its steps are recorded under a name of their own."""


def amp(p):
    """torch's loss scaler: it skips the first step, whose gradients overflow."""
    optimiser = Plain(p.values(), lr=RATE)
    scaler = torch.amp.GradScaler("npu", init_scale=2.0**19, backoff_factor=1 / 64)
    for step in range(STEPS):
        x, y = (t.npu() for t in batch("amp", step))
        with torch.autocast("npu", torch.float16):
            out = F.linear(torch.relu(F.linear(x, p["w1"], p["b1"])), p["w2"], p["b2"])
        optimiser.zero_grad()
        scaler.scale((out.float() - y).square().mean()).backward()
        scaler.step(optimiser)
        scaler.update()


def main():
    for name in NAMES:
        p = {key: value.npu().requires_grad_() for key, value in parameters(name).items()}
        if name == "scaled":
            scaled(p, torch.optim.Adagrad(p.values(), lr=RATE))
            continue
        if name == "amp":
            amp(p)
            continue
        optimiser = torch.optim.SGD(p.values(), lr=RATE)
        for step in range(STEPS):
            x, y = (t.npu() for t in batch(name, step))
            out, extra = vae(p, x) if name == "vae" else (globals()[name](p, x), 0.0)
            loss = (out - y).square().mean() + extra
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


if __name__ == "__main__":
    main()
