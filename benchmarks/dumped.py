"""One side of benchmarks/dumps.py: a small decoder or convolutional net trains, and msProbe dumps its steps; perhaps one of its modules is wrong.

It imports torch, msProbe and nothing of porter. On the virtual NPU it is the port, on the CPU it stands for the GPU's run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from wrong_backward import Skewed

WIDE, HEADS, WORDS, LONG, BATCH = 32, 4, 64, 12, 4


class OtherDevice(TorchDispatchMode):
    """Rounds as another device does: what sums is summed in double. With `bits`, factors of products have so many, as in TF32."""

    SUMS = frozenset(
        "mm addmm bmm convolution convolution_backward native_layer_norm native_layer_norm_backward _softmax "
        "_softmax_backward_data mean sum gelu".split()
    )

    def __init__(self, bits: int = 0) -> None:
        super().__init__()
        self.bits = bits

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if name not in self.SUMS or not any(torch.is_tensor(x) and x.is_floating_point() for x in args):
            return function(*args, **(kwargs or {}))
        kinds = {x.dtype for x in args if torch.is_tensor(x) and x.is_floating_point()}
        is_product = self.bits and name in ("mm", "addmm", "bmm")

        def wide(x):
            if not torch.is_tensor(x) or not x.is_floating_point():
                return torch.float64 if x in kinds else x
            if is_product and x.dim() > 1:
                aten = torch.ops.aten  # which msProbe does not watch
                whole = aten.add.Scalar(aten.view.dtype(x, torch.int32), 1 << 22 - self.bits)
                x = aten.view.dtype(aten.bitwise_and.Scalar(whole, -(1 << 23 - self.bits)), torch.float32)
            return x.double()

        def narrow(x):
            return (
                x.to(max(kinds, key=lambda kind: kind.itemsize)) if torch.is_tensor(x) and x.is_floating_point() else x
            )

        return tree_map(narrow, function(*tree_map(wide, args), **tree_map(wide, kwargs or {})))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDE, WIDE) for _ in range(4))
        self.scale, self.is_causal = 1 / math.sqrt(WIDE // HEADS), True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, long, _ = x.shape
        q, k, v = (part(x).reshape(rows, long, HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        if self.is_causal:
            hidden = torch.ones(long, long, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(hidden, -1e9)
        mixed = torch.matmul(torch.softmax(scores, -1), v)
        return self.o(mixed.transpose(1, 2).reshape(rows, long, WIDE))


class Norm(nn.Module):
    """RMSNorm: several operators, or one of torch_npu."""

    is_fused = False

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(WIDE)), 1e-6

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if Norm.is_fused:
            import torch_npu

            return torch_npu.npu_rms_norm(x, self.weight, epsilon=self.eps)[0]
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Expanded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(WIDE, 4 * WIDE), nn.GELU(), nn.Linear(4 * WIDE, WIDE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.act(self.up(x)))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDE), Norm()
        self.attention, self.expanded, self.drop = Attention(), Expanded(), nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.drop(self.expanded(self.second(x)))


class Decoder(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDE), nn.Embedding(LONG, WIDE)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDE), nn.Linear(WIDE, WORDS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Convolutions(nn.Module):
    """Two stages of convolution and batch norm with a way around, pooled."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, 3 * 8)
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.stages = nn.ModuleList(
            nn.ModuleDict({"conv": nn.Conv2d(16, 16, 3, padding=1), "norm": nn.BatchNorm2d(16), "act": nn.SiLU()})
            for _ in range(layers)
        )
        self.pool, self.head = nn.AdaptiveMaxPool2d(2), nn.Linear(64, WORDS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.stem(self.embed(tokens).reshape(BATCH, LONG, 3, 8).transpose(1, 2))
        for stage in self.stages:
            x = x + stage["act"](stage["norm"](stage["conv"](x)))
        return self.head(self.pool(x).flatten(1)).unsqueeze(1).expand(-1, LONG, -1)


def break_convolutions(model: Convolutions, fault: str) -> None:
    stage = model.stages[1]
    if fault == "conv weight":
        with torch.no_grad():
            stage["conv"].weight[:, :, 0].mul_(0.9)
    elif fault == "bn eval":
        stage["norm"].eval()
        stage["norm"].train = lambda mode=True: stage["norm"]
    elif fault == "bn eps":
        stage["norm"].eps = 1e-2
    elif fault == "act":
        stage["act"] = nn.GELU()
    elif fault == "pool":
        model.pool = nn.AdaptiveAvgPool2d(2)
    elif fault == "padding":
        stage["conv"].padding_mode = "circular"
        stage["conv"]._reversed_padding_repeated_twice = [1, 1, 1, 1]
    elif fault == "conv backward":
        part, forward = stage["conv"], stage["conv"].forward
        part.forward = lambda x: forward(Skewed.apply(x))
    elif fault:
        sys.exit(f"no such fault: {fault}")


def break_(model: Decoder, fault: str) -> None:
    layer = model.layers[1]
    if fault == "weight":
        with torch.no_grad():
            layer.expanded.up.weight.mul_(1.02)
    elif fault == "dtype":
        part = layer.attention.v
        part.forward = lambda x: F.linear(x.bfloat16(), part.weight.bfloat16(), part.bias.bfloat16()).float()
    elif fault == "tanh":
        layer.expanded.act = nn.GELU(approximate="tanh")
    elif fault == "eps":
        model.norm.eps = 1e-3
    elif fault == "rms eps":
        layer.second.eps = 1e-3
    elif fault == "dropout":
        layer.drop.p = 0.1
    elif fault == "scale":
        layer.attention.scale = 1 / (WIDE // HEADS)
    elif fault == "mask":
        layer.attention.is_causal = False
    elif fault == "backward":
        part, forward = layer.expanded.down, layer.expanded.down.forward
        part.forward = lambda x: forward(Skewed.apply(x))
    elif fault == "zeros":
        forward = layer.expanded.down.forward
        layer.expanded.down.forward = lambda x: forward(x) * 0
    elif fault == "transposed":
        part = layer.attention.q
        part.forward = lambda x: F.linear(x, part.weight.t(), part.bias)
    elif fault == "residual":
        layer.forward = lambda x: Layer.forward(layer, x) + 0.05 * x
    elif fault == "no bias":
        part = model.head
        part.forward = lambda x: F.linear(x, part.weight)
    elif fault == "dropout in both":
        layer.drop.p = 0.1
    elif fault not in ("", "data", "label smoothing", "loss scale", "beta2"):
        sys.exit(f"no such fault: {fault}")


def main() -> None:
    """Words of one run; or --many and a file of lists of words: each in a process of its own, which shares the imports."""
    if sys.argv[1] != "--many":
        run(sys.argv[1:])
        return
    from msprobe.pytorch import PrecisionDebugger  # noqa: F401

    with open(sys.argv[2], encoding="utf-8") as file:
        runs = json.load(file)
    if any("--npu" in words for words in runs):
        import torch_npu  # noqa: F401
    for words in runs:
        child = os.fork()
        if not child:
            run(words)
            sys.exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"failed: {words}")


def run(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    for name, default in (
        ("fault", ""),
        ("level", "L0"),
        ("task", "statistics"),
        ("mode", "statistics"),
        ("dtype", "float32"),
        ("model", "decoder"),
    ):
        parser.add_argument(f"--{name}", default=default)
    for name, default in (("seed", 1), ("layers", 3), ("steps", 1), ("stop", 0), ("bits", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("npu", "autocast", "fused", "exact"):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args(words)
    device = "cpu"
    if asked.npu:
        import torch_npu  # noqa: F401

        device = "npu:0"
    from msprobe.pytorch import PrecisionDebugger

    torch.manual_seed(asked.seed)
    model = {"decoder": Decoder, "convolutions": Convolutions}[asked.model](asked.layers)
    for norm in (part for part in model.modules() if isinstance(part, nn.LayerNorm)):
        nn.init.uniform_(norm.weight, 0.5, 1.5)
    (break_ if asked.model == "decoder" else break_convolutions)(model, asked.fault)
    Norm.is_fused = asked.fused
    model = model.to(device, getattr(torch, asked.dtype))
    draw = torch.Generator().manual_seed(7 + (asked.fault == "data"))
    betas = (0.9, 0.5 if asked.fault == "beta2" else 0.999)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=betas)
    settings = {"task": asked.task, "dump_path": asked.out, "rank": [], "step": [], "level": asked.level}
    settings[asked.task] = {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": asked.mode}
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(settings, file)
    debugger = PrecisionDebugger(config_path=file.name)
    os.unlink(file.name)
    with contextlib.nullcontext() if asked.npu or asked.exact else OtherDevice(asked.bits):
        train(asked, model, optimiser, debugger, draw, device)


def train(asked, model, optimiser, debugger, draw, device) -> None:
    for _ in range(asked.steps):
        tokens = torch.randint(WORDS, (BATCH, LONG + 1), generator=draw).to(device)
        debugger.start(model=model)
        with torch.autocast(device.partition(":")[0], torch.bfloat16, enabled=asked.autocast):
            out = model(tokens[:, :-1])
        smoothing = 0.1 if asked.fault == "label smoothing" else 0.0
        loss = F.cross_entropy(out.float().flatten(0, 1), tokens[:, 1:].flatten(), label_smoothing=smoothing)
        if asked.stop:
            sys.exit(0)  # msProbe writes what it has
        (loss * (1024 if asked.fault == "loss scale" else 1)).backward()
        debugger.stop()
        debugger.step()
        optimiser.step()
        optimiser.zero_grad()


if __name__ == "__main__":
    main()
