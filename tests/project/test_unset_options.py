"""Options that may be None where another file hands them to `cuda()`: `to(None)` moves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Porter, write

PROGRAM = """import argparse

import torch

from model import Model

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", {})
args = parser.parse_args()
model = Model(args)
"""
MODEL = """import torch


class Model(torch.nn.Module):
    def forward(self, batch, args):
        {}
        return batch[0].cuda(args.gpu, non_blocking=True)
"""
ASKED = "accelerator_type if args.gpu is None else args.gpu"


def ported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str, style: str = "portable", first: str = "pass"
) -> str:
    write(tmp_path, {"porter.toml": "", "main.py": PROGRAM.format(declared), "model.py": MODEL.format(first)})
    done = Porter(monkeypatch, tmp_path)("migrate", ".", "--inplace", "--allow-dirty", "--unsafe", "--style", style)
    assert done.code in (0, 1), done.err
    return (tmp_path / "model.py").read_text().splitlines()[-1].strip()


def test_an_option_of_another_file_may_be_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ported(tmp_path, monkeypatch, "type=int") == f"return batch[0].to({ASKED}, non_blocking=True)"


@pytest.mark.parametrize("declared", ["type=int, default=0", "type=int, required=True"])
def test_one_with_a_default_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str) -> None:
    assert ported(tmp_path, monkeypatch, declared) == "return batch[0].to(args.gpu, non_blocking=True)"


def test_one_that_the_file_sets_itself_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ported(tmp_path, monkeypatch, "type=int", first="args.gpu = int(args.rank)")
    assert line == "return batch[0].to(args.gpu, non_blocking=True)"


def test_npu_takes_none_as_cuda_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ported(tmp_path, monkeypatch, "type=int", "rename") == "return batch[0].npu(args.gpu, non_blocking=True)"
