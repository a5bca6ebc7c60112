"""Does `porter compare --dumps` name the module of a planted fault? Real dumps of msProbe, of a small decoder or a small convolutional net with one module wrong.

    python benchmarks/dumps.py --python PYTHON                  # 20 faults in two models, at L0, mix, L1 and with tensors; pairs without a fault
    python benchmarks/dumps.py --python PYTHON --only tanh,eps  # some
    python benchmarks/dumps.py --python PYTHON --cpu            # without a virtual NPU: both sides on the CPU

PYTHON has torch, mindstudio-probe (which needs beside it: einops matplotlib openpyxl pandas psutil pytz pyyaml skl2onnx tensorboard tqdm
wheel) and what `porter verify --setup --python PYTHON` makes. benchmarks/dumped.py is one side. The candidate runs on the virtual
NPU. The baseline runs on the CPU and sums in double, so that the sides differ by rounding, as two devices do; the virtual NPU
alone would give the CPU's numbers bit for bit. compare gets two folders and nothing else. `--keep DIR` keeps the dumps, and uses those there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from porter.verify import install, interpreter

LAYER = "layers.1"
# the fault: the module, and the operators of L1 that it may be told by
FAULTS = {
    "weight": (f"{LAYER}.expanded.up", ["Functional.linear.10.forward"]),
    "dtype": (f"{LAYER}.attention.v", ["Functional.linear.8.forward"]),
    "tanh": (f"{LAYER}.expanded.act", ["Functional.gelu.1.forward"]),
    "eps": ("norm", ["Functional.layer_norm.3.forward"]),
    "rms eps": (f"{LAYER}.second", ["Tensor.__add__.5.forward"]),
    "dropout": (f"{LAYER}.drop", ["Functional.dropout.1.forward"]),
    "scale": (f"{LAYER}.attention", ["Tensor.__mul__.3.forward"]),
    "mask": (f"{LAYER}.attention", ["Torch.softmax.1.forward"]),
    "backward": (f"{LAYER}.expanded.down", ["Functional.gelu.1.backward"]),
    "zeros": (f"{LAYER}.expanded.down", ["Functional.dropout.1.forward"]),
    "transposed": (f"{LAYER}.attention.q", ["Functional.linear.6.forward"]),
    "residual": (LAYER, ["Functional.layer_norm.2.forward"]),
    "no bias": ("head", ["Functional.linear.18.forward"]),
}
STAGE = "stages.1"
OF_CONVOLUTIONS = {
    "conv weight": f"{STAGE}.conv", "bn eval": f"{STAGE}.norm", "bn eps": f"{STAGE}.norm", "act": f"{STAGE}.act", "pool": "pool",
    "padding": f"{STAGE}.conv", "conv backward": f"{STAGE}.conv",
}  # fmt: skip
VIEWS = {
    "L0": ["--level", "L0"], "tensors": ["--level", "L0", "--task", "tensor"], "mix": ["--level", "mix"], "L1": ["--level", "L1"],
}  # fmt: skip
PRECISIONS = {"": [], "bf16": ["--dtype", "bfloat16"], "autocast": ["--autocast"]}


class Case(NamedTuple):
    name: str
    baseline: list[str]
    candidate: list[str]
    reasons: tuple[str, ...]  # that are right
    modules: tuple[str, ...] = ()  # any of these names, where a module is to be named
    is_fault: bool = False


def cases() -> Iterator[Case]:
    for fault, (module, operators) in FAULTS.items():
        for view, words in VIEWS.items():
            names = (module,) if view != "L1" else tuple(operators)
            yield Case(f"{fault}, {view}", words, [*words, "--fault", fault], (), names, True)
    for fault in ("scale", "zeros", "mask", "residual", "transposed"):
        words = ["--level", "L0", "--dtype", "bfloat16"]
        yield Case(f"{fault}, bf16", words, [*words, "--fault", fault], (), (FAULTS[fault][0],), True)
    quiet = ("equal", "rounding")
    for view in ("L0", "mix"):
        words = [*VIEWS[view], "--model", "convolutions"]
        for fault, module in OF_CONVOLUTIONS.items():
            yield Case(f"{fault}, convolutions, {view}", words, [*words, "--fault", fault], (), (module,), True)
        for more in ([], ["--dtype", "bfloat16"]):
            yield Case(f"no fault, convolutions, {view} {' '.join(more)}", [*words, *more], [*words, *more], quiet)
        yield Case(f"other seed, convolutions, {view}", words, [*words, "--seed", "2"], ("seed",))
    for view, words in VIEWS.items():
        yield Case(f"no fault, {view}", words, words, quiet)
        yield Case(f"other seed, {view}", words, [*words, "--seed", "2"], ("seed",))
        yield Case(f"bf16 against float32, {view}", words, [*words, "--dtype", "bfloat16"], quiet)
        yield Case(f"autocast against float32, {view}", words, [*words, "--autocast"], quiet)
        yield Case(f"bf16 in both, {view}", [*words, "--dtype", "bfloat16"], [*words, "--dtype", "bfloat16"], quiet)
        yield Case(f"autocast in both, {view}", [*words, "--autocast"], [*words, "--autocast"], quiet)
        yield Case(f"TF32, {view}", [*words, "--bits", "10"], words, ("reduced",))
        yield Case(f"other data, {view}", words, [*words, "--fault", "data"], ("data", "lookup"))
        yield Case(
            f"dropout in both, {view}",
            [*words, "--fault", "dropout in both"],
            [*words, "--fault", "dropout in both"],
            ("random",),
        )
        if view in ("L0", "tensors"):
            yield Case(f"loss scale, {view}", words, [*words, "--fault", "loss scale"], ("scaled",))
        else:
            names = ("Tensor.__mul__.9.forward",)
            yield Case(f"loss scale, {view}", words, [*words, "--fault", "loss scale"], (), names, True)
        yield Case(f"ends early, {view}", words, [*words, "--stop", "1"], ("ends",))
    for view in ("mix", "L1"):
        words = VIEWS[view]
        yield Case(f"fused RMSNorm, {view}", words, [*words, "--fused"], quiet)
        names = ("Functional.cross_entropy.0.forward",)
        yield Case(f"label smoothing, {view}", words, [*words, "--fault", "label smoothing"], (), names, True)
    steps = ["--level", "L0", "--steps", "4"]
    yield Case("beta2, four steps", steps, [*steps, "--fault", "beta2"], ("update",))
    yield Case("no fault, four steps", steps, steps, quiet)
    md5 = ["--level", "L0", "--mode", "md5"]
    yield Case("md5", md5, md5, quiet)
    yield Case("md5, the same device", [*md5, "--exact"], md5, ("equal",))
    yield Case("deep, no fault", ["--layers", "24"], ["--layers", "24"], quiet)
    yield Case(
        "deep, bf16", ["--layers", "24", "--dtype", "bfloat16"], ["--layers", "24", "--dtype", "bfloat16"], quiet
    )


class Makers:
    """Dumps, each made once."""

    def __init__(self, python: str, folder: Path, cpu: bool) -> None:
        self.ours = interpreter.ask(python)
        self.npu = [] if cpu else ["--npu"]
        self.folder = folder
        kept = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.environments = [
            kept,
            kept if cpu else {**kept, **install.environment(install.find(self.ours)), "VIRTUAL_NPU_DEVICES": "1"},
        ]

    def place(self, words: list[str], is_candidate: bool) -> Path:
        return self.folder / "_".join(word.strip("-").replace(" ", "-") for word in self._words(words, is_candidate))

    def _words(self, words: list[str], is_candidate: bool) -> list[str]:
        return [*words, *((self.npu or ["--exact"]) if is_candidate else [])]

    def make(self, wanted: list[list[str]], is_candidate: bool) -> None:
        """In one process, which forks: importing torch takes longer than the rest."""
        places = {self.place(words, is_candidate): self._words(words, is_candidate) for words in wanted}
        runs = [[str(place), *words] for place, words in places.items() if not (place / "whole").exists()]
        for place, *_ in runs:
            shutil.rmtree(place, ignore_errors=True)
        if not runs:
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(runs, file)
            file.flush()
            command = [self.ours.path, "-W", "ignore", str(HERE / "dumped.py"), "--many", file.name]
            done = subprocess.run(command, env=self.environments[is_candidate], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
        for place, *_ in runs:
            (Path(place) / "whole").touch()


def compared(one: Path, other: Path) -> dict:
    command = [sys.executable, "-m", "porter", "compare", "--dumps", str(one), str(other), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(HERE.parent)})
    if done.returncode not in (0, 1, 4):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def judged(case: Case, found: dict) -> str:
    """`right`, `open` (no module is named, and one is to be), or `wrong`."""
    place = found["place"] or {}
    names = (place.get("module"), place.get("baseline"))
    if not case.is_fault:
        return "right" if found["reason"] in case.reasons else "wrong" if found["is_at_fault"] else "open"
    if found["outcome"] == "difference" and any(name in names for name in case.modules):
        return "right"
    return "wrong" if found["is_at_fault"] else "open"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", help="the beginnings of names of cases, with commas")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--make", action="store_true", help="only make the dumps")
    asked = parser.parse_args()
    only = tuple(asked.only.split(",")) if asked.only else ("",)
    counts: dict[tuple[bool, str], int] = {}
    with tempfile.TemporaryDirectory() as temporary:
        makers = Makers(asked.python, asked.keep or Path(temporary), asked.cpu)
        chosen = [case for case in cases() if case.name.startswith(only)]
        makers.make([case.baseline for case in chosen], False)
        makers.make([case.candidate for case in chosen], True)
        for case in [] if asked.make else chosen:
            found = compared(makers.place(case.baseline, False), makers.place(case.candidate, True))
            answer = judged(case, found)
            counts[case.is_fault, answer] = counts.get((case.is_fault, answer), 0) + 1
            place = (found["place"] or {}).get("baseline") or "-"
            print(f"{answer:6} {case.name:34} {found['outcome']:10} {found['reason']:9} {place}", flush=True)
    for is_fault, title in ((True, "a fault in one module"), (False, "no module at fault")):
        row = {answer: counts.get((is_fault, answer), 0) for answer in ("right", "open", "wrong")}
        print(f"{title}: {sum(row.values())}, " + ", ".join(f"{answer} {n}" for answer, n in row.items()))


if __name__ == "__main__":
    main()
