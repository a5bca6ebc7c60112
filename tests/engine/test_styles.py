"""Styles are one class each: the same rules, asked for another spelling."""

from __future__ import annotations

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.engine.session import Session
from porter.engine.style_of import STYLES
from porter.engine.together import lines_of
from porter.finding import apply
from porter.target import STYLES as NAMES
from porter.target import Target

BEFORE = """import torch
import torch.distributed as dist


def main(model, batch, rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.cuda()
    batch = batch.cuda(non_blocking=True)
    other = torch.zeros(3, device=f"cuda:{rank}").cuda(rank)
    if batch.is_cuda and other.is_cuda:
        torch.cuda.synchronize()
        torch.cuda.nvtx.mark("here")
    return device, model
"""
HEAD = """accelerator_type = getattr(torch.accelerator.current_accelerator(), "type", "cuda")
"""
BACKEND = """accelerator_backend = {"npu": "hccl", "xpu": "xccl"}.get(accelerator_type, "nccl")
"""
MODULE = """accelerator_module = torch.get_device_module(accelerator_type)
"""
AFTER = f"""import torch
import torch.distributed as dist

{HEAD}{BACKEND}

def main(model, batch, rank):
    dist.init_process_group(accelerator_backend)
    torch.accelerator.set_device_index(rank)
    device = accelerator_type if torch.accelerator.is_available() else "cpu"
    model = model.to(accelerator_type)
    batch = batch.to(accelerator_type, non_blocking=True)
    other = torch.zeros(3, device=f"{{accelerator_type}}:{{rank}}").cuda(rank)
    if batch.device.type == accelerator_type and other.device.type == accelerator_type:
        torch.accelerator.synchronize()
        torch.cuda.nvtx.mark("here")
    return device, model
"""


def session(style: str) -> Session:
    return open_session(target=Target(style=style))


def test_portable() -> None:
    result = analyse("a.py", BEFORE.encode(), session("portable"))
    assert apply(BEFORE.encode(), result.auto).decode() == AFTER
    assert apply(BEFORE.encode(), result.review).decode() == AFTER.replace(".cuda(rank)", ".to(rank)")
    assert not [f for f in result.findings if f.code == "PRT003"]


def test_what_portable_cannot_write_is_left_to_a_person() -> None:
    result = analyse("a.py", BEFORE.encode(), session("portable"))
    left = {(f.line, f.code) for f in result.findings if f.status == "manual"}
    assert left == {(14, "PRT111")}


UNCERTAIN = b"""import torch
import torch.distributed as dist

def main(model, kw, rest):
    dist.init_process_group("cpu:gloo,cuda:nccl")
    dist.init_process_group(f"nccl")
    dist.init_process_group("nc" "cl")
    a = model.cuda(**kw)
    b = model.cuda(*rest)
    c = torch.zeros(3, device="cu" "da")

@torch.jit.script
def scripted(x):
    return x if x.is_cuda else None
"""


def test_portable_writes_nothing_where_it_would_have_to_guess() -> None:
    """Several backends, strings in parts, arguments that nobody sees, and what a compiler of TorchScript reads."""
    result = analyse("a.py", UNCERTAIN, session("portable"))
    assert not result.auto and not result.review
    assert {line for f in result.findings for line in lines_of(f)} >= {5, 6, 7, 8, 9, 14}
    assert {f.status for f in result.findings} == {"manual"}


@pytest.mark.parametrize("style", ["rename", "portable"])
def test_both_find_the_same_places(style: str) -> None:
    places = [(f.line, f.column, f.code) for f in analyse("a.py", BEFORE.encode(), session(style)).findings]
    assert places == [(f.line, f.column, f.code) for f in analyse("a.py", BEFORE.encode(), session("rename")).findings]


def test_aliases_of_the_cuda_module_stay_a_persons_job() -> None:
    code = b"import torch.cuda as C\n\nC.synchronize()\n"
    result = analyse("a.py", code, session("portable"))
    assert not result.review and {f.status for f in result.findings} == {"manual"} and len(result.findings) == 2


def test_every_style_has_a_class() -> None:
    assert tuple(STYLES) == NAMES


TESTS = b"""import unittest

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x.to("cuda")


def doubled(x):
    return torch.zeros(2, device="cuda") + x


def measured():
    return [torch.device("cpu"), torch.device("cuda")]


class TestNet(unittest.TestCase):
    def test_on_a_device(self):
        self.compared(device="cuda")

    def compared(self, device):
        return torch.jit.script(Net())(torch.zeros(2, device=device)), torch.jit.script(doubled)
"""


def test_tests_beside_scripts_are_no_scripts() -> None:
    ported = {f.line for f in analyse("tests/test_net.py", TESTS, session("portable")).findings if f.status == "auto"}
    assert ported == {16, 21}
    assert not analyse("net.py", TESTS, session("portable")).auto
