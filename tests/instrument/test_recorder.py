"""What is recorded when a program runs: its own losses stay the same, and two runs with one seed are one."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Porter, write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_torch")]
TIMINGS = ("seconds", "samples_per_second")
HEAD = """\
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.{optimizer}
loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,))), batch_size=8, shuffle={shuffle})
"""
PLAIN = (
    HEAD.format(optimizer="AdamW(model.parameters(), lr=0.1)", shuffle="True")
    + """\
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        print(loss.item())
"""
)
ACCUMULATES = (
    HEAD.format(optimizer="SGD(model.parameters(), lr=0.1)", shuffle="False")
    + """\
for step, (x, y) in enumerate(loader):
    loss = nn.functional.cross_entropy(model(x), y) / 2
    loss.backward()
    print(loss.item())
    if step % 2:
        optimizer.step()
        optimizer.zero_grad()
"""
)
CLOSURE = (
    HEAD.format(optimizer="LBFGS(model.parameters(), max_iter=3)", shuffle="False")
    + """\
for x, y in loader:
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        print(loss.item())
        return loss
    optimizer.step(closure)
"""
)


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def run(python_with_torch: str) -> Run:
    def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
        command = [python_with_torch, "train.py", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def of(kind: str, rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["kind"] == kind]


def recorded(run: Run, folder: Path) -> tuple[list[float], list[dict]]:
    """The numbers that it prints, and its records."""
    done = run(folder)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [float(line) for line in done.stdout.split()], records(folder / "log.jsonl")


@pytest.fixture
def put_in(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    monkeypatch.setenv("PORTER_STATE_DIR", str(tmp_path / "state"))
    porter = Porter(monkeypatch, tmp_path / "r")

    def put_in(text: str, *options: str) -> Path:
        write(porter.folder, {"train.py": text})
        answer = porter("instrument", "train.py", *options, "--inplace")
        assert answer.code == 0, answer.err
        return porter.folder

    return put_in


@pytest.mark.parametrize("text", [PLAIN, ACCUMULATES, CLOSURE], ids=["plain", "accumulates", "closure"])
def test_the_programs_own_losses_stay_the_same(run: Run, tmp_path, put_in, text: str) -> None:
    write(tmp_path / "bare", {"train.py": text})
    bare = run(tmp_path / "bare")
    assert bare.returncode == 0, bare.stderr
    folder = put_in(text, "--loss-log", "log.jsonl", "--norms", "all")
    recorded = run(folder)
    assert recorded.stdout == bare.stdout and not recorded.stderr
    printed = [float(line) for line in bare.stdout.split()]
    steps = of("step", records(folder / "log.jsonl"))
    each = 2 if text is ACCUMULATES else 1
    losses = [sum(printed[n : n + each]) for n in range(0, len(printed), each)]  # it divides each by their number
    assert [row["loss"] for row in steps] == pytest.approx(losses, rel=1e-6)
    assert [row["step"] for row in steps] == [*range(1, len(losses) + 1)]


def test_the_records_say_what_the_run_is(run: Run, put_in) -> None:
    folder = put_in(PLAIN, "--baseline", "base", "--save-gradients")
    done = run(folder, "--lr", "0.1", "--hub-token", "abc", HCCL_TEST="1", HOME_SECRET="x")
    assert done.returncode == 0 and not done.stderr, done.stderr
    rows = records(folder / "base" / "run1.jsonl")
    header, weights, optimizer, modules = rows[:4]
    assert [row["kind"] for row in rows[:4]] == ["run", "weights", "optimizer", "modules"]
    assert (header["format"], header["rank"], header["ranks"], header["device"], header["seed"]) == (
        1,
        0,
        1,
        "cpu",
        1234,
    )
    assert header["arguments"] == ["--lr", "0.1", "--hub-token", "***"] and header["program"] == "train.py"
    assert header["determinism"]["deterministic_algorithms"] and not header["determinism"]["cudnn_benchmark"]
    assert header["environment"]["HCCL_DETERMINISTIC"] == "true" and header["environment"]["HCCL_TEST"] == "1"
    assert "HOME_SECRET" not in header["environment"] and header["versions"].keys() >= {"numpy"}
    assert weights["parameters"].keys() == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert (
        weights["parameters"]["0.weight"]["shape"] == [8, 4] and weights["parameters"]["0.bias"]["dtype"] == "float32"
    )
    assert (
        optimizer["name"] == "AdamW"
        and optimizer["groups"][0]["lr"] == 0.1
        and optimizer["groups"][0]["parameters"] == 4
    )
    assert modules == {"kind": "modules", "training": True, "dropout": {"1": 0.1}}
    assert of("modules", rows)[1:] == [{**modules, "autocast": None}]  # what the second forward pass showed
    batches, steps = of("batch", rows), of("step", rows)
    assert [row["step"] for row in batches] == [*range(1, 9)] and len(steps) == 8
    assert [part["path"] for part in batches[0]["inputs"]] == ["0", "1"]
    assert batches[0]["inputs"][0].keys() == {"path", "shape", "dtype", "hash", "mean"}
    [norms] = of("norms", rows)
    total = math.sqrt(sum(norm**2 for norm in norms["gradients"].values()))
    assert norms["step"] == 1 and steps[0]["grad_norm"] == pytest.approx(total) and total > 0.1  # before it was clipped
    assert rows[-1] == {"kind": "end", "steps": 8}
    assert (folder / "base" / "run1.gradients.pt").is_file()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast_is_seen_in_the_forward_pass(run: Run, put_in, dtype: str) -> None:
    forward = "loss = nn.functional.cross_entropy(model(x), y)"
    inside = f"with torch.autocast('cpu', torch.{dtype}):\n            out = model(x)\n        "
    folder = put_in(
        PLAIN.replace(forward, inside + forward.replace("model(x)", "out.float()")), "--loss-log", "log.jsonl"
    )
    done = run(folder)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert of("modules", records(folder / "log.jsonl"))[-1]["autocast"] == dtype


def test_a_mark_tells_another_order_and_other_signs(run: Run, put_in) -> None:
    text = PLAIN.replace("optimizer =", "exec(sys.argv[1]) if sys.argv[1:] else None\noptimizer =", 1)
    folder = put_in(text, "--loss-log", "log.jsonl", "--norms", "1")
    runs = []
    for change in (
        "",
        "model[0].weight.data = model[0].weight.data.flip(0)",
        "model[0].weight.register_hook(torch.neg)",
    ):
        assert run(folder, *([change] if change else [])).returncode == 0
        rows = records(folder / "log.jsonl")
        runs.append((of("weights", rows)[0]["parameters"]["0.weight"], *of("norms", rows)))
    (weight, norms), (flipped, _), (_, negated) = runs
    assert (
        flipped["norm"] == pytest.approx(weight["norm"])
        and abs(flipped["mark"] - weight["mark"]) > 0.1 * weight["norm"]
    )
    assert negated["gradients"] == norms["gradients"]
    assert negated["marks"]["0.weight"] == -norms["marks"]["0.weight"] and norms["marks"]["0.weight"]
    assert negated["marks"]["2.weight"] == norms["marks"]["2.weight"]


@pytest.mark.parametrize("unscales", [True, False])
def test_what_reaches_the_optimiser(run: Run, put_in, unscales: bool) -> None:
    """Clipped to 0.1; or, where the loss is still scaled then, to a part of it."""
    text = PLAIN.replace("loss.backward()", "scaler.scale(loss).backward()").replace("for epoch in range(2)", SCALED)
    text = text.replace("optimizer.step()", "scaler.step(optimizer)\n        scaler.update()")
    clip = "nn.utils.clip_grad_norm_"
    text = text if not unscales else text.replace(clip, f"scaler.unscale_(optimizer)\n        {clip}")
    rows = norms_of_updates(run, put_in(text, "--loss-log", "log.jsonl"))
    assert [row["step"] for row in rows] == [*range(1, 11)] and {row["values"] for row in rows} == {58}
    assert [row["grad_norm"] for row in rows] == pytest.approx([0.1 if unscales else 0.1 / 1024] * 10, rel=1e-4)


SCALED = "scaler = torch.amp.GradScaler('cpu', init_scale=1024.0)\nfor epoch in range(3)"


def norms_of_updates(run: Run, folder: Path) -> list[dict]:
    return of("update", recorded(run, folder)[1])


def test_what_reaches_the_optimiser_within_its_closure(run: Run, put_in) -> None:
    text = CLOSURE.replace("LBFGS(model.parameters(), max_iter=3)", "AdamW(model.parameters(), lr=0.1)")
    text = text.replace("print(loss.item())", "nn.utils.clip_grad_norm_(model.parameters(), 0.1)")
    rows = norms_of_updates(run, put_in(text, "--loss-log", "log.jsonl"))
    assert [row["grad_norm"] for row in rows] == pytest.approx([0.1] * 4, rel=1e-4)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]


def test_of_a_closure_that_runs_often_nothing_is_told(run: Run, put_in) -> None:
    assert not norms_of_updates(run, put_in(CLOSURE, "--loss-log", "log.jsonl"))


def test_weights_of_complex_numbers(run: Run, put_in) -> None:
    """As layers have that learn in the frequencies."""
    text = PLAIN.replace("optimizer = ", COMPLEX + "optimizer = ", 1)
    folder = put_in(text, "--loss-log", "log.jsonl", "--norms", "all")
    updates = norms_of_updates(run, folder)
    assert {row["values"] for row in updates} == {58 + 2 * 16}
    assert [row["grad_norm"] for row in updates] == pytest.approx([0.1] * 8, rel=1e-4)
    rows = records(folder / "log.jsonl")
    about = of("weights", rows)[0]["parameters"]["0.mixed"]
    assert (about["norm"], about["shape"], about["dtype"]) == (pytest.approx(5.0), [4, 4], "complex64")
    assert all(row["gradients"]["0.mixed"] > 0 and row["marks"]["0.mixed"] for row in of("norms", rows))
    assert rows[-1]["kind"] == "end"


COMPLEX = """\
class Spectral(nn.Linear):
    def forward(self, x):
        return super().forward((torch.fft.fft(x) @ self.mixed).real)
model[0] = Spectral(4, 8)
model[0].mixed = nn.Parameter(torch.full((4, 4), 0.75 + 1j))
"""


def test_as_many_batches_as_are_asked_for(run: Run, put_in) -> None:
    folder = put_in(PLAIN, "--loss-log", "log.jsonl", "--batches", "2")
    assert run(folder).returncode == 0
    assert [row["step"] for row in of("batch", records(folder / "log.jsonl"))] == [1, 2]


def test_each_pass_of_a_step_has_its_batch(run: Run, put_in) -> None:
    text = (
        HEAD.format(optimizer="SGD(model.parameters(), lr=0.1)", shuffle="False")
        + """\
batches = iter(loader)
for step in range(2):
    optimizer.zero_grad()
    for _ in range(2):
        x, y = next(batches)
        loss = nn.functional.cross_entropy(model(x), y) / 2
        loss.backward()
    optimizer.step()
"""
    )
    folder = put_in(text, "--loss-log", "log.jsonl")
    done = run(folder)
    assert done.returncode == 0 and not done.stderr, done.stderr
    seen = [
        (row["step"], *(part["path"] for part in row["inputs"])) for row in of("batch", records(folder / "log.jsonl"))
    ]
    assert seen == [(1, "0", "1"), (1, "0#2", "1#2"), (2, "0", "1"), (2, "0#2", "1#2")]
    assert [row["kind"] for row in records(folder / "log.jsonl")[:2]] == ["run", "weights"]


def test_two_runs_with_a_seed_are_one_but_for_their_times(run: Run, put_in) -> None:
    folder = put_in(PLAIN.replace("torch.manual_seed(0)\n", ""), "--baseline", "base")
    outputs = [run(folder).stdout for _ in range(2)]
    assert outputs[0] == outputs[1]
    runs = [records(folder / "base" / f"run{n}.jsonl") for n in (1, 2)]
    for row in [*runs[0], *runs[1]]:
        for name in TIMINGS:
            row.pop(name, None)
    assert runs[0] == runs[1]


def test_another_file_by_a_variable(run: Run, put_in) -> None:
    folder = put_in(PLAIN, "--loss-log", "log.jsonl")
    assert run(folder, PORTER_RECORD="other.jsonl").returncode == 0
    assert (folder / "other.jsonl").is_file() and not (folder / "log.jsonl").exists()


def test_learning_rates_of_zero_move_no_weight(run: Run, put_in) -> None:
    text = PLAIN + "print('norm', sum(p.double().norm() for p in model.parameters()).item())\n"
    folder = put_in(text, "--loss-log", "log.jsonl", "--lr-zero")
    done = run(folder)
    rows = records(folder / "log.jsonl")
    [weights] = of("weights", rows)
    total = sum(row["norm"] for row in weights["parameters"].values())
    assert float(done.stdout.split("norm ")[1]) == pytest.approx(total, rel=1e-12)
    assert {row["lr"] for row in of("step", rows)} == {0.0}


def test_a_loss_that_is_no_number(run: Run, put_in) -> None:
    text = PLAIN.replace(
        "        optimizer.zero_grad()\n", "        loss = loss * float(sys.argv[1])\n        optimizer.zero_grad()\n"
    )
    folder = put_in(text, "--loss-log", "log.jsonl")
    assert run(folder, "nan").returncode == 0
    assert of("step", records(folder / "log.jsonl"))[0]["loss"] == "nan"


def test_a_failure_of_the_recorder_ends_the_record_and_not_the_training(run: Run, put_in) -> None:
    folder = put_in(PLAIN, "--loss-log", "log.jsonl")
    (folder / "log.jsonl").mkdir()
    done = run(folder)
    assert done.returncode == 0 and len(done.stdout.split()) == 8
    assert done.stderr.count("porter_recorder: nothing more is recorded, the training goes on: ") == 1
    assert done.stderr.count("\n") == 1


def test_a_run_that_fails_has_no_end(run: Run, put_in) -> None:
    folder = put_in(PLAIN + "raise SystemError('device')\n", "--loss-log", "log.jsonl")
    assert run(folder).returncode == 1
    rows = records(folder / "log.jsonl")
    assert len(of("step", rows)) == 8 and not of("end", rows)


def test_each_rank_has_a_file(run: Run, put_in) -> None:
    folder = put_in(PLAIN, "--loss-log", "log.jsonl")
    for rank in ("0", "1"):
        assert run(folder, RANK=rank, WORLD_SIZE="2").returncode == 0
    headers = [records(folder / f"log.rank{rank}.jsonl")[0] for rank in (0, 1)]
    assert [(row["rank"], row["ranks"]) for row in headers] == [(0, 2), (1, 2)]


FRAMEWORK = """\
class Hook: pass
class TrainerCallback: pass
"""
RUNNER = """\
import torch
from {package} import Hook
from torch import nn

class Stepping:
    def __init__(self, optimizer, clip):
        self.optimizer, self.{clips} = optimizer, clip

    def after_train_iter(self, runner):
        runner.outputs["loss"].backward()
        self.{clips}(runner.model.parameters(), 0.01)
        self.optimizer.step()
        self.optimizer.zero_grad()

class Runner:
    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Linear(4, 2)
        step = Stepping(torch.optim.SGD(self.model.parameters(), lr=0.1), nn.utils.clip_grad_norm_)
        self.hooks, self.{holds} = [step], step if "{holds}" == "optim_wrapper" else step.optimizer

    def register_hook(self, hook, priority):
        self.hooks.append(hook)

    def {trains}(self):
        for step in range(3):
            for hook in self.hooks[1:]:
                hook.before_train_iter(self)
            self.outputs = {{"loss": self.model(torch.ones(2, 4)).square().mean()}}
            print(self.outputs["loss"].item())
            for hook in self.hooks:
                hook.after_train_iter(self)

runner = Runner()
runner.{trains}()
"""
TRAINER = """\
import torch
from torch import nn
from transformers import Trainer as Base

class Accelerator:
    def clip_grad_norm_(self, parameters, most):
        return nn.utils.clip_grad_norm_(parameters, most)

class Trainer(Base):
    def __init__(self):
        torch.manual_seed(0)
        self.model, self.accelerator, self.callbacks = nn.Linear(4, 2), Accelerator(), []
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def training_step(self, model, inputs):
        loss = model(inputs).square().mean()
        loss.backward()
        return loss.detach()

    def train(self):
        self.tell("on_train_begin")
        for step in range(2):
            self.tell("on_step_begin")
            self.training_step(self.model, torch.ones(2, 4))
            print(self.accelerator.clip_grad_norm_(self.model.parameters(), 0.01).item())
            self.tell("on_pre_optimizer_step")
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.tell("on_step_end")

    def tell(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(None, None, None, model=self.model, optimizer=self.optimizer)

trainer = Trainer()
for stage in range(2):
    trainer.train()
"""


LIGHTNING = """\
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import nn

class Net(LightningModule):
    automatic_optimization = False

    def fit(self, tell):
        torch.manual_seed(0)
        self.g, self.d = nn.Linear(4, 4), nn.Linear(4, 2)
        g, d = self.optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (self.g, self.d)]
        tell("on_train_start")
        for step in range(3):
            (self.d(self.g(torch.ones(2, 4))) ** 2).mean().backward()
            for optimizer in (g, d):
                print(nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1e9).item())
            self.clip_gradients(g, 0.01)
            if step < 2:
                tell("on_before_optimizer_step", g)
                g.step()
            self.clip_gradients(optimizer=d, gradient_clip_val=0.01)
            if step == 2:
                tell("on_before_optimizer_step", g)
                g.step()
            tell("on_before_optimizer_step", d)
            d.step()
            self.zero_grad()

trainer = Trainer()
trainer.fit(Net())
"""
LIGHTNING_PACKAGE = """\
from torch import nn

class Callback: pass

class LightningModule(nn.Module):
    def clip_gradients(self, optimizer, gradient_clip_val):
        nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], gradient_clip_val)

class Trainer:
    def __init__(self):
        self.callbacks = []

    def fit(self, module):
        def tell(event, *args):
            self.optimizers = module.optimizers
            for callback in self.callbacks:
                getattr(callback, event)(self, module, *args)
        module.fit(tell)
"""


def test_norms_of_a_module_that_clips_by_itself(run: Run, put_in) -> None:
    """They are those before clipping; where it clips both before either steps, those of the other are nobody's."""
    folder = put_in(LIGHTNING, "--loss-log", "log.jsonl", "--norms", "all")
    write(folder, {"lightning/__init__.py": "", "lightning/pytorch/__init__.py": LIGHTNING_PACKAGE})
    printed, rows = recorded(run, folder)
    norms = [row["grad_norm"] for row in of("step", rows)]
    assert norms[:4] == pytest.approx(printed[:4]) and min(printed) > 0.02
    assert norms[4:] == pytest.approx([0.01, 0.01], rel=1e-3)
    assert [row["grad_norm"] for row in of("update", rows)] == pytest.approx([0.01] * 6, rel=1e-3)


@pytest.mark.parametrize(
    ("package", "module", "names"),
    [
        ("mmengine", "mmengine.hooks", {"clips": "clip_func", "holds": "optim_wrapper", "trains": "train"}),
        ("mmcv", "mmcv.runner", {"clips": "clip_grads", "holds": "optimizer", "trains": "run"}),
    ],
)
def test_a_runners_norms_are_those_before_it_clips(
    run: Run, put_in, package: str, module: str, names: dict[str, str]
) -> None:
    """A runner of the framework's shape: where the record is made, the gradients are clipped, or gone."""
    folder = put_in(RUNNER.format(package=module, **names), "--loss-log", "log.jsonl", "--norms", "all")
    write(folder, {f"{package}/__init__.py": "", f"{module.replace('.', '/')}.py": FRAMEWORK})
    printed, rows = recorded(run, folder)
    steps, norms = of("step", rows), of("norms", rows)
    assert [row["loss"] for row in steps] == pytest.approx(printed) and len(steps) == 3
    totals = [sum(norm**2 for norm in row["gradients"].values()) for row in norms]
    assert [row["grad_norm"] ** 2 for row in steps] == pytest.approx(totals)
    assert min(row["grad_norm"] for row in steps) > 0.1  # clipped, they are 0.01
    assert [(row["step"], row["grad_norm"]) for row in of("update", rows)] == [
        (step, pytest.approx(0.01, rel=1e-4)) for step in (1, 2, 3)
    ]


def test_a_runner_that_accumulates(run: Run, put_in) -> None:
    """One step of its optimiser for two passes, as mmengine's wrapper counts them."""
    names = {"clips": "clip_func", "holds": "optim_wrapper", "trains": "train"}
    text = RUNNER.format(package="mmengine.hooks", **names).replace("range(3)", "range(4)")
    text = text.replace("        self.optimizer, self.", "        self._inner_count = 0\n        self.optimizer, self.")
    text = text.replace("        self.clip_func(", ACCUMULATING + "        self.clip_func(")
    text = text.replace("class Runner:", SHOULD_UPDATE + "class Runner:")
    folder = put_in(text, "--loss-log", "log.jsonl", "--norms", "all")
    write(folder, {"mmengine/__init__.py": "", "mmengine/hooks.py": FRAMEWORK})
    printed, rows = recorded(run, folder)
    means = [(printed[0] + printed[1]) / 2, (printed[2] + printed[3]) / 2]
    assert [row["loss"] for row in of("step", rows)] == pytest.approx(means)
    assert [row["step"] for row in of("update", rows)] == [row["step"] for row in of("norms", rows)] == [1, 2]


ACCUMULATING = """\
        self._inner_count += 1
        if not self.should_update():
            return
"""
SHOULD_UPDATE = """\
    def should_update(self):
        return self._inner_count % 2 == 0

"""


def test_a_trainer_that_trains_twice_is_recorded_once(run: Run, put_in) -> None:
    """A trainer of the framework's shape; the norm of each weight is that before clipping, as the whole norm is."""
    folder = put_in(TRAINER, "--loss-log", "log.jsonl", "--norms", "all")
    write(folder, {"transformers.py": FRAMEWORK + "class Trainer: pass\n"})
    printed, rows = recorded(run, folder)
    assert [row["grad_norm"] for row in of("step", rows)] == pytest.approx(printed) and len(printed) == 4
    wholes = [math.sqrt(sum(norm**2 for norm in row["gradients"].values())) for row in of("norms", rows)]
    assert wholes == pytest.approx(printed)


def test_the_profiler_writes_a_trace(run: Run, put_in) -> None:
    folder = put_in(PLAIN, "--profile", "prof")
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert [path for path in (folder / "prof").iterdir() if path.suffix == ".json"]


def test_the_recorder_is_python_3_8() -> None:
    import ast

    from porter.instrument.own_files import is_recorder, recorder

    data = recorder()
    ast.parse(data, feature_version=(3, 8))
    assert is_recorder(data) and not is_recorder(data.replace(b"import json", b"import  json"))
