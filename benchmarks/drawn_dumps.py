"""Does `porter compare --dumps` name a planted fault in nets that are drawn, and none where there is none? numpy, and statistics alone.

    python benchmarks/drawn_dumps.py                 # 700 nets
    python benchmarks/drawn_dumps.py --nets 2000 --seed 5000

A net has up to thirty blocks with a way around, of one to three calls each: linear, layer norm, GELU, softmax, attention that nothing
scales down, a mean taken off. Both sides round after each call as float32, float16 or bfloat16 does, each in its own way. In seven of ten
pairs one call of the candidate is wrong, some of them by so little that no statistic shows it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from porter.dumps.align import align
from porter.dumps.judge import judge
from porter.dumps.model import Call, Dump, Value
from porter.dumps.names import parsed
from porter.dumps.states import States

UNITS = {"float32": 2**-24, "bfloat16": 2**-9, "float16": 2**-12}
CALLS = ("Linear", "LayerNorm", "GELU", "Softmax", "Attention", "Centred")
KINDS = "abcd"  # of what is wrong


def value(numbers: np.ndarray, dtype: str) -> Value:
    top, bottom, mean = float(numbers.max()), float(numbers.min()), float(numbers.mean())
    return Value(dtype, numbers.shape, top, bottom, mean, float(np.linalg.norm(numbers)))


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def called(name: str, x: np.ndarray, draw: np.random.Generator, wrong: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """What comes out, and the weights. `wrong`: how, or nothing."""
    wide = x.shape[-1]
    if name == "Linear":
        weight, bias = draw.normal(size=(wide, wide)) / np.sqrt(wide), draw.normal(size=wide) * 0.1
        y = x @ (weight.T if wrong == "d" else weight) + (0 if wrong == "a" else bias)
        return y * {"b": 1.01, "c": 0.0}.get(wrong, 1.0), {"weight": weight, "bias": bias}
    if name == "LayerNorm":
        weight, spread = draw.uniform(0.5, 1.5, wide), x.var(-1, keepdims=True)
        spread = spread.mean() if wrong == "d" else spread * (1.02 if wrong == "a" else 1) + 1e-5
        y = (x - (0 if wrong == "b" else x.mean(-1, keepdims=True))) / np.sqrt(spread) * weight
        return y * (0.0 if wrong == "c" else 1.0), {"weight": weight}
    if name == "GELU":
        if wrong == "a":
            return np.maximum(x, 0), {}
        if wrong == "b":
            return x / (1 + np.exp(np.clip(-1.702 * x, -700, 700))), {}
        y = x * 0.5 * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))
        return y * {"c": 0.0, "d": 1.05}.get(wrong, 1.0), {}
    if name == "Softmax":
        return softmax(x * (1.1 if wrong else 1)) * wide, {}
    if name == "Attention":
        return softmax(x @ x.T / np.sqrt(wide) * (1.2 if wrong else 1)) @ x, {}
    return x - x.mean(0) * (0.9 if wrong else 1), {}


def net(seed: int, side: int, dtype: str, depth: int, fault: int = -1, kind: str = "a") -> Dump:
    draw, noise = np.random.default_rng(seed), np.random.default_rng(seed * 7 + side)
    dump, count = Dump(str(side)), 0
    x = draw.normal(size=(24, int(draw.choice([16, 32, 64])))) * draw.choice([0.1, 1, 5])

    def rounded(numbers: np.ndarray) -> np.ndarray:
        return numbers * (1 + 1.5 * UNITS[dtype] * noise.uniform(-1, 1, numbers.shape))

    def add(name: str, before: np.ndarray, after: np.ndarray, weights: dict[str, np.ndarray]) -> str:
        text = f"Module.{name}.forward.0"
        held = {key: value(numbers, dtype) for key, numbers in weights.items()}
        dump.calls[text] = Call(text, parsed(text), {"0": value(before, dtype)}, {"0": value(after, dtype)}, held)
        return text

    for block in range(depth):
        first, parts = x, []
        for part in range(int(draw.integers(1, 4))):
            name = str(draw.choice(CALLS))
            y, weights = called(name, x, draw, kind if side and fault == count else "")
            before, x, count = x, rounded(y), count + 1
            parts.append(add(f"blocks.{block}.part{part}.{name}", before, x, weights))
        x = rounded(first + x)
        dump.parents |= dict.fromkeys(parts, add(f"blocks.{block}.Block", first, x, {}))
    return dump


def judged(seed: int) -> tuple[str, bool, str]:
    """Of a drawn pair: its type, whether it has a fault, and the answer: right, wrong, open, or none."""
    draw = np.random.default_rng(seed + 10**6)
    dtype, depth = str(draw.choice(list(UNITS))), int(draw.integers(2, 30))
    one = net(seed, 0, dtype, depth)
    parts = [name for name in one.calls if ".Block." not in name]
    fault = int(draw.integers(0, len(parts))) if draw.random() < 0.7 else -1
    other = net(seed, 1, dtype, depth, fault, str(draw.choice(list(KINDS))))
    found = align(one, other)
    verdict = judge(found, States(one, other, found), True)
    if verdict.outcome != "difference":
        return dtype, fault >= 0, {"none": "none", "unsure": "open"}[verdict.outcome]
    is_right = fault >= 0 and verdict.pair is not None and verdict.pair.name == parts[fault]
    return dtype, fault >= 0, "right" if is_right else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", type=int, default=700)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    counts = Counter(judged(seed) for seed in range(asked.seed, asked.seed + asked.nets))
    for dtype in UNITS:
        for has_fault in (True, False):
            row = {answer: counts[dtype, has_fault, answer] for answer in ("right", "wrong", "open", "none")}
            told = ", ".join(f"{answer} {n}" for answer, n in row.items() if has_fault or answer != "right")
            print(f"{dtype:8} {'a fault' if has_fault else 'no fault'}: {sum(row.values())}; {told}")


if __name__ == "__main__":
    main()
