"""Programs that never use a device, beside others that do: nobody is told what a device would like there."""

from __future__ import annotations

import ast
import json
import marshal
from pathlib import Path

import pytest
from command_line import write

from porter.analysis.session import open_session
from porter.files.all_files import everything
from porter.project.host_programs import _rows
from porter.python.trees import parse
from porter.run.cache import Cache
from porter.run.config import Settings
from porter.run.gather import gather
from porter.run.run import run

LOOP = """
def main():
    model = torch.nn.Linear(2, 2)
    opt = torch.optim.Adam(model.parameters())
    for batch in batches():
        loss = model(batch).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(loss.item())


if __name__ == "__main__":
    main()
"""
TOY = "import torch\n" + LOOP
OTHER = "import torch\n" + LOOP.replace("Linear(2, 2)", "Linear(2, 2).cuda()")


def test_a_tree_that_others_read_as_well_keeps_its_texts() -> None:
    data = b'def lowest(x):\n    """Of all."""\n    if x is None:\n        return 0\n    return x.min().item()\n'
    before = ast.dump(parse(data))
    assert _rows(data, parse)
    assert ast.dump(parse(data)) == before


def host(root: Path, files: dict[str, str]) -> set[str]:
    write(root, {"train.py": OTHER, **files})
    return {*gather(root, everything(root, ())).roads.host}


def notebook(code: str, picture: str = "") -> str:
    cells = [
        {"cell_type": "markdown", "source": ["Runs on a GPU, .cuda() if you like"]},
        {"cell_type": "code", "source": code.splitlines(keepends=True), "outputs": [{"data": picture}]},
    ]
    return json.dumps({"cells": cells, "nbformat": 4})


def test_a_script_and_a_notebook_that_choose_no_device(tmp_path):
    files = {"toy.py": TOY, "toy.ipynb": notebook(TOY.replace("if __name__", "if True or __name__"), "x9gPuA/device")}
    assert host(tmp_path, files) == {"toy.py"}  # a text names CUDA in this notebook
    plain = notebook(TOY, "x9gPuA/device").replace(".cuda()", "faster")
    assert host(tmp_path, {"toy.ipynb": plain}) == {"toy.py", "toy.ipynb"}


@pytest.mark.parametrize(
    "line",
    [
        "model.to(device)",
        "model.to(rank)",
        "model = torch.nn.DataParallel(model)",
        'parser.add_argument("--device")',
        "x = torch.zeros(2, device=args.device)",
        "torch.set_default_device(1)",
        "from pytorch_lightning import Trainer",
        "from transformers import pipeline",
        "import somebody",
        "x = x.to(torch.device(name))",
    ],
)
def test_what_may_bring_a_device(tmp_path, line):
    assert host(tmp_path, {"toy.py": TOY.replace("import torch\n", f"import torch\n{line}\n")}) == set()


@pytest.mark.parametrize(
    "line",
    [
        "x = torch.zeros(2, device=values.device)",
        "x = x.to(y[0].device)",
        "x = x.to(torch.float32)",
        "model = torch.nn.parallel.DistributedDataParallel(model)",
        "import gym, numpy as np",
        'plt.xlabel("step")',
    ],
)
def test_what_brings_none(tmp_path, line):
    assert host(tmp_path, {"toy.py": TOY.replace("import torch\n", f"import torch\n{line}\n")}) == {"toy.py"}


LIBRARY = {
    "lib/__init__.py": "from .parts import Learner, moved, Plain\nfrom .big import Runner\n",
    "lib/parts.py": """import torch
from .more import helper


class Plain(torch.nn.Module):
    '''Trained on a GPU: model.cuda()'''

    def __init__(self, device="cpu"):
        self.device = device

    def forward(self, x):
        return x.to(self.device)


class Learner(Plain):
    def step(self):
        return helper(self)


def moved(x):
    return x.cuda()


if __name__ == "__main__":
    Plain().to("cuda")
""",
    "lib/more.py": "def helper(x):\n    return x\n",
    "lib/big.py": "import pytorch_lightning as pl\n\n\nclass Runner(pl.LightningModule):\n    pass\n",
}


@pytest.mark.slow
def test_what_a_program_uses_of_the_files_that_it_imports(tmp_path):
    def alone(name: str, **files: str) -> bool:
        toy = TOY.replace("import torch\n", f"import torch\nimport lib\n\nx = lib.{name}(2)\n")
        return "toy.py" in host(tmp_path, {**LIBRARY, **files, "toy.py": toy})

    assert alone("Plain") and alone("Learner")
    assert not alone("moved") and not alone("Runner")
    called = {"lib/more.py": "from .parts import moved\n\n\ndef helper(x):\n    return moved(x)\n"}
    assert not alone("Learner", **called) and alone("Plain", **called)
    brought = {"lib/more.py": "import somebody\n\n\ndef helper(x):\n    return somebody.run(x)\n"}
    assert not alone("Learner", **brought) and alone("Plain", **brought)
    at_import = {"lib/more.py": 'import torch\n\ntorch.set_default_device("cuda")\n\n\ndef helper(x):\n    return x\n'}
    assert not alone("Plain", **at_import)
    by_name = {"lib/more.py": "import lib\n\n\ndef helper(x):\n    return getattr(lib, x.name)(x)\n"}
    assert not alone("Learner", **by_name)
    offered = {"lib/more.py": "from .big import *\n\n__all__ = ['helper', 'moved']\n\n\ndef helper(x):\n    return x\n"}
    assert alone("Learner", **offered)
    told = {"lib/more.py": "from somebody import logger\n\n\ndef helper(x):\n    logger.info(x)\n    return x\n"}
    assert alone("Learner", **told)
    gone = {"lib/more.py": "from lib.gone import lost\n\n\ndef helper(x):\n    return lost(x)\n"}
    assert alone("Learner", **gone)
    angles = "def helper(params):\n    return torch.cos(params{}), torch.zeros(2, device=params.device)\n"
    assert alone("Learner", **{"lib/more.py": "import torch\n\n\n" + angles.format("[:, 0]")})
    assert not alone("Learner", **{"lib/more.py": "import torch\n\n\n" + angles.format("")})
    registered = {"lib/more.py": "@register\ndef built(x):\n    return x.cuda()\n\n\ndef helper(x):\n    return x\n"}
    assert not alone("Plain", **registered)


def test_what_trains_and_what_only_shows(tmp_path):
    shows = "import torch\n\nif __name__ == '__main__':\n    print(torch.nn.GELU())\n"
    assert host(tmp_path, {"show.py": shows, "examples/show.py": shows}) == {"examples/show.py"}


def test_what_others_import_runs_where_they_put_it(tmp_path):
    assert host(tmp_path, {"toy.py": TOY, "other.py": "import toy\n"}) == set()
    package = {"toy.py": "", "toys/__init__.py": TOY, "plain.py": TOY}
    assert host(tmp_path, {**package, "other.py": "import toys as plain\n"}) == {"plain.py"}


@pytest.mark.slow
def test_advice_about_devices_is_for_programs_that_use_one(tmp_path):
    root = write(tmp_path / "r", {"toy.py": TOY, "train.py": OTHER})

    def codes(**more):
        done = run(root, [str(root)], Settings(jobs=1), open_session(), **more)
        return {result.path: {f.code for f in result.findings} for result in done.files}

    told = codes()
    assert told["toy.py"] == set() and {"PRT610", "PRT630"} <= told["train.py"]  # which is no place beside another
    cache = tmp_path / "cache"
    assert codes(cache=Cache(cache)) == codes(cache=Cache(cache)) == told
    write(root, {"toy.py": TOY.replace("Linear(2, 2)", "Linear(2, 2).to(place)")})
    assert {"PRT610", "PRT630"} <= codes(cache=Cache(cache))["toy.py"]


def test_a_file_that_does_not_parse(tmp_path):
    """A program imports it, so that nobody can tell what it uses. What it says can be kept all the same."""
    root = write(tmp_path / "r", {"toy.py": TOY.replace("torch\n", "torch\nimport lib\n", 1), "train.py": OTHER})
    write(root, {"lib.py": "def moved(x):\n    return x.cuda(\n"})
    kept = []

    def remember(key, make):
        kept.append(marshal.dumps(made := make()))
        return made

    assert gather(root, everything(root, ()), remember).roads.host == ()
    assert kept
