"""What a function is told, that only builds what modules keep: it runs on the host, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

TABLES = """import torch


def binom(n, k):
    return torch.exp(torch.lgamma(n + 1) - torch.lgamma(k + 1))


def real_table(size):
    return binom(torch.arange(size), torch.arange(size)).to(dtype=torch.complex64).real
"""
MODULE = """import torch

from tables import binom, real_table


class Harmonics(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("powers", self._powers(size))
        self.register_buffer("table", real_table(size))

    def _powers(self, size):
        return binom(torch.arange(size), torch.arange(size))

    def forward(self, x):
        return x ** self.powers
"""
TRAIN = """import torch

from harmonics import Harmonics

model = Harmonics(4).cuda()
"""
FILES = {"porter.toml": "", "tables.py": TABLES, "harmonics.py": MODULE, "train.py": TRAIN}
LOUD = {("PRT702", "tables.py"), ("PRT309", "tables.py")}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def look(more: dict[str, str]) -> set[tuple[str, str]]:
        write(tmp_path, {**FILES, **more})
        found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
        return {(f["code"], f["path"]) for f in found["findings"]} & LOUD

    return look


def test_what_only_modules_build_is_set_aside(told) -> None:
    assert told({}) == set()


@pytest.mark.parametrize(
    ("path", "old", "new", "codes"),
    [
        ("harmonics.py", "x ** self.powers", "binom(x, x)", LOUD - {("PRT309", "tables.py")}),  # for every batch, too
        ("train.py", "model = ", "import tables\n\ntables.binom(torch.ones(1), torch.ones(1))\nmodel = ", {("PRT702", "tables.py")}),
        ("tables.py", "torch.complex64).real", "torch.complex64)", {("PRT309", "tables.py")}),  # the module keeps complex numbers
    ],
)  # fmt: skip
def test_what_runs_otherwise_is_told(told, path, old, new, codes) -> None:
    assert old in FILES[path]
    assert told({path: FILES[path].replace(old, new)}) == codes


def test_what_is_no_module_may_be_made_for_every_batch(told) -> None:
    assert told({"harmonics.py": MODULE.replace("torch.nn.Module", "Table").replace("forward", "raised")}) == LOUD
