"""Python files made for measuring: with nothing to find, with something, and long."""

from __future__ import annotations

PLAIN = '''\
"""Splits a text file into parts of equal length."""

import argparse
from pathlib import Path


def split(text, parts):
    size = -(-len(text) // parts)
    return [text[at : at + size] for at in range(0, len(text), size)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--parts", type=int, default=4)
    args = parser.parse_args()
    for number, part in enumerate(split(Path(args.file).read_text(), args.parts)):
        Path(f"{args.file}.{number}").write_text(part)


if __name__ == "__main__":
    main()
'''

MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.Tanh(), nn.Linear(4 * width, width))

    def forward(self, x, mask=None):
        y = self.norm(x)
        y, _ = self.attention(y, y, y, attn_mask=mask, need_weights=False)
        x = x + y
        return x + self.mlp(x)


def positions(length, width):
    at = torch.arange(length).unsqueeze(1)
    scale = torch.exp(torch.arange(0, width, 2) * -(4.0 / width))
    return torch.cat([torch.sin(at * scale), torch.cos(at * scale)], dim=1)
"""

TRAIN = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train{n}(model, loader, optimizer, scaler, local_rank, epochs=1):
    dist.init_process_group(backend="nccl")
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    model = DistributedDataParallel(model.cuda(), device_ids=[local_rank])
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for images, labels in loader:
            images, labels = images.to(device, non_blocking=True), labels.cuda()
            with torch.cuda.amp.autocast():
                loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        torch.cuda.synchronize()
        print(epoch, loss.item(), torch.cuda.max_memory_allocated())
"""

_BULK = '''\


def step{n}(state, batch, rate=0.1):
    """Averages what came in, weighted by how often it did."""
    total, count = 0.0, 0
    for key, value in sorted(batch.items()):
        if key not in state:
            state[key] = [0.0] * len(value)
        for at, number in enumerate(value):
            state[key][at] += rate * (number - state[key][at])
            total, count = total + abs(number), count + 1
    history = [total / max(count, 1)] if rate > {n} else [total, count]
    return {{"mean": sum(history) / len(history), "keys": tuple(state), "step": {n}}}
'''


def long(lines: int) -> str:
    """A file of about so many lines, with an edit in every hundred or so."""
    parts, have, n = [TRAIN.format(n=0), "\n\n"], TRAIN.count("\n") + 2, 0
    while have < lines:
        n += 1
        part = _BULK.format(n=n)
        if n % 7 == 0:
            part += f"    step{n}.value = torch.zeros({n}).cuda()\n"
        parts.append(part)
        have += part.count("\n")
    return "".join(parts)
