"""A count of devices by which another file multiplies its batches, and before which it asks for GPUs itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

PROGRAM = "import torch\nfrom pet.wrapper import train\n\nargs.n_gpu = torch.cuda.device_count()\ntrain(net.cuda(), 4, args.n_gpu)\n"
WRAPPER = """import torch


def train(model, per_gpu, n_gpu):
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    size = per_gpu * max(1, n_gpu)
    return model, size
"""


@pytest.mark.parametrize(
    ("path", "wrapper", "why"),
    [
        ("run.py", WRAPPER, "batches"),
        ("other/run.py", WRAPPER, "default"),  # of another program
        ("run.py", WRAPPER.replace("max(1, n_gpu)", "2"), "default"),
        ("run.py", WRAPPER.replace("torch.cuda.device_count() > 1", "n_gpu > 1"), "default"),
    ],
)
def test_the_count_stays_with_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path, wrapper, why) -> None:
    write(tmp_path, {f"a/{path}": PROGRAM, "a/pet/wrapper.py": wrapper, "porter.toml": ""})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)["findings"]
    told = [f["why"] for f in found if f["path"] == f"a/{path}" and f["code"] == "PRT101"]
    assert told == [why]
