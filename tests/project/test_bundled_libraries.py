"""A library that lies in a project with its examples and tests: those are nobody's matter here, unless something leads to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Porter, write
from test_unused import both

pytestmark = pytest.mark.slow  # each analyses a project by the command

WAITS = """import torch


def train(model, loader):
    for x in loader:
        loss = model(x.cuda()).double()
        loss.backward()


if __name__ == "__main__":
    train(torch.nn.Linear(2, 2).cuda(), [])
"""
LIBRARY = {
    "third/diffusers/setup.py": 'from setuptools import setup\n\nsetup(name="diffusers", package_dir={"": "src"})\n',
    "third/diffusers/src/diffusers/__init__.py": "import torch\n",
    "third/diffusers/examples/train.py": WAITS,
    "train.py": WAITS,
}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, False),
        ({"README.md": "Run `python third/diffusers/examples/train.py`.\n"}, True),
        ({"third/diffusers/README.md": "Run `python diffusers/examples/train.py`.\n"}, False),
        ({"third/diffusers/setup.py": "print(1)\n"}, True),
    ],
)
def test_what_stands_beside_a_library(tmp_path: Path, monkeypatch, more: dict[str, str], told: bool) -> None:
    write(tmp_path, {"porter.toml": "", **LIBRARY, **more})
    found, _ = both(Porter(monkeypatch, tmp_path), ".")
    assert ("PRT307", "train.py") in found
    assert (("PRT307", "third/diffusers/examples/train.py") in found) is told
