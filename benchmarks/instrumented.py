"""Does a training run as before once `porter instrument` has put its lines in, and is its log right?

    python benchmarks/instrumented.py REPOSITORY SCRIPT [--python PYTHON] [--path DIR]... [--folder DIR] [--seconds 600] -- the script's words
    python benchmarks/instrumented.py --count      # what benchmarks/ledgers/instrumented.jsonl says

The script runs as it is and with porter's lines, in two copies of the repository. A witness that shares no code with the
recorder is loaded into both (a `sitecustomize`): it writes down the value of every backward pass, and at every step of an
optimiser the norm of its gradients, and the one that they had before they were clipped. The witness sets all seeds, so that
both runs are one. What has to hold: both end alike and print the same (but for times and speeds, which are left out, and
lines of the recorder), the passes, norms and learning rates of both are the same bits, the recorder's steps, losses, norms
(before clipping and after it) and learning rates are those of the witness, and `--remove` gives the old bytes. `--path DIR`
goes into PYTHONPATH; a module `stand_in` in it is imported first, to put made-up data or weights where the script would fetch
some.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import one_script

LEDGER = Path(__file__).with_name("ledgers") / "instrumented.jsonl"
# of no two runs the same: times of day, durations, speeds, and numbers of processes and places in memory
TIMES = re.compile(
    r"\d[\d.]* ?(?:it/s|s/it|examples/s|ms|secs?|seconds|s)\b|\d*:?\d+:\d\d(?:[.,]\d+)?|0x[0-9a-f]+|\b\d{5,}\.\d+|[?]it/s|\d{8}_\d{6}"
    r"|(?i:time|runtime|second|sps|speed|eta|memory)\W{0,4}[\d.]+(?:e-?\d+)?"
)
WITNESS = '''
import json, os, random, sys

def _watch():
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
    out = open(os.environ["WITNESS"] + f".{os.getpid()}", "w")
    state = {"norm": None}
    def put(**row):
        out.write(json.dumps(row) + "\\n")
        out.flush()
    backward = torch.autograd.backward
    def told(tensors, *args, **kwargs):
        one = tensors if isinstance(tensors, torch.Tensor) else tensors[0]
        put(kind="pass", loss=one.detach().double().mean().item())
        return backward(tensors, *args, **kwargs)
    torch.autograd.backward = told
    def clipping(function):
        def clip(parameters, *args, **kwargs):
            parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
            if state["norm"] is None:
                state["norm"] = norm(parameters)
            return function(parameters, *args, **kwargs)
        return clip
    def norm(parameters):
        found = [p.grad.detach().double().norm().item() for p in parameters if p.grad is not None]
        return sum(n * n for n in found) ** 0.5
    utils = torch.nn.utils
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        made = clipping(getattr(utils, name))
        setattr(utils, name, made)
        setattr(utils.clip_grad, name, made)
    def stepping(optimizer):
        moved = [p for group in optimizer.param_groups for p in group["params"]]
        lr = float(optimizer.param_groups[0]["lr"])
        reaching = norm(moved)
        was = reaching if state["norm"] is None else state["norm"]
        put(kind="step", norm=was, update=reaching, lr=lr, optimizer=id(optimizer))
        state["norm"] = None
    def before(optimizer, args, kwargs):
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            stepping(optimizer)
            return None
        def evaluated():  # its gradients are there once it has run
            value = closure()
            stepping(optimizer)
            return value
        if len(args) > 1:
            return (args[0], evaluated, *args[2:]), kwargs
        return args, {**kwargs, "closure": evaluated}
    register_optimizer_step_pre_hook(before)
    enough = int(os.environ.get("WITNESS_STEPS") or 0)
    def after(optimizer, args, kwargs):
        state["steps"] = state.get("steps", 0) + 1
        if state["steps"] == enough:
            sys.exit(0)
    register_optimizer_step_post_hook(after)
    if os.environ.get("WITNESS_SURE"):
        torch.use_deterministic_algorithms(True, warn_only=True)
    random.seed(1)
    torch.manual_seed(1)
    try:
        import numpy
        numpy.random.seed(1)
    except ImportError:
        pass

class _Finder:
    """Behind the import of torch, once."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self not in sys.meta_path:
            return None
        import importlib.util
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        sys.meta_path.insert(0, self)  # who asks for a spec does not always import
        load = spec.loader.exec_module
        def exec_module(module):
            sys.meta_path.remove(self)
            load(module)
            _watch()
        spec.loader.exec_module = exec_module
        return spec

if os.environ.get("WITNESS"):
    sys.meta_path.insert(0, _Finder())
    try:
        import stand_in
    except ImportError:
        pass
'''


def main() -> None:
    parser = one_script.parser(__doc__, 600)
    parser.add_argument("--path", action="append", default=[], type=Path)
    asked = one_script.asked(parser)
    if asked.count:
        _count()
        return
    with one_script.place(asked.keep) as place:
        for name in ("bare", "recorded"):
            shutil.copytree(asked.repository, place / name, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        (place / "witness").mkdir()
        (place / "witness" / "sitecustomize.py").write_text(WITNESS, encoding="utf-8")
        _check(asked, place)


def _check(asked: argparse.Namespace, place: Path) -> None:
    before = _bytes(place / "recorded")
    said = _porter(asked, place, asked.script, "--loss-log", str(place / "log.jsonl"), "--norms", "all", "--inplace")
    _run(asked, place, "bare")
    _run(asked, place, "recorded")
    _porter(asked, place, ".", "--remove", "--inplace")
    after = {name: data for name, data in _bytes(place / "recorded").items() if name in before or name.endswith(".py")}
    bare, recorded = _witnessed(place / "bare"), _witnessed(place / "recorded")
    log = [
        json.loads(line) for path in sorted(place.glob("log*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    steps = [row for row in log if row["kind"] == "step"]
    print(said)
    print(f"witness: {_shown(bare)}; with porter's lines: {_shown(recorded)}; the same bits: {_alike(bare, recorded)}")
    print(f"recorder: {len(steps)} steps, {dict(Counter(row['kind'] for row in log))}")
    print("losses, norms and learning rates:", _right(steps, recorded))
    print("norms that reach an optimiser:", _updated([row for row in log if row["kind"] == "update"], recorded))
    print("printed:", _printed(place))
    print("removed to the byte:", {name: after.get(name) for name in before} == before)


def _bytes(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*.py") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _porter(asked: argparse.Namespace, place: Path, *words: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PORTER_STATE_DIR": str(place / "state")}
    command = [sys.executable, "-m", "porter", "instrument", *words]
    done = subprocess.run(command, cwd=place / "recorded", env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"porter instrument ended with {done.returncode}: {done.stderr}")
    return done.stderr


def _run(asked: argparse.Namespace, place: Path, name: str) -> None:
    path = [place / "witness", *asked.path, place / name, place / name / "src"]
    env = {
        **os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "WITNESS": str(place / f"{name}.witness"), "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
    }  # fmt: skip
    with (place / f"{name}.out").open("wb") as output:
        try:
            done = subprocess.run(
                [asked.python, *([] if asked.script.endswith(".py") else ["-m"]), os.path.relpath(asked.script, asked.folder), *asked.words],
                cwd=place / name / asked.folder, env=env, stdout=output, stderr=subprocess.STDOUT, timeout=asked.seconds,
            )  # fmt: skip
            code: int | None = done.returncode
        except subprocess.TimeoutExpired:
            code = None
    tail = (place / f"{name}.out").read_text("utf-8", "replace").splitlines()[-3:]
    print(f"{name}: exit {code}: {' | '.join(tail)[-300:]}", flush=True)


def _witnessed(at: Path) -> list[dict]:
    rows = []
    for path in sorted(at.parent.glob(f"{at.name}.witness.*"), key=lambda path: int(path.suffix[1:])):
        rows += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return rows


def _alike(bare: list[dict], recorded: list[dict]) -> str:
    """Of runs that were ended by the clock, as far as both came."""
    pairs = list(zip(_plain(bare), _plain(recorded)))
    same = next((n for n, (one, other) in enumerate(pairs) if one != other), len(pairs))
    return f"{same} of {max(len(bare), len(recorded))} passes and steps"


def _plain(rows: list[dict]) -> list[tuple]:
    return [(row["kind"], row.get("loss"), row.get("norm"), row.get("update"), row.get("lr")) for row in rows]


def _printed(place: Path) -> str:
    """What both said, without what no two runs have in common."""
    bare, recorded = (_said(place, name) for name in ("bare", "recorded"))
    pairs = zip(bare, recorded)
    other = next((f"; {one!r} became {two!r}" for one, two in pairs if one != two), "")
    return f"the same {len(bare)} lines" if bare == recorded else f"{len(bare)} lines and {len(recorded)}{other}"


def _said(place: Path, name: str) -> list[str]:
    text = (place / f"{name}.out").read_text("utf-8", "replace").replace(str(place / name), "HERE")
    lines = (TIMES.sub("TIME", line).strip() for line in re.split(r"[\r\n]+", text))
    # a bar is drawn as often as there is time for it
    return [line for line in lines if line and not re.search(r"%\|", line)]


def _shown(rows: list[dict]) -> str:
    kinds = Counter(row["kind"] for row in rows)
    optimisers = len({row["optimizer"] for row in rows if row["kind"] == "step"})
    return f"{kinds['pass']} passes, {kinds['step']} steps of {optimisers} optimisers"


def _right(steps: list[dict], rows: list[dict]) -> str:
    """Of each recorded step: its loss is the mean or the sum of passes of one step of the witness, its norm is the norm there."""
    taken: list[tuple[list[float], float, float]] = []
    passes: list[float] = []
    for row in rows:
        if row["kind"] == "pass":
            passes.append(row["loss"])
        else:
            taken.append((passes, row["norm"], row["lr"]))
            passes = []
    at = losses = norms = rates = 0
    for step in steps:
        while at < len(taken) and not _is_of(step, *taken[at][:2]):
            at += 1
        if at < len(taken):
            losses += 1
            norms += _near(step.get("grad_norm"), taken[at][1])
            rates += _near(step.get("lr"), taken[at][2])
            at += 1
    return f"{losses} of {len(steps)} losses, {norms} norms, {rates} learning rates, in the order of {len(taken)} steps"


def _updated(updates: list[dict], rows: list[dict]) -> str:
    """Where a step has two optimisers, the recorder may know one of them."""
    reached = iter([row["update"] for row in rows if row["kind"] == "step"])
    right = sum(any(_near(update["grad_norm"], norm) for norm in reached) for update in updates)
    return f"{right} of {len(updates)} records, in the order of {sum(row['kind'] == 'step' for row in rows)} steps"


def _is_of(step: dict, passes: list[float], norm: float) -> bool:
    loss = step.get("loss")
    candidates = [*passes, sum(passes), sum(passes) / max(1, len(passes))]
    return any(_near(loss, one) for one in candidates) or loss is None and _near(step.get("grad_norm"), norm)


def _near(one: float | str | None, other: float) -> bool:
    if one is None or isinstance(one, str):
        return one is not None and not math.isfinite(other)
    return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-9)


def _count() -> None:
    rows = [json.loads(line) for line in LEDGER.read_text("utf-8").splitlines()]
    for key in ("found", "ran", "removed"):
        print(f"{key}: {dict(Counter(row[key] for row in rows))}")
    tried = [row for row in rows if row["draw"] == "run"]
    for key in ("same", "log"):
        print(
            f"of the {len(tried)} that were drawn to be run, {key}: {dict(Counter(row.get(key, 'not yet') for row in tried))}"
        )
    print(
        "by framework:",
        {
            k: f"{sum(r.get('log') == 'right' == r.get('same').replace('yes', 'right') and r['removed'] == 'yes' for r in tried if r['framework'] == k)} of {n}"
            for k, n in Counter(r["framework"] for r in tried).items()
        },
    )


if __name__ == "__main__":
    main()
