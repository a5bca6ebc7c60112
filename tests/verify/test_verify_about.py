"""Whose version an error speaks of, and names of torch.cuda that libraries reach by another way: on the device."""

from __future__ import annotations

import json

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


# one process meets all of them, each as what ended a program of its own
ONE_BY_ONE = """import runpy, sys
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception:
        sys.excepthook(*sys.exc_info())
"""


@pytest.fixture(scope="module")
def told(virtual_npu: VirtualNpu, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[str]], str]:
    """What each error is about, by the file that it ended, and what was printed."""
    folder = tmp_path_factory.mktemp("about")
    tree, recorded, site = folder / "tree", folder / "recorded", folder / "site"
    for made in (tree, recorded, site):
        made.mkdir()
    (site / "library.py").write_text(LIBRARY)
    (tree / "ours.py").write_text("class Own: pass\n\n\ndef call(): pass\n")
    (tree / "train.py").write_text(ONE_BY_ONE)
    paths = [tree / f"case{number}.py" for number in range(len(CASES))]
    for path, (code, _) in zip(paths, CASES.values()):
        path.write_text(HEAD + code + "\n")
    path = {"PYTHONPATH": f"{virtual_npu.environment()['PYTHONPATH']}:{site}"}
    root = {"VIRTUAL_NPU_RECORD": str(recorded), "VIRTUAL_NPU_ROOT": f"{tree}/"}
    done = virtual_npu.run([str(tree / "train.py"), *map(str, paths)], **_ORIGINAL, **root, **path)
    rows = [json.loads(line) for file in recorded.glob("*.jsonl") for line in file.read_text().splitlines()]
    abouts: dict[str, list[str]] = {}
    for row in rows:
        if row["kind"] == "error":
            abouts.setdefault(row["where"].partition(":")[0], []).append(row["value"]["about"])
    return abouts, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_which_package_an_error_speaks_of(name: str, told: tuple[dict[str, list[str]], str]) -> None:
    abouts, said = told
    assert abouts.get(f"case{[*CASES].index(name)}.py") == [CASES[name][1]], said


NAMES = """
import torch, torch.cuda.random
states = torch.cuda.random.get_rng_state_all()
drawn = torch.rand(3, device="cuda")
torch.cuda.random.set_rng_state_all(states)
assert torch.equal(drawn, torch.rand(3, device="cuda"))
assert torch.cuda.random.current_device() == 0
assert torch.cuda.memory.memory_allocated() == torch.cuda.memory_allocated() > 0
assert torch.cuda.streams.Stream is torch.cuda.Stream
"""


FUSED = """
import torch, torch_npu
x = torch.randn(2, 8, device="cuda", requires_grad=True)
torch_npu.npu_geglu(x, dim=-1, approximate=1)[0].sum().backward()
assert x.grad.is_cuda and x.grad.abs().sum() > 0
"""


SCALED = """
import torch, torch_npu
weight = torch.ones(1, device="cuda", requires_grad=True)
optimizer, scaler = torch.optim.AdamW([weight], fused=True), torch.npu.amp.GradScaler()
scaler.scale(weight.sum()).backward()
scaler.step(optimizer)
scaler.update()
assert weight.item() < 1
"""


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
"""


PROGRAMS = {
    "modules below torch.cuda have its functions": NAMES,
    "a fused operator that a library calls of itself has a gradient": FUSED,
    "a library that finds an NPU has the scaler of a GPU": SCALED,
    "CUDA may be the default device": DEFAULT,
}
IN_TURN = """import json, sys, traceback
said = {}
for name, text in json.loads(sys.argv[1]).items():
    try:
        exec(text, {})
        said[name] = "done"
    except Exception:
        said[name] = traceback.format_exc()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(virtual_npu: VirtualNpu) -> dict[str, str]:
    """What each of them says; one process runs them."""
    done = virtual_npu.run(["-W", "ignore", "-c", IN_TURN, json.dumps(PROGRAMS)], **_ORIGINAL)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_in_an_original(name: str, said: dict[str, str]) -> None:
    assert said[name] == "done"
