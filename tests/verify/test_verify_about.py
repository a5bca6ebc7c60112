"""Whose version an error speaks of, and names of torch.cuda that libraries reach by another way: on the device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from virtual_device import VirtualNpu

_ORIGINAL = {"VIRTUAL_NPU_ORIGINAL": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
LIBRARY = """
class Trainer:
    def __init__(self, model): pass

    def train(self):
        return self.loss(items=3)


def call(function):
    return function(1, 2)
"""
HEAD = "import library, ours, torch\nfrom library import Trainer\n"
CASES = {
    "an argument that is gone": ("Trainer(model=1, beta=2)", "library "),
    "the same behind its module": ("library.Trainer(model=1, beta=2)", "library "),
    "a name that is gone": ("Trainer(1).beta", "library "),
    "an own class that is handed more": (
        "class Mine(Trainer):\n    def loss(self): pass\nMine(1).train()", "library ",
    ),
    "its own class": ("ours.call(beta=2)", ""),
    "its own object": ("ours.Own().beta", ""),
    "a module of its own, of torch's class": ("torch.nn.Linear(2, 2).encoder", ""),
    "a property of the device": ("torch.cuda.get_device_properties(0).uuid", "virtual_npu "),
    "a fused optimiser under the scaler of torch_npu": (
        "from torch_npu.npu.amp.grad_scaler import GradScaler\nw = torch.ones(1, device='cuda', requires_grad=True)\n"
        "scaler = GradScaler()\nscaler.scale(w.sum()).backward()\n"
        "scaler.step(torch.optim.Adam([w], fused=True))", "torch_npu 2.13.0",
    ),
    "Python's": ("import argparse; argparse.Namespace().beta", ""),
    "another mistake": ("int('one')", ""),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_which_package_an_error_speaks_of(name: str, virtual_npu: VirtualNpu, tmp_path: Path) -> None:
    code, expected = CASES[name]
    tree, recorded, site = tmp_path / "tree", tmp_path / "recorded", tmp_path / "site"
    for folder in (tree, recorded, site):
        folder.mkdir()
    (site / "library.py").write_text(LIBRARY)
    (tree / "ours.py").write_text("class Own: pass\n\n\ndef call(): pass\n")
    (tree / "train.py").write_text(HEAD + code + "\n")
    path = {"PYTHONPATH": f"{virtual_npu.environment()['PYTHONPATH']}:{site}"}
    root = {"VIRTUAL_NPU_RECORD": str(recorded), "VIRTUAL_NPU_ROOT": f"{tree}/"}
    done = virtual_npu.run([str(tree / "train.py")], **_ORIGINAL, **root, **path)
    rows = [json.loads(line) for file in recorded.glob("*.jsonl") for line in file.read_text().splitlines()]
    assert [row["value"]["about"] for row in rows if row["kind"] == "error"] == [expected], done.stderr


NAMES = """
import torch, torch.cuda.random
states = torch.cuda.random.get_rng_state_all()
drawn = torch.rand(3, device="cuda")
torch.cuda.random.set_rng_state_all(states)
assert torch.equal(drawn, torch.rand(3, device="cuda"))
assert torch.cuda.random.current_device() == 0
assert torch.cuda.memory.memory_allocated() == torch.cuda.memory_allocated() > 0
assert torch.cuda.streams.Stream is torch.cuda.Stream
print("done")
"""


FUSED = """
import torch, torch_npu
x = torch.randn(2, 8, device="cuda", requires_grad=True)
torch_npu.npu_geglu(x, dim=-1, approximate=1)[0].sum().backward()
assert x.grad.is_cuda and x.grad.abs().sum() > 0
print("done")
"""


@pytest.mark.slow
def test_a_fused_operator_that_a_library_calls_of_itself_has_a_gradient(virtual_npu: VirtualNpu) -> None:
    done = virtual_npu.program(FUSED, **_ORIGINAL)
    assert done.stdout == "done\n", done.stderr


SCALED = """
import torch, torch_npu
weight = torch.ones(1, device="cuda", requires_grad=True)
optimizer, scaler = torch.optim.AdamW([weight], fused=True), torch.npu.amp.GradScaler()
scaler.scale(weight.sum()).backward()
scaler.step(optimizer)
scaler.update()
assert weight.item() < 1
print("done")
"""


@pytest.mark.slow
def test_a_library_that_finds_an_npu_has_the_scaler_of_a_gpu_in_the_original(virtual_npu: VirtualNpu) -> None:
    done = virtual_npu.program(SCALED, **_ORIGINAL)
    assert done.stdout == "done\n", done.stderr


DEFAULT = """
import torch
torch.set_default_device("cuda")
assert torch.ones(2).is_cuda and torch.get_default_device().type == "cuda"
loader = torch.utils.data.DataLoader(range(4), shuffle=True, generator=torch.Generator("cuda"))
assert len(list(loader)) == 4
torch.set_default_device(None)
with torch.device("cuda:0"):
    assert torch.empty(2).device == torch.device("cuda:0")
assert torch.ones(2).device.type == "cpu"
print("done")
"""


@pytest.mark.slow
def test_cuda_may_be_the_default_device(virtual_npu: VirtualNpu) -> None:
    done = virtual_npu.program(DEFAULT, **_ORIGINAL)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.slow
def test_modules_below_torch_cuda_have_its_functions(virtual_npu: VirtualNpu) -> None:
    done = virtual_npu.program(NAMES, **_ORIGINAL)
    assert done.stdout == "done\n", done.stderr
