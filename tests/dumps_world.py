"""Dumps that were never made, in the forms that msProbe writes, with small numbers of their own."""

from __future__ import annotations

import json
from math import prod, sin, sqrt
from pathlib import Path
from typing import Any

from porter.dumps.compared import compare

STACK = [
    "File /usr/lib/python3.11/site-packages/torch/nn/modules/module.py, line 1784, in _call_impl, \n return forward_call(*args)",
    "File /data/repo/net.py, line 4, in forward, \n return self.fc(x).cuda()",
    "File /data/repo/train.py, line 9, in main, \n out = model(batch)",
]


def tensor(
    seed: float = 1.0, shape: tuple[int, ...] = (4, 8), scale: float = 1.0, dtype: str = "float32", **more: Any
) -> dict[str, Any]:
    """Of waves of a seed: `scale` is what a test changes of them."""
    values = [scale * sin(seed * (at + 1)) for at in range(prod(shape))]
    numbers = {
        "Max": max(values),
        "Min": min(values),
        "Mean": sum(values) / len(values),
        "Norm": sqrt(sum(v * v for v in values)),
    }
    return {
        "type": "torch.Tensor",
        "dtype": f"torch.{dtype}",
        "shape": list(shape),
        **numbers,
        "requires_grad": False,
        **more,
    }


def whole(top: int = 7, bottom: int = 0, shape: tuple[int, ...] = (4, 8), **more: Any) -> dict[str, Any]:
    """Integers: of these the range is all."""
    return {"type": "torch.Tensor", "dtype": "torch.int64", "shape": list(shape), "Max": top, "Min": bottom, "Mean": None, "Norm": None, "requires_grad": False, **more}  # fmt: skip


class Made:
    """One dump.json, with construct.json and stack.json beside it."""

    def __init__(self, framework: str = "pytorch", level: str = "mix") -> None:
        self.head = {"task": "statistics", "level": level, "framework": framework, "dump_data_dir": None}
        self.data: dict[str, Any] = {}
        self.parents: dict[str, Any] = {}
        self.stacks: dict[str, Any] = {}

    def forward(
        self,
        name: str,
        into: list[Any],
        out: list[Any],
        parent: Any = None,
        kwargs: dict[str, Any] | None = None,
        **weights: Any,
    ) -> Made:
        row = {"input_args": into, "input_kwargs": kwargs or {}, "output": out}
        if name.startswith(("Module", "Cell")):
            row["parameters"] = weights
        return self.row(name, row, parent)

    def backward(self, name: str, into: list[Any], out: list[Any], parent: Any = None) -> Made:
        return self.row(name, {"input": into, "output": out}, parent)

    def gradients(self, name: str, **values: Any) -> Made:
        return self.row(name, {key: [value] for key, value in values.items()})

    def row(self, name: str, row: dict[str, Any], parent: Any = None) -> Made:
        self.data[name] = row
        self.parents[name] = parent
        self.stacks[str(len(self.stacks))] = [[name], STACK]
        return self

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        texts = {"dump": {**self.head, "data": self.data}, "construct": self.parents, "stack": self.stacks}
        for name, value in texts.items():
            (folder / f"{name}.json").write_text(json.dumps(value, indent=1), encoding="utf-8")
        return folder


# what a test changes of the net: the scale of the output of a call, or of its weights
def net(changed: dict[str, float] | None = None, noise: float = 0.0, dtype: str = "float32", level: str = "L0") -> Made:
    """An embedding, two blocks of two layers, a head; then its backward pass. What follows a changed call is changed, too."""
    made, changes = Made(level=level), changed or {}
    factor, count = 1.0, 0

    def wave(seed: float, is_noisy: bool = True, **more: Any) -> dict[str, Any]:
        nonlocal count
        count += 1
        return tensor(seed, scale=factor * (1 + (noise * sin(count) if is_noisy else 0)), dtype=dtype, **more)

    def weight(name: str, seed: float) -> dict[str, Any]:
        return tensor(seed, (8, 8), changes.get(f"{name} weight", 1.0), dtype, requires_grad=True)

    def step(name: str, kind: str, into: dict[str, Any], seed: float, parent: str | None = None) -> dict[str, Any]:
        nonlocal factor
        factor *= changes.get(name, 1.0) * changes.get(f"{name} weight", 1.0)
        out = wave(seed)
        made.forward(f"Module.{name}.{kind}.forward.0", [into], [out], parent, weight=weight(name, seed + 0.3))
        return out

    ids = whole(7 + int(changes.get("ids", 0)))
    x = step("embed", "Embedding", ids, 1.1)
    for number in (0, 1):
        block = f"Module.blocks.{number}.Block.forward.0"
        first = x
        x = step(f"blocks.{number}.up", "Linear", x, 2.1 + number, block)
        factor *= changes.get(f"blocks.{number} between", 1.0)
        if f"blocks.{number} between" in changes:
            x = wave(2.1 + number)
        x = step(f"blocks.{number}.down", "Linear", x, 2.6 + number, block)
        made.forward(block, [first], [x])
    factor *= changes.get("between", 1.0)
    if "between" in changes:
        x = wave(3.6)
    step("head", "Linear", x, 4.1)
    factor = changes.get("loss", 1.0)
    back(made, changes, wave)
    return made


def back(made: Made, changes: dict[str, float], wave: Any) -> None:
    factor = 1.0

    def gradient(seed: float) -> dict[str, Any]:
        value = wave(seed)
        return {**value, **{key: value[key] * factor * 1e-3 for key in ("Max", "Min", "Mean", "Norm")}}

    g = gradient(5.1)
    for seed, (name, kind) in enumerate(
        [("head", "Linear"), ("blocks.1.down", "Linear"), ("blocks.1.up", "Linear"), ("embed", "Embedding")]
    ):
        own = changes.get(f"{name} gradient", 1.0)
        value = gradient(6.1 + seed)
        made.gradients(
            f"Module.{name}.{kind}.parameters_grad.0",
            weight={**value, **{k: value[k] * own for k in ("Max", "Min", "Mean", "Norm")}},
        )
        factor *= changes.get(f"{name} backward", 1.0)
        out = gradient(7.1 + seed)
        made.backward(f"Module.{name}.{kind}.backward.0", [g], [out])
        g = out


def told(folder: Path, one: Made, other: Made) -> Any:
    """The verdict, and what it is about."""
    return compare(
        str(one.write(folder / "gpu" / "step0" / "rank0")), str(other.write(folder / "npu" / "step0" / "rank0"))
    ).result


def reason(folder: Path, one: Made, other: Made) -> tuple[str, str]:
    result = told(folder, one, other)
    pair = result.verdict.pair
    return result.verdict.reason, pair.one.text if pair else ""
