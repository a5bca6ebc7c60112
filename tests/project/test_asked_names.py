"""Which versions the lists of a project ask for, of packages whose version decides what is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

PROGRAM = """import torch
from timm.data import Mixup

mixup = Mixup(0.8)


def train(model, loader):
    for images, targets in loader:
        model(*mixup(images.cuda(), targets.cuda())).sum().backward()
"""


@pytest.mark.parametrize(("listed", "told"), [("timm==0.4.12", 1), ("timm==0.5.4", 0), ("timm>=0.4", 0), ("numpy", 1)])
def test_what_later_versions_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str, told: int) -> None:
    write(tmp_path, {"porter.toml": "", "train.py": PROGRAM, "requirements.txt": f"torch==2.6.0\n{listed}\n"})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").out)["findings"]
    assert sum("0.5.4" in finding["message"] for finding in found) == told
