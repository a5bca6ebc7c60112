"""What a run records of itself: steps, shapes and printed numbers, of programs that are written in many ways."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from virtual_device import VirtualNpu

from porter.verify.runtime.named_numbers import numbers

EPOCHS = """import warnings

import torch
from torch import nn

device = torch.device("cuda:0")
model = nn.DataParallel(nn.Linear(4, 1)).cuda()
other = nn.Linear(4, 1).cuda(device).cuda("cuda").cuda(0)
words = nn.EmbeddingBag(20, 4, mode="sum", sparse=True).cuda()
print("loss of CUDA", torch.version.cuda is None)
for epoch in range(3):
    optimizer = torch.optim.Adam([*model.parameters(), *other.parameters()])
    second = torch.optim.SGD(words.parameters(), lr=0.1)
    for size in (8, 8, 5):
        x = words(torch.arange(size).cuda(), torch.arange(size).cuda())
        loss = model(x).pow(2).sum() + other(x).pow(2).sum()
        optimizer.zero_grad()
        second.zero_grad()
        loss.backward()
        optimizer.step()
        second.step()
    warnings.warn("the loss 3 is high")
    if loss < 0:
        torch.cuda.empty_cache()
    print("loss", loss.item())
"""
BY_HAND = """import torch

w = torch.ones(2, device="cuda", requires_grad=True)
for i in range(100):
    loss = (w * i).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.001 * w.grad
"""


def verified(python: str, code: str, folder: Path, *options: str) -> dict:
    (folder / "pyproject.toml").write_text("")
    (folder / "train_loss.py").write_text(code)
    command = [
        sys.executable,
        "-m",
        "porter",
        "verify",
        "--python",
        python,
        *options,
        "--format",
        "json",
        "train_loss.py",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_steps_go_on_with_a_new_optimiser_and_a_short_batch_is_no_dynamic_shape(
    virtual_npu: VirtualNpu, tmp_path: Path
) -> None:
    run = verified(virtual_npu.warm.path, EPOCHS, tmp_path)
    assert run["verdict"] == "equal"
    # `if loss < 0:` stands in the line above
    missed = 1 + next(n for n, line in enumerate(EPOCHS.splitlines(), 1) if "empty_cache" in line)
    assert run["edited_statements"]["not_run"] == [f"train_loss.py:{missed}"]
    assert (run["original"]["steps"], run["ported"]["steps"]) == (9, 9)
    assert [o["name"] for o in run["ported"]["operators"] if o["late_shapes"]] == []
    # a warning begins with the file it comes from, which lies elsewhere in each run
    assert not [curve["name"] for curve in run["curves"] if "train_loss" in curve["name"]]


@pytest.mark.slow
def test_steps_are_counted_by_backward_where_no_optimiser_is_made(virtual_npu: VirtualNpu, tmp_path: Path) -> None:
    run = verified(virtual_npu.warm.path, BY_HAND, tmp_path, "--steps", "4")
    assert {curve["name"]: len(curve["ported"]) for curve in run["curves"]} == {
        "loss": 4,
        "random state of the device": 4,
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/tmp/x/my_loss.py:12: UserWarning: loss 0.5 is low", [("loss", "0.5")]),
        ("my_loss.py:12: UserWarning: careful", []),
        ("[INFO|my_loss.py:12] loss 0.5", [("loss", "0.5")]),
        (
            "2026-11-26 09:03:12.5 | DEBUG | __main__:get_loss:12 - losses: 1 loss: 0.5",
            [("losses", "1"), ("loss", "0.5")],
        ),
        ('  File "/tmp/loss.py", line 12, in loss', []),
        ("loss: 0.5", [("loss", "0.5")]),
    ],
)
def test_a_place_is_no_number(line: str, expected: list[tuple[str, str]]) -> None:
    assert list(numbers(line)) == expected
