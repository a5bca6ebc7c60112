"""Does `porter compare` name the stage of a planted fault? Small real trainings on the CPU, a fault drawn by seed in one of two.

    python benchmarks/compare_runs.py                 # 12 faults, 6 pairs of other seeds, 3 without a fault
    python benchmarks/compare_runs.py --seed 7 --faults 36
    python benchmarks/compare_runs.py --devices       # the logs say cuda and npu: the wider tolerances of two kinds of devices
    python benchmarks/compare_runs.py --gpu           # the first of each pair really runs on a GPU, as it is set up by default
    python benchmarks/compare_runs.py --virtual-npu --record DIR      # where a GPU is: the baselines of a draw
    python benchmarks/compare_runs.py --virtual-npu --baselines DIR   # and here: the ports against them
    python benchmarks/compare_runs.py --gpu --half    # the same under autocast, in bfloat16; the fault of the forward pass is float32 there
    python benchmarks/compare_runs.py --bare          # the logs without the records of optimiser and dropout: numbers alone
    python benchmarks/compare_runs.py --virtual-npu   # programs for CUDA on the CPU, and their ports on the virtual NPU, the fault in these

Needs torch: the extra `verify`; and with --virtual-npu what `porter verify --setup` makes. compare gets two folders and nothing else.
The log is the one that `porter instrument --loss-log` writes; hooks of this script write it, and with --virtual-npu porter's recorder.
Without, the candidate of each pair sums its batches in another order, with other kernels (oneDNN is off), so that it differs by
rounding, as another device does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.wrong_backward import Skewed
from porter.compare.pair import Pair
from porter.compare.read import read
from porter.compare.tree import judge

RANKS, STEPS, SIZE, CLASSES, BATCHES = 2, 40, 16, 10, 3
# the fault, and the stage that is to be named. Norms are taken before clipping, as the recorder takes them.
FAULTS = {
    "weights": "weights", "forward dtype": "forward", "wrong backward": "backward", "beta2": "optimiser", "weight decay": "optimiser",
    "lr schedule": "schedule", "data order": "data", "dropout left on": "randomness", "loss scale": "scaling", "clipping": "optimiser",
    "a rank that reads other data": "data", "no bias correction": "optimiser",
}  # fmt: skip


class Sequence(nn.Module):
    """Tokens in, a class out: by attention, or by a recurrent net."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.body = (
            nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            if kind == "transformer"
            else getattr(nn, kind)(32, 32, batch_first=True)
        )
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.body(self.embedding(x))
        return self.head((out[0] if isinstance(out, tuple) else out).mean(1))


def net(kind: str) -> nn.Module:
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, CLASSES)
        )
    if kind == "cnn":
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(144, CLASSES),
        )
    return Sequence(kind)


KINDS = ("mlp", "cnn", "transformer", "LSTM", "GRU")
HALF = KINDS[:3]  # a CPU has no LSTM in bfloat16


def samples(kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(3)
    shape = {"mlp": (24,), "cnn": (3, 8, 8)}.get(kind)
    x = torch.randn(640, *shape, generator=draw) if shape else torch.randint(64, (640, 12), generator=draw)
    teacher = torch.randn(x[0].numel(), CLASSES, generator=draw)
    return x, (x.flatten(1).float() @ teacher).argmax(1)


class NotCorrected(torch.optim.AdamW):
    """AdamW whose first moments are taken as they are."""

    def step(self, closure=None):
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                state = self.state[p]
                m = state["m"] = group["betas"][0] * state.get("m", 0) + (1 - group["betas"][0]) * p.grad
                v = state["v"] = group["betas"][1] * state.get("v", 0) + (1 - group["betas"][1]) * p.grad**2
                p.data.mul_(1 - group["lr"] * group["weight_decay"]).add_(-group["lr"] * m / (v.sqrt() + group["eps"]))


class Log:
    def __init__(self, folder: Path, rank: int, bare: bool, device: str) -> None:
        self.device = device
        folder.mkdir(parents=True, exist_ok=True)
        self.file = (folder / f"log.rank{rank}.jsonl").open("w", encoding="utf-8")
        self.bare = bare

    def put(self, kind: str, **record: object) -> None:
        if not (self.bare and kind in ("optimizer", "modules")):
            self.file.write(json.dumps({"kind": kind, **record}) + "\n")


def train(
    folder: Path,
    kind: str,
    seeds: tuple[int | None, int, int],
    asked: argparse.Namespace,
    fault: str = "",
    other: bool = False,
) -> None:
    """`seeds`: the one that the log tells, that of the weights, and that of the order of the data."""
    seed, weight_seed, data_seed = seeds
    torch.backends.mkldnn.enabled = not other
    device = ("npu" if other else "cuda") if asked.devices or asked.gpu else "cpu"
    place = torch.device("cuda" if asked.gpu and not other else "cpu")
    torch.manual_seed(weight_seed)
    model = net(kind)
    choose = random.Random(weight_seed)
    modules = [m for m in model.modules() if isinstance(m, nn.Linear)]
    if fault == "weights":
        with torch.no_grad():
            choose.choice(modules).weight.mul_(choose.choice((0.9, 1.02, 1.1)))
    if fault == "wrong backward":
        modules[-1].register_forward_pre_hook(lambda _, inputs: Skewed.apply(inputs[0]))
    model.to(place)
    dropout = nn.Dropout(0.1 if fault == "dropout left on" else 0.0)
    make = NotCorrected if fault == "no bias correction" else torch.optim.AdamW
    betas = (0.9, 0.95 if fault == "beta2" else 0.999)
    optimiser = make(model.parameters(), lr=3e-3, betas=betas, weight_decay=0.1 if fault == "weight decay" else 0.01)
    warm = 5 if fault == "lr schedule" else 10
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, (step + 1) / warm))
    x, y = samples(kind)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(data_seed + (fault == "data order")))
    logs = [Log(folder, rank, asked.bare, device) for rank in range(RANKS)]
    for rank, log in enumerate(logs):
        begin(log, rank, seed, model, optimiser, dropout, asked.half)
    for step in range(1, STEPS + 1):
        losses = []
        optimiser.zero_grad()
        for rank, log in enumerate(logs):
            at = (step - 1) * RANKS * SIZE % len(x) + SIZE * (0 if rank and fault.startswith("a rank") else rank)
            chosen = order[at : at + SIZE]
            inputs, wanted = x[chosen], y[chosen]
            if step <= BATCHES:
                log.put("batch", step=step, inputs=[batch("0", inputs), batch("1", wanted)])
            inputs, wanted = inputs.to(place), wanted.to(place)
            if other:  # the same sums in another order
                inputs, wanted = inputs.flip(0), wanted.flip(0)
            with torch.autocast(place.type, torch.bfloat16, enabled=asked.half != (fault == "forward dtype")):
                out = dropout(model(inputs))
            loss = functional.cross_entropy(out.float(), wanted)
            (loss / RANKS * (1024 if fault == "loss scale" else 1)).backward()
            losses.append(loss.item())
        norms = {name: p.grad.double().norm().item() for name, p in model.named_parameters()}
        whole = sum(n**2 for n in norms.values()) ** 0.5
        for log, loss in zip(logs, losses):
            log.put("step", step=step, loss=loss, lr=optimiser.param_groups[0]["lr"], grad_norm=whole)
            if step == 1:
                log.put("norms", step=step, gradients=norms)
        if fault != "clipping":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05 if step % 2 else 0.3)
        optimiser.step()
        schedule.step()
    for log in logs:
        log.put("end", steps=STEPS)
        log.file.close()


def begin(
    log: Log,
    rank: int,
    seed: int | None,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    dropout: nn.Dropout,
    half: bool,
) -> None:
    log.put(
        "run", format=1, rank=rank, ranks=RANKS, device=log.device, torch=torch.__version__, seed=seed, determinism={}
    )
    weights = {
        n: {"norm": p.detach().double().norm().item(), "shape": list(p.shape), "dtype": str(p.dtype)[6:]}
        for n, p in model.named_parameters()
    }
    log.put("weights", parameters=weights)
    groups = [
        {k: v for k, v in g.items() if k != "params"} | {"parameters": len(g["params"])} for g in optimiser.param_groups
    ]
    log.put("optimizer", name="AdamW", groups=groups)
    # what the program asks for: a fault of its own is told nowhere
    known = {"autocast": "bfloat16"} if half else {}
    log.put("modules", training=True, dropout={"dropout": dropout.p} if dropout.p else {}, **known)


def batch(path: str, tensor: torch.Tensor) -> dict[str, object]:
    found = {
        "path": path,
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype)[6:],
        "hash": hashlib.sha256(tensor.numpy().tobytes()).hexdigest()[:16],
    }
    return found | ({"mean": tensor.double().mean().item()} if tensor.is_floating_point() else {})


class Case(NamedTuple):
    """A pair of logs. `stage`: the one that is to be named; empty where nothing is wrong."""

    kind: str
    fault: str
    stage: str
    baseline: Path
    candidate: Path


def small(asked: argparse.Namespace, draw: random.Random, made: Path) -> Iterator[Case]:
    planted: list[str] = []
    kinds = HALF if asked.half else KINDS
    while len(planted) < asked.faults:
        planted += draw.sample(sorted(FAULTS), len(FAULTS))
    for number, fault in enumerate(planted[: asked.faults]):
        kind, seed, folder = draw.choice(kinds), draw.randrange(1000), made / f"fault{number}"
        train(folder / "a", kind, (seed, seed, seed), asked)
        train(folder / "b", kind, (seed, seed, seed), asked, fault, other=True)
        yield Case(kind, fault, FAULTS[fault], folder / "a", folder / "b")
    for number in range(asked.healthy + asked.same):
        kind, seed, folder = draw.choice(kinds), draw.randrange(1000), made / f"healthy{number}"
        tells = number % 2 == 0  # every second pair says which seed it has
        seeds = [(one if tells else None, one, one) for one in (seed, seed + 1 if number < asked.healthy else seed)]
        train(folder / "a", kind, seeds[0], asked)
        train(folder / "b", kind, seeds[1], asked, other=True)
        yield Case(kind, "same seed" if seeds[0] == seeds[1] else "another seed", "", folder / "a", folder / "b")


class Pairing(NamedTuple):
    """Of programs for CUDA: what is recorded of it, and beside what."""

    kind: str
    fault: str
    stage: str
    candidate: str  # the text, with its fault
    seeds: tuple[int, int]
    tells: bool


def pairings(asked: argparse.Namespace, draw: random.Random, texts: dict[str, str]) -> Iterator[Pairing]:
    import planted

    for fault, kind, text in planted.drawn(draw, asked.faults):
        seed, tells = draw.randrange(1000), draw.random() < 0.5
        yield Pairing(kind, fault, planted.FAULTS[fault][0], text, (seed, seed), tells)
    names = draw.sample(sorted(texts), len(texts))
    for number in range(asked.healthy + asked.same):
        kind, seed, tells = names[number % len(names)], draw.randrange(1000), number % 2 == 0
        other = seed + 1 if number < asked.healthy else seed
        fault = "same seed" if seed == other else "another seed"
        yield Pairing(kind, fault, "", texts[kind], (seed, other), tells)


def ported(asked: argparse.Namespace, draw: random.Random, made: Path) -> Iterator[Case]:
    import planted

    runs, texts = planted.Runs(made), planted.kinds()
    for number, one in enumerate(pairings(asked, draw, texts)):
        seed, other = one.seeds
        if asked.baselines is None:
            baseline = runs.baseline(texts[one.kind], seed, one.tells)
        elif not (baseline := asked.baselines / str(number)).is_dir():
            print(f"left out: {one.kind}, {one.fault}: no baseline")
            continue
        yield Case(one.kind, one.fault, one.stage, baseline, runs.candidate(one.candidate, other, one.tells))


def record(asked: argparse.Namespace, draw: random.Random, made: Path) -> None:
    """The baselines of a draw, where a GPU is; those of several ranks need as many."""
    import planted

    runs, texts = planted.Runs(made), planted.kinds()
    for number, one in enumerate(pairings(asked, draw, texts)):
        if planted.ranks(texts[one.kind]) <= torch.cuda.device_count():
            log = runs.baseline(texts[one.kind], one.seeds[0], one.tells)
            shutil.copytree(log, asked.record / str(number))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=12)
    parser.add_argument("--healthy", type=int, default=6)
    parser.add_argument("--same", type=int, default=3)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--devices", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--virtual-npu", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the programs and their logs")
    parser.add_argument("--record", type=Path, help="a new folder")
    parser.add_argument("--baselines", type=Path, help="what --record made with the same seed and numbers")
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    torch.set_num_threads(1)
    right = wrong = blamed = faults = healthy = 0
    with tempfile.TemporaryDirectory() as temporary:
        made = asked.keep or Path(temporary)
        made.mkdir(parents=True, exist_ok=True)
        if asked.record:
            record(asked, draw, made)
            return
        for case in (ported if asked.virtual_npu else small)(asked, draw, made):
            found = judge(Pair(read(str(case.baseline)), read(str(case.candidate))))
            told = found.stage or f"not enough evidence: {found.reason} {' or '.join(found.suspects)}"
            if case.stage:
                faults += 1
                ok = found.stage == case.stage
                right, wrong = right + ok, wrong + bool(found.stage and not ok)
                mark = "right" if ok else "WRONG" if found.stage else "open"
            else:
                healthy += 1
                blamed += bool(found.stage)
                mark, told = "BLAMED" if found.stage else "fine", found.stage or found.reason
            print(f"{mark:6} {case.kind:12} {case.fault:30} {told}", flush=True)
    print(f"{right} of {faults} stages named, {wrong} wrong; {blamed} of {healthy} healthy runs blamed")


if __name__ == "__main__":
    main()
