"""Whose fault it is that a run was not verified: by what both runs left, and with programs that really run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from virtual_device import VirtualNpu

from porter.rulebook.words import words
from porter.verify.compare import compare
from porter.verify.culprit import ENVIRONMENT, LIMIT, ORIGINAL, PORT, TORCH_NPU, VIRTUAL, Culprit, blamed, stops_early
from porter.verify.launch import Outcome
from porter.verify.noise import explains
from porter.verify.records import Error, Operator, Point, Records


def ended(kind: str = "", text: str = "", code: int | None = 1, touched: bool = True, about: str = "") -> Outcome:
    used = [Operator("aten::add", "m.py:1", "native", False, 1, 1, "Float", 1, ())] if touched else []
    return Outcome(code, "", Records(operators=used, errors=[Error(0, kind, text, "m.py:1", about)] if kind else []))


RAN = ended(code=0)


@pytest.mark.parametrize(
    ("original", "port", "expected"),
    [
        (RAN, ended("AssertionError", "Torch not compiled with CUDA enabled"), Culprit(PORT)),
        (RAN, ended("ModuleNotFoundError", "No module named 'apex'"), Culprit(PORT)),
        (RAN, None, Culprit(PORT)),
        (RAN, ended(code=None), Culprit(PORT)),
        (RAN, ended("RuntimeError", "virtual NPU: only dense tensors are simulated (aten::to)"),
         Culprit(VIRTUAL, "only dense tensors are simulated (aten::to)")),
        (ended("InductorError", "AssertionError: "), None,
         Culprit(VIRTUAL, "it has no compiler for torch.compile (InductorError)")),
        (RAN, ended("NotImplementedError", "Could not run 'aten::fft' with arguments from the 'PrivateUse1' backend."),
         Culprit(TORCH_NPU, "Could not run 'aten::fft' with arguments from the 'PrivateUse1' backend")),
        (ended("ModuleNotFoundError", "No module named 'einops.layers'"), None,
         Culprit(ENVIRONMENT, "No module named 'einops.layers'")),
        (ended("ModuleNotFoundError", "No module named 'ours.layers'"), None, Culprit(ORIGINAL)),
        (ended("AttributeError", "module 'numpy' has no attribute 'float'."), RAN,
         Culprit(ENVIRONMENT, "module 'numpy' has no attribute 'float'", "ran")),
        (ended("AttributeError", "module 'torch_npu.npu' has no attribute 'jiterator'"), None,
         Culprit(TORCH_NPU, "module 'torch_npu.npu' has no attribute 'jiterator'")),
        (ended("FileNotFoundError", "[Errno 2] No such file or directory: 'w.pt'"), None,
         Culprit(ENVIRONMENT, "No such file or directory: 'w.pt'")),
        (ended(code=None), None, Culprit(ENVIRONMENT, "", LIMIT)),
        (ended(code=-9), None, Culprit(ENVIRONMENT, "SIGKILL")),
        (ended(code=-11), None, Culprit(ORIGINAL)),
        (ended("ValueError", "rank 3 on cuda:0"), ended("ValueError", "rank 4 on npu:0"), Culprit(ORIGINAL, "", "alike")),
        (ended("ValueError", "one"), ended("ValueError", "two"), Culprit(ORIGINAL)),
        # another version of a library
        (ended("TypeError", "DPOTrainer.__init__() got an unexpected keyword argument 'beta'", about="trl 1.16.0"), None,
         Culprit(ENVIRONMENT, "trl 1.16.0: DPOTrainer.__init__() got an unexpected keyword argument 'beta'")),
        (ended("ValueError", "The binary mode of fromstring is removed, use frombuffer"), None,
         Culprit(ENVIRONMENT, "The binary mode of fromstring is removed, use frombuffer")),
        (ended("ImportError", "FlashAttention2 cannot be used: flash_attn seems to be not installed."), None,
         Culprit(ENVIRONMENT, "FlashAttention2 cannot be used: flash_attn seems to be not installed")),
        (ended("RuntimeError", "DeepSpeedCPUAdam requires the cpu_adam op, which failed to build/load."), None,
         Culprit(ENVIRONMENT, "DeepSpeedCPUAdam requires the cpu_adam op, which failed to build/load")),
        (ended("TclError", "no display name and no $DISPLAY environment variable"), None,
         Culprit(ENVIRONMENT, "no display name and no $DISPLAY environment variable")),
        (ended("error", "OpenCV(5.0.0) /io/opencv/modules/highgui/src/window.cpp:1215: error: (-2)"), None,
         Culprit(ENVIRONMENT, "OpenCV(5.0.0) /io/opencv/modules/highgui/src/window.cpp:1215: error: (-2)")),
        (ended("ImportError", "attempted relative import with no known parent package"), None, Culprit(ORIGINAL)),
        (ended("ImportError", "cannot import name 'a' from partially initialized module 'ours.b'"), None,
         Culprit(ORIGINAL)),
        # it ran on a GPU: what is not translated is no fault of the original's, what is left over is the port's
        (ended("AttributeError", "module 'torch._C' has no attribute '_cuda_getDevice'"), RAN,
         Culprit(VIRTUAL, "module 'torch._C' has no attribute '_cuda_getDevice'", "ran")),
        (RAN, ended("AttributeError", "module 'torch._C' has no attribute '_cuda_getDevice'"), Culprit(PORT)),
        (ended("AttributeError", "'_Properties' object has no attribute 'uuid'", about="virtual_npu "), None,
         Culprit(VIRTUAL, "'_Properties' object has no attribute 'uuid'")),
        (ended("TypeError", "Adam.step() got an unexpected keyword argument 'grad_scaler'", about="torch_npu 2.13.0"), None,
         Culprit(TORCH_NPU, "torch_npu 2.13.0: Adam.step() got an unexpected keyword argument 'grad_scaler'")),
        (ended("RuntimeError", "No backend for the parent process group or its backend does not support splitting"), None,
         Culprit(TORCH_NPU, "No backend for the parent process group or its backend does not support splitting")),
        (ended("RuntimeError", "Cannot insert a Tensor that requires grad as a constant. Consider"), None,
         Culprit(ORIGINAL)),
    ],
)  # fmt: skip
def test_who_is_blamed(original: Outcome, port: Outcome | None, expected: Culprit) -> None:
    verdict = "original" if not original.ran else "port"
    assert blamed(original, port, verdict, {"ours"}) == expected


def test_nobody_is_blamed_for_what_agrees_and_each_side_for_its_own() -> None:
    assert [blamed(RAN, RAN, verdict, ()) for verdict in ("equal", "close", "smoke")] == [None] * 3
    assert blamed(RAN, RAN, "apart", ()) == Culprit(PORT)
    assert blamed(RAN, RAN, "silent", ()) == Culprit(ORIGINAL)
    assert blamed(None, ended("ValueError", "x"), "port", ()) == Culprit(PORT)
    absent = ended("ModuleNotFoundError", "No module named 'einops'")
    assert blamed(None, absent, "port", ()) == Culprit(ENVIRONMENT, "No module named 'einops'")


def test_the_port_is_run_where_it_can_say_something() -> None:
    assert stops_early(ended("ValueError", "x", touched=False)) and stops_early(ended(code=None))
    assert not stops_early(RAN) and not stops_early(ended("ValueError", "x"))


TRAINS = """import torch
w = torch.ones(2, device="cuda", requires_grad=True)
for i in range(2):
    (w * i).sum().backward()
"""
PROGRAMS = {
    "verified": (TRAINS, 0, "verdict.equal"),
    "port": (TRAINS + 'name = "cu" + "da"\nprint(torch.ones(1).to(name) + w)\n', 1, "culprit.port"),
    "library": (
        TRAINS + 'if str(w.device)[0] != "c":\n    torch.cosh(w).sum().backward()\nelse:\n    w.sum().backward()\n',
        1, "verdict.apart",
    ),
    "original": (TRAINS + "raise ValueError('a batch is broken')\n", 3, "culprit.original"),
    "package": ("import no_such_package\n" + TRAINS, 4, "culprit.environment.of-original"),
    "data": (TRAINS.replace("for", "x = torch.load('weights.pt')\nfor"), 4, "culprit.environment.of-original"),
    "operator": (TRAINS + "torch.sparse.mm(torch.eye(2).to_sparse().cuda(), w[:, None])\n", 5, "culprit.torch-npu.of-original"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_verdict_of_a_program_and_its_exit_code(virtual_npu: VirtualNpu, name: str, tmp_path: Path) -> None:
    code, exit_code, key = PROGRAMS[name]
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(code)
    command = [sys.executable, "-m", "porter", "verify", "--python", virtual_npu.warm.path, "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert words("verify", "en")[key].partition("{")[0] in done.stdout
    assert ("not run, as" in done.stdout) is (name == "package")
    assert ("port: aten::cosh" in done.stdout) is (name == "library")
    assert ("What this proves" in done.stdout) is (name == "verified")


def points(*values: float) -> Outcome:
    return Outcome(0, "", Records(series={"loss": [Point(value, "m.py:1") for value in values]}))


@pytest.mark.parametrize(
    ("port", "again", "explained"),
    [
        ((1.0, 2.0 + 2e-9), (1.0, 2.0 + 1e-9), True),
        ((1.0, 2.1), (1.0, 2.0 + 1e-9), False),  # the noise of the original is smaller by far
        ((1.0, 2.1), (1.0, 2.0), False),
        ((1.0,), (1.0, 2.0 + 1e-9), True),
        ((1.0,), (1.0, 2.0), False),
    ],
)
def test_what_two_runs_of_the_original_differ_in_says_nothing_of_the_port(port, again, explained) -> None:
    first = points(1.0, 2.0)
    assert explains(compare(first, points(*again)), compare(first, points(*port))) is explained


UNSTEADY = TRAINS.replace("w * i", "w * i + drawn").replace(
    "import torch\n",
    "import time, torch\ndrawn = time.monotonic()  # two runs differ by more than what lies between them\n",
)


@pytest.mark.slow
def test_an_original_that_parts_from_itself_is_blamed(virtual_npu: VirtualNpu, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(UNSTEADY)
    command = [sys.executable, "-m", "porter", "verify", "--python", virtual_npu.warm.path, "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 3, done.stdout + done.stderr
    assert words("verify", "en")["culprit.unsteady"] in done.stdout
