"""Where the training step is, in the shapes that programs have: the lines that are put in, as text."""

from __future__ import annotations

import textwrap

import pytest
from command_line import Porter, write

PLAIN = """\
import torch

for epoch in range(3):
    for images, target in loader:
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
SCALED = """\
import torch

def train(model, loader, optimizer, scaler):
    for step, batch in enumerate(loader):
        with torch.autocast("cuda"):
            loss = model(**batch).loss / 4
        scaler.scale(loss).backward()
        if (step + 1) % 4 == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
"""
CLOSURE = """\
import torch

net = torch.nn.Linear(1, 1)
optimizer = torch.optim.LBFGS(net.parameters())
for x, y in data:
    def closure():
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)
"""
ADVERSARIES = """\
import torch

optimizerD = torch.optim.Adam(netD.parameters())
optimizerG = torch.optim.Adam(netG.parameters())
for data in loader:
    netD.zero_grad()
    errD = criterion(netD(data), real)
    errD.backward()
    optimizerD.step()
    netG.zero_grad()
    errG = criterion(netD(netG(noise)), real)
    errG.backward()
    optimizerG.step()
"""
BRANCHES = """\
import torch

def train(model, optimizer, batches, scaler):
    for x in batches:
        loss = model(x)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
        else:
            loss.backward()
            optimizer.step()
"""
ACCELERATE = """\
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
"""
DEEPSPEED = """\
import deepspeed

engine, _, _, _ = deepspeed.initialize(model=net, config="ds.json")
for batch in loader:
    loss = engine(batch)
    engine.backward(loss)
    engine.step()
"""
SEVERAL = """\
import torch

for x in loader:
    loss = model(x)
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
"""
METHODS = """\
import torch

class Painter:
    def backward_G(self):
        self.loss_G = self.criterion(self.netG(self.real))
        self.loss_G.backward()

    def optimize_parameters(self):
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
"""
TRANSFORMERS = """\
from transformers import Trainer, TrainingArguments

trainer = Trainer(model=model, args=TrainingArguments("out"))
result = trainer.train()
"""
SUBCLASS = """\
from transformers import Seq2SeqTrainer

class Ours(Seq2SeqTrainer):
    pass

def main():
    trainer = Ours(model)
    trainer.train()
"""
LIGHTNING = """\
import lightning as L

def main(model):
    runner = L.Trainer(max_epochs=1)
    runner.fit(model)
"""
MMENGINE = """\
from mmengine.runner import Runner

def main(cfg):
    runner = Runner.from_cfg(cfg)
    runner.train()
"""
MEGATRON = """\
import torch

def train(forward_step_func, model, optimizer, data_iterator):
    iteration = 0
    while iteration < 10:
        loss_dict, skipped_iter, grad_norm = train_step(forward_step_func, data_iterator, model, optimizer)
        iteration += 1

def train_step(forward_step_func, data_iterator, model, optimizer):
    losses = forward_step_func(data_iterator, model)
    losses[0].backward()
    return losses, 0, optimizer.step()
"""
SHAPES = {
    "plain": (
        PLAIN,
        {"        optimizer.step()": "step(loss=loss, optimizer=optimizer, model=model, batch=(images, target))"},
    ),
    "accumulates": (
        SCALED,
        {
            "        if (step + 1) % 4 == 0:": "loss(loss, is_part=True, batch=batch)",
            "            torch.nn.utils": "step(optimizer=optimizer, model=model, scaler=scaler)",
        },
    ),
    "closure": (CLOSURE, {"        return loss": "step(loss=loss, optimizer=optimizer, model=net)"}),
    "adversaries": (
        ADVERSARIES,
        {
            "    optimizerD.step()": 'loss(errD, "errD")',
            "    optimizerG.step()": "step(loss=errG, optimizer=optimizerG, model=netG, batch=data)",
        },
    ),
    "branches": (
        BRANCHES,
        {
            "            scaler.step": "step(loss=loss, optimizer=optimizer, model=model, batch=x, scaler=scaler)",
            "            optimizer.step()": "step(loss=loss, optimizer=optimizer, model=model, batch=x)",
        },
    ),
    "accelerate": (
        ACCELERATE,
        {"        if accelerator.sync": "step(loss=loss, optimizer=optimizer, model=model, batch=batch)"},
    ),
    "deepspeed": (DEEPSPEED, {"    engine.step()": "step(loss=loss, optimizer=engine, model=engine, batch=batch)"}),
    "several": (SEVERAL, {"    for optimizer in": "step(loss=loss, optimizer=optimizers, model=model, batch=x)"}),
    "methods": (
        METHODS,
        {
            "": "loss(self.loss_G)",
            "        self.optimizer_G.step()": "step(optimizer=self.optimizer_G)",
        },
    ),
    "transformers": (TRANSFORMERS, {"result = trainer.train()": "attach(trainer)"}),
    "subclass": (SUBCLASS, {"    trainer.train()": "attach(trainer)"}),
    "lightning": (LIGHTNING, {"    runner.fit(model)": "attach(runner)"}),
    "mmengine": (MMENGINE, {"    runner.train()": "attach(runner)"}),
    "megatron": (
        MEGATRON,
        {
            "    while iteration": "watch(model, optimizer)",
            "        iteration += 1": "step(loss=loss_dict, optimizer=optimizer, model=model, grad_norm=grad_norm)",
        },
    ),
}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    monkeypatch.setenv("PORTER_STATE_DIR", str(tmp_path / "state"))
    return Porter(monkeypatch, tmp_path / "r")


def inserted(after: str) -> dict[str, str]:
    """What is called, by the line below."""
    lines = after.splitlines()
    calls = [
        (n, line.split("  # porter: ")[0].strip()) for n, line in enumerate(lines) if "# porter: instrument" in line
    ]
    calls = [(n, text) for n, text in calls if text.startswith("porter_recorder.") and ".start(" not in text]
    return {lines[n + 1]: text.removeprefix("porter_recorder.") for n, text in calls}


@pytest.mark.parametrize("name", SHAPES)
def test_the_step_is_found(porter, name: str) -> None:
    before, wanted = SHAPES[name]
    write(porter.folder, {"train.py": before})
    answer = porter("instrument", "train.py", "--loss-log", "log.jsonl", "--inplace")
    assert answer.code == 0, answer.err
    calls = inserted((porter.folder / "train.py").read_text("utf-8"))
    assert len(calls) == len(wanted), calls
    for line, text in wanted.items():
        found = [call for below, call in calls.items() if (below.startswith(line) if line else not below)]
        assert found == [text], calls
    assert porter("instrument", "train.py", "--remove", "--inplace").code == 0
    assert (porter.folder / "train.py").read_text("utf-8") == before
    assert sorted(path.name for path in porter.folder.iterdir() if path.name != ".porter") == ["train.py"]


NOT_FOUND = {
    "expression": (
        "import torch\nfor x in xs:\n    f(x).backward()\n    optimizer.step()\n",
        "train.py:3: give the loss a name",
    ),
    "one line": (
        "import torch\nfor x in xs:\n    loss = f(x)\n    loss.backward(); optimizer.step()\n",
        "train.py:4: give this statement a line",
    ),
    "cli": (
        "from lightning.pytorch.cli import LightningCLI\nLightningCLI(Net)\n",
        "train.py:2: LightningCLI trains by itself",
    ),
    "unnamed": ("from transformers import Trainer\nTrainer(m).train()\n", "train.py:2: give the trainer a name"),
    "elsewhere": (
        "from megatron.training import pretrain\npretrain(a, b, c)\n",
        "train.py:2: the loop is in Megatron's training.py",
    ),
    "nothing": ("import torch\nprint(1)\n", "train.py: no training step is found"),
    "a scheduler, an environment": (
        "import torch\nscheduler.step()\nenv.step(action)\nloss.backward()\n",
        "no training step",
    ),
}


@pytest.mark.parametrize("name", NOT_FOUND)
def test_the_line_that_is_missing_is_told(porter, name: str) -> None:
    before, told = NOT_FOUND[name]
    write(porter.folder, {"train.py": before})
    answer = porter("instrument", "train.py", "--loss-log", "log.jsonl", "--inplace")
    assert told in answer.err


@pytest.mark.parametrize("package", ["from lightning.fabric import Fabric", "import pytorch_lightning as pl"])
def test_a_loop_that_uses_lightning_is_no_trainer(porter, package: str) -> None:
    loop = "for x in loader:\n    loss = model(x)\n    fabric.backward(loss)\n    optimizer.step()\n"
    write(porter.folder, {"train.py": f"import torch\n{package}\n{loop}"})
    assert "train.py:6 (loop with Lightning)" in porter("instrument", "train.py", "--loss-log", "log.jsonl").err


def test_the_step_in_another_file_of_the_program(porter) -> None:
    engine = textwrap.dedent(
        """\
        import torch

        def train_one_epoch(model, loader, optimizer):
            for images, target in loader:
                loss = model(images, target)
                loss.backward()
                optimizer.step()
        """
    )
    files = {"main.py": "import torch\nfrom tools.engine import train_one_epoch\n", "tools/engine.py": engine}
    write(porter.folder, {**files, "tests/test_engine.py": engine, "other.py": engine})
    answer = porter("instrument", "main.py", "--seed", "--loss-log", "log.jsonl", "--inplace")
    assert answer.code == 0 and "tools/engine.py:7" in answer.err
    main, other = ((porter.folder / name).read_text("utf-8") for name in files)
    assert "start(log='log.jsonl', seed=1234)" in main and "start(" not in other and "import porter_recorder" in other
    assert (porter.folder / "porter_recorder.py").is_file()
    assert porter("undo").code == 0
    assert [(porter.folder / name).read_text("utf-8") for name in files] == list(files.values())
    assert not (porter.folder / "porter_recorder.py").exists()


def test_determinism_is_set_again_behind_what_undoes_it(porter) -> None:
    write(porter.folder, {"train.py": "import torch\ntorch.backends.cudnn.benchmark = True\n" + PLAIN})
    out = porter("instrument", "train.py", "--seed", "7").text
    assert "+porter_recorder.start(seed=7)  # porter: instrument" in out
    assert " torch.backends.cudnn.benchmark = True\n+porter_recorder.deterministic()" in out


def test_what_is_around_the_step(porter) -> None:
    write(porter.folder, {"train.py": BRANCHES})
    out = porter(
        "instrument", "train.py", "--msprobe", "--level", "mix", "--steps", "0,1", "--profile", "prof", "--inplace"
    )
    assert out.code == 0
    text = (porter.folder / "train.py").read_text("utf-8")
    assert "    for x in batches:\n        porter_recorder.begin(model)" in text
    assert "            optimizer.step()\n            porter_recorder.end()" in text
    assert '"level": "mix"' in (porter.folder / "porter_msprobe.json").read_text("utf-8")
    assert porter("instrument", ".", "--remove", "--inplace").code == 0
    assert (porter.folder / "train.py").read_text("utf-8") == BRANCHES
    assert not (porter.folder / "porter_msprobe.json").exists()


def test_a_folder_with_one_program_and_with_two(porter) -> None:
    guard = 'if __name__ == "__main__":\n    main()\n'
    write(porter.folder, {"a.py": PLAIN + guard, "util.py": "import torch\n"})
    assert porter("instrument", ".", "--seed").code == 0
    write(porter.folder, {"b.py": PLAIN + guard})
    answer = porter("instrument", ".", "--seed")
    assert answer.code == 2 and answer.err == "porter: name one script, 2 of . train: a.py, b.py\n"


def test_a_copy_gets_the_recorder_and_a_diff_writes_nothing(porter) -> None:
    write(porter.folder, {"train.py": PLAIN})
    assert porter("instrument", "train.py", "--loss-log", "l.jsonl").text.startswith("--- a/train.py\n")
    assert [path.name for path in porter.folder.iterdir()] == ["train.py"]
    out = porter.folder.parent / "out"
    assert porter("instrument", ".", "--loss-log", "l.jsonl", "--out", str(out)).code == 0
    assert (out / "porter_recorder.py").is_file() and "porter_recorder" in (out / "train.py").read_text("utf-8")
    assert (porter.folder / "train.py").read_text("utf-8") == PLAIN


def test_a_copy_of_a_folder_whose_step_stands_elsewhere_is_one_of_the_project(porter) -> None:
    loop = "def fit(model, criterion, optimizer, loader):\n" + textwrap.indent(PLAIN.split("\n\n")[1], "    ")
    script = "import torch\nfrom lib.loop import fit\n\nif __name__ == '__main__':\n    fit()\n"
    write(porter.folder, {"pyproject.toml": "", "lib/loop.py": f"import torch\n{loop}", "scripts/train.py": script})
    out, other = porter.folder.parent / "out", porter.folder.parent / "other"
    assert porter("instrument", "scripts", "--loss-log", "l.jsonl", "--out", str(out)).code == 0
    assert "porter_recorder.step(" in (out / "lib" / "loop.py").read_text("utf-8")
    assert (out / "scripts" / "porter_recorder.py").is_file()
    assert porter("instrument", "scripts", "--seed", "--out", str(other)).code == 0
    assert (other / "porter_recorder.py").is_file() and not (other / "lib").exists()


def test_what_somebody_changed_is_not_removed(porter) -> None:
    write(porter.folder, {"train.py": PLAIN})
    assert porter("instrument", "train.py", "--loss-log", "l.jsonl", "--inplace").code == 0
    path = porter.folder / "train.py"
    path.write_text(text := path.read_text("utf-8").replace("step(loss=loss", "step(loss=loss * 2"), "utf-8")
    answer = porter("instrument", "train.py", "--remove", "--inplace")
    assert answer.code == 2 and answer.err.startswith("porter: train.py:10: take this line out by hand")
    assert path.read_text("utf-8") == text and (porter.folder / "porter_recorder.py").exists()
    answer = porter("instrument", "train.py", "--remove", "--inplace", "--lang", "zh")
    assert answer.err.startswith("porter: train.py:10：请手工删除此行")


WRONG = {
    (): "say what to put in",
    ("--seed", "--inplace", "--out", "x"): "--inplace and --out exclude each other",
    ("--remove", "--seed"): "--remove stands alone",
    ("--remove", "--seed", "0"): "--remove stands alone",
    ("--remove", "--batches", "0"): "--remove stands alone",
    ("--norms",): "give --loss-log FILE",
    ("--msprobe", "--level", "L9"): "--level",
    ("--seed", "--level", "L9"): "--level",
    ("--msprobe", "--steps", "a"): "--steps: 'a' is no list of steps",
}


@pytest.mark.parametrize("options", WRONG)
def test_wrong_options_are_told_in_one_line(porter, options: tuple[str, ...]) -> None:
    write(porter.folder, {"train.py": PLAIN})
    answer = porter("instrument", "train.py", *options)
    assert answer.code == 2 and WRONG[options] in answer.err and answer.err.count("\n") == 1
    assert [path.name for path in porter.folder.iterdir()] == ["train.py"]


def test_a_loop_over_the_settings_of_a_run_is_no_loop_over_optimizers(porter) -> None:
    text = "import torch\nfor i in range(opt.steps):\n    loss = net(x)\n    loss.backward()\n    optimizer.step()\n"
    write(porter.folder, {"train.py": text})
    out = porter("instrument", "train.py", "--loss-log", "l.jsonl").text
    assert "+    porter_recorder.step(loss=loss, optimizer=optimizer, model=net)" in out


def test_what_needs_no_step_asks_for_none(porter) -> None:
    write(porter.folder, {"train.py": "import torch\nprint(torch.rand(1))\n", "loop.py": PLAIN})
    assert "+porter_recorder.start(seed=1234)" in porter("instrument", "train.py", "--seed").text
    out = porter("instrument", "loop.py", "--profile", "prof").text
    assert "porter_recorder.begin(" in out and "porter_recorder.end()" in out and "porter_recorder.step(" not in out


def test_the_step_is_the_optimizer_that_moves_in_every_round(porter) -> None:
    text = """\
import torch

for idx in range(9):
    real = next(loader)
    d_loss = discriminator(real)
    d_loss.backward()
    d_optim.step()
    g_loss = generator(real)
    g_loss.backward()
    g_optim.step()
    if idx % 4 == 0:
        path_loss = regular(real)
        path_loss.backward()
        g_optim.step()
"""
    write(porter.folder, {"train.py": text})
    porter("instrument", "train.py", "--loss-log", "l.jsonl", "--inplace")
    assert set(inserted((porter.folder / "train.py").read_text("utf-8")).values()) == {
        'loss(d_loss, "d_loss")',
        'loss(path_loss, "path_loss")',
        "step(loss=g_loss, optimizer=g_optim, batch=real)",
    }


ASSEMBLED = """\
import torch
from nets import Net, encoder

model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    {body}
    loss = criterion(model(x{more}), target)
    optimizer.zero_grad()
    loss.backward()
    {last}optimizer.step()
"""


@pytest.mark.parametrize(
    ("body", "more", "last", "batch"),
    [
        ("x, target = images[order[step]].to(device), labels[step].to(device)", "", "", "(x, target)"),
        ("x = torch.tensor([words(t) for t in texts]).to(device)\n    target = x.roll(1)", "", "", "(x, target)"),
        ("x, target = batch()", "", "", "(x, target)"),
        ("noise = torch.randn(4)\n    x = (data[step] + noise).to(device)", ", noise", "", "(noise, x)"),
        ("x = encoder(images[step])", "", "", ""),  # rounded otherwise by another device
        ("x = model.stem(images[step])", "", "", ""),
        ("if step:\n        x = images[step]", "", "", ""),  # not bound in each round
        ("x = images[step]", "", "del x\n    ", ""),
        ("x = images[step]\n    x = encoder(x)", "", "", ""),
    ],
)
def test_a_batch_that_the_loop_puts_together(porter, body: str, more: str, last: str, batch: str) -> None:
    write(porter.folder, {"train.py": ASSEMBLED.format(body=body, more=more, last=last)})
    assert porter("instrument", "train.py", "--loss-log", "l.jsonl", "--inplace").code == 0
    calls = inserted((porter.folder / "train.py").read_text("utf-8")).values()
    assert any(call.endswith(f"model=model{f', batch={batch}' if batch else ''})") for call in calls), calls
    assert ("batch=" in str(calls)) == bool(batch)


def test_a_trainer_whose_class_is_chosen_when_it_runs(porter) -> None:
    text = (
        "from transformers import Trainer\nKind = Trainer if x else make()\ntrainer = Kind(**given)\ntrainer.train()\n"
    )
    write(porter.folder, {"train.py": text, "ours.py": "class Trainer:\n    pass\n"})
    assert "+porter_recorder.attach(trainer)" in porter("instrument", "train.py", "--loss-log", "l.jsonl").text
    write(
        porter.folder,
        {"train.py": "import transformers\nfrom ours import Trainer\ntrainer = Trainer()\ntrainer.train()\n"},
    )
    assert porter("instrument", "train.py", "--loss-log", "l.jsonl").code == 2
