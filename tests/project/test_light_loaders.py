"""A loader gets workers where what leads to it decodes images, sound, video or arrays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write
from test_unused import both

pytestmark = pytest.mark.slow  # each analyses a project by the command

DATA = "from torch.utils.data import Dataset\n\n\nclass Rows(Dataset):\n    pass\n"
TRAIN = """import torch
from torch.utils.data import DataLoader

from data import Rows


def train(model):
    for x in DataLoader(Rows(), 4, shuffle=True):
        model(x.cuda(non_blocking=True)).backward()


train(torch.nn.Linear(2, 2).cuda())
"""


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"train.py": TRAIN, "data.py": DATA}, False),
        ({"train.py": TRAIN, "data.py": f"from PIL import Image\n{DATA}"}, True),
        ({"train.py": TRAIN, "data.py": f"import numpy as np\n{DATA}\n\nrows = np.load('rows.npy')\n"}, True),
        ({"train.py": TRAIN, "data.py": DATA, "other.py": "import cv2\n\nprint(cv2)\n"}, False),
        ({"train.py": TRAIN, "data.py": DATA, "run.py": "import cv2\nimport train\n\nprint(cv2, train)\n"}, True),
        ({"train.py": f"import jax\n{TRAIN}", "data.py": f"from PIL import Image\n{DATA}"}, False),
    ],
)
def test_programs(tmp_path: Path, monkeypatch, files: dict[str, str], told: bool) -> None:
    write(tmp_path, {"porter.toml": "", **files})
    found, _ = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT633", "train.py") in found) is told


@pytest.mark.parametrize(("line", "told"), [("import torch", False), ("import torchvision", True)])
def test_notebooks(tmp_path: Path, monkeypatch, line: str, told: bool) -> None:
    cell = f"{line}\n{TRAIN}".replace("from data import Rows\n", "").replace("Rows()", "rows")
    notebook = {
        "cells": [{"cell_type": "code", "metadata": {}, "source": cell, "outputs": [], "execution_count": None}],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    write(tmp_path, {"porter.toml": "", "train.ipynb": json.dumps(notebook)})
    found, _ = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT633", "train.ipynb") in found) is told
