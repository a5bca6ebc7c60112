"""What is said of code that only a trainer leads to is listed in the inventory, where the project trains nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write
from test_never_run import looked

pytestmark = pytest.mark.slow  # each analyses a project by the command

AVERAGE = """import torch
from torch import nn


class Average(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.register_buffer("updates", torch.tensor(0).cuda())

    def forward(self, model):
        if self.updates >= 0:
            self.updates += 1
            print(self.updates.item())
        return self.updates


def train(model, batches):
    for batch in batches:
        print(model(batch).item())
"""
MODEL = """import pytorch_lightning as pl
from lib import Average


class Model(pl.LightningModule):
    def __init__(self, net, use):
        super().__init__()
        self.net = net
        self.average = Average(net) if use else None
        if self.average is not None:
            self.average.eval()

    def on_train_batch_end(self, *given):
        if self.average:
            self.average(self.net)

    def shown(self):
        {shown}
        return self.net


def main(net):
    print(Model(net, True).shown())
"""
OTHER = "import torch\nfrom model import Model, main\n\nmain(torch.nn.Linear(2, 2).cuda())\n"


def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> tuple[set[int], dict[int, str]]:
    files = {"lib.py": AVERAGE, "model.py": MODEL.format(shown="pass"), "other.py": OTHER}
    files |= {f"{name}.py": text for name, text in more.items()}
    return looked(tmp_path, monkeypatch, files, "PRT630")


def test_what_only_a_trainer_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, aside = told(tmp_path, monkeypatch)
    assert 11 not in found and aside[11] == "Average.forward"


@pytest.mark.parametrize(
    "shown",
    [
        "self.average(self.net)",
        "self.average.forward(self.net)",
        "print(self.average)",
        "part = self.average",
        "getattr(self, 'average')(self.net)",
        "[part(self.net) for part in self.children()]",
    ],
)
def test_what_may_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str) -> None:
    found, aside = told(tmp_path, monkeypatch, model=MODEL.format(shown=shown))
    assert 11 in found and not aside


@pytest.mark.parametrize(
    "line", ["Trainer().fit(Model(1, 2))", "Model(1, 2).loss().backward()", "print(lib.Average(2)(3))"]
)
def test_a_project_that_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    found, aside = told(tmp_path, monkeypatch, run=f"import lib\nfrom model import Model\n\n{line}\n")
    assert 11 in found and not aside


def test_the_steps_of_a_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = "\n    def training_step(self, batch, index):\n        loss = self.net(batch.cuda())\n        print(loss.item())\n        return loss\n"
    lightning = AVERAGE.replace("nn.Module", "pl.LightningModule").replace(
        "import torch\n", "import pytorch_lightning as pl\nimport torch\n"
    )
    text = lightning.replace("\n\n\ndef train", step + "\n\ndef train")
    line = text.split("\n").index("        print(loss.item())") + 1
    found, aside = told(tmp_path, monkeypatch, lib=text)
    assert line not in found and aside.get(line) == "Average.training_step"
    found, aside = told(tmp_path, monkeypatch, lib=text, run="from model import Model\n\nTrainer().fit(Model(1, 2))\n")
    assert line in found


SETTINGS = "model:\n  target: pkg.lib.{}\n  params: {{}}\n"
LOADED = "import importlib\n\n\ndef build(path):\n    module, name = path.rsplit('.', 1)\n    return getattr(importlib.import_module(module), name)\n"


@pytest.mark.parametrize(
    ("named", "more", "is_told"),
    [
        ("Other", "", False),
        ("Average", "", True),
        ("Other", "print('Average')\n", True),
        ("Other", "# Average\n", False),
    ],
)
@pytest.mark.parametrize("top", ["", "apps/one/"])
def test_a_class_that_no_settings_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named, more, is_told, top
) -> None:
    """In a project that builds its classes by the paths in settings."""
    program = (
        "import torch\n\nfrom pkg.load import build\n\nbuild('pkg.lib.Other')(2).cuda().loss().backward()\n" + more
    )
    files = {"pkg/__init__.py": "", "pkg/lib.py": AVERAGE, "pkg/load.py": LOADED, "run.py": program}
    files = {f"{top}{path}": text for path, text in files.items()}
    write(tmp_path, {"porter.toml": "", **files, f"{top}settings/a.yaml": SETTINGS.format(named)})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    lines = {f["line"] for f in found["findings"] if (f["path"], f["code"]) == (f"{top}pkg/lib.py", "PRT630")}
    assert (11 in lines) == is_told
