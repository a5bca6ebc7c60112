"""Decisions that a run tells: what a program asks for, in each way of asking. Stand-ins take the place of the device."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from porter.verify.install import RUNTIME
from tests import verify_world

WATCHED = """
import importlib.util, json, os, sys, types
import torch

events = []
native = types.SimpleNamespace(event=lambda *event: events.append(event), as_cpu=lambda tensor: tensor)
names = ("manual_seed", "manual_seed_all", "set_device", "set_rng_state")
torch.npu = types.SimpleNamespace(**dict.fromkeys(names, lambda *_: None))
scaler = type("GradScaler", (), {})
sys.modules["torch_npu"] = types.SimpleNamespace(npu=types.SimpleNamespace(amp=types.SimpleNamespace(GradScaler=scaler)))
sys.modules["virtual_npu"] = types.SimpleNamespace(native=native)
spec = importlib.util.spec_from_file_location("decisions", sys.argv[1])
decisions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(decisions)
decisions.watch(os.getcwd() + os.sep)
sys.path.insert(0, os.getcwd())
import program

print(json.dumps([name for name, _ in events]))
"""
LIBRARY = """
import torch


@torch.no_grad()
def own(x):
    return x + 1
"""


def events(folder: Path, program: str) -> list[str]:
    """What a run of the program tells; `library` lies elsewhere than the program."""
    python = verify_world.with_torch()
    for name, text in (("project/program.py", program), ("elsewhere/library.py", LIBRARY)):
        (folder / name).parent.mkdir()
        (folder / name).write_text("import torch\n\nx = torch.ones(2)\n" + text, encoding="utf-8")
    done = subprocess.run(
        [python.path, "-c", WATCHED, str(RUNTIME / "virtual_npu" / "decisions.py")],
        cwd=folder / "project",
        env=os.environ | {"PYTHONPATH": str(folder / "elsewhere")},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    told: list[str] = json.loads(done.stdout)
    return told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("with torch.no_grad():\n    x + 1\n", ["no_grad"]),
        ("@torch.no_grad()\ndef f(x):\n    return x + 1\n\n\nf(x)\nf(x)\n", ["no_grad", "no_grad"]),
        (
            "class A:\n    @torch.inference_mode()\n    def f(self):\n        return x + 1\n\n\nA().f()\n",
            ["inference_mode"],
        ),
        ("@torch.no_grad()\ndef f(x):\n    yield x + 1\n\n\nlist(f(x))\n", ["no_grad", "no_grad"]),
        ("from library import own\n\nown(x)\n", []),
        ("torch.optim.SGD([x.requires_grad_()], lr=0.1).step()\n", ["requires_grad_", "Optimizer"]),
    ],
)
def test_a_context_is_told_of_who_asks_for_it(tmp_path: Path, program: str, told: list[str]) -> None:
    assert events(tmp_path, program) == told
