"""The style portable: one code base, in which each place means on a GPU what it meant before."""

from __future__ import annotations

import pytest

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.engine.facts import Facts, OwnCode
from porter.engine.session import Session
from porter.finding import apply
from porter.target import Target

TYPE = 'accelerator_type = getattr(torch.accelerator.current_accelerator(), "type", "cuda")'
MODULE = "accelerator_module = torch.get_device_module(accelerator_type)"
BACKEND = 'accelerator_backend = {"npu": "hccl", "xpu": "xccl"}.get(accelerator_type, "nccl")'


def session(torch_npu: str = "2.7.1.post11") -> Session:
    return open_session(target=Target(torch_npu=torch_npu, style="portable"))


def ported(code: str, unsafe: bool = False, **options: str) -> str:
    result = analyse("a.py", code.encode(), session(**options))
    assert not [f for f in result.findings if f.code in ("PRT003", "PRT004")], result.findings
    return apply(code.encode(), result.review if unsafe else result.auto).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"cuda"', "accelerator_type"),
        ('"cuda:0"', 'f"{accelerator_type}:0"'),
        ("'cuda:0'", "f'{accelerator_type}:0'"),
        ('f"cuda:{i}"', 'f"{accelerator_type}:{i}"'),
        ('"cuda:%d" % i', 'f"{accelerator_type}:%d" % i'),
        ('"cuda:{}".format(i)', 'f"{accelerator_type}:{{}}".format(i)'),
        ('torch.device("cuda", i)', "torch.device(accelerator_type, i)"),
    ],
)
def test_devices(before: str, after: str) -> None:
    code = "import torch\n\n\ndef main(i):\n    return torch.zeros(1, device={})\n"
    assert ported(code.format(before)) == code.format(after).replace("torch\n", f"torch\n\n{TYPE}\n", 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.cuda()", "x.to(accelerator_type)"),
        ("x.cuda(non_blocking=True)", "x.to(accelerator_type, non_blocking=True)"),
        ('x.cuda("cuda:1")', 'x.to(f"{accelerator_type}:1")'),
        ("x.cuda(0)", "x.to(0)"),
        ("x.cuda(0, True)", "x.to(0, non_blocking=True)"),
        ("x.is_cuda", "x.device.type == accelerator_type"),
        ("x.is_cuda != y.is_cuda", "(x.device.type == accelerator_type) != (y.device.type == accelerator_type)"),
        ("torch.cuda.synchronize()", "torch.accelerator.synchronize()"),
        ("torch.cuda.empty_cache()", "accelerator_module.empty_cache()"),
        ("torch.cuda.amp.autocast(enabled=x)", "accelerator_module.amp.autocast(enabled=x)"),
        ("torch.cuda.FloatTensor(3)", "accelerator_module.FloatTensor(3)"),
        ('torch.autocast("cuda")', "torch.autocast(accelerator_type)"),
        ("torch.amp.GradScaler()", "torch.amp.GradScaler(accelerator_type)"),
        ("torch.random.fork_rng()", "torch.random.fork_rng(device_type=accelerator_type)"),
        ("torch.cuda.get_device_name(device=0)", "accelerator_module.get_device_name(0)"),
    ],
)
def test_calls(before: str, after: str) -> None:
    code = "import torch\n\n\ndef main(x: torch.Tensor):\n    return {}\n"
    result = ported(code.format(before))
    assert code.partition("{}")[0].partition("def")[2] in result
    assert result.endswith(f"return {after}\n")
    assert (TYPE in result) == ("accelerator_" in after) and (MODULE in result) == ("accelerator_module" in after)


def test_a_second_look_changes_nothing() -> None:
    once = ported("import torch\n\nmodel = torch.nn.Linear(1, 1).cuda()\ntorch.cuda.empty_cache()\n")
    assert once == (
        f"import torch\n\n{TYPE}\n{MODULE}\n\nmodel = torch.nn.Linear(1, 1).to(accelerator_type)\n"
        "accelerator_module.empty_cache()\n"
    )
    assert ported(once, unsafe=True) == once
    assert not analyse("a.py", once.encode(), session()).findings


def test_what_is_bound_already_is_used() -> None:
    code = f"import torch\n\n{TYPE}\n\ntorch.cuda.empty_cache()\n"
    new = ported(code, unsafe=True)  # to look at: the file asks for the accelerator itself
    assert new == f"import torch\n\n{TYPE}\n\n{MODULE}\n\naccelerator_module.empty_cache()\n"


@pytest.mark.parametrize(
    "head",
    [
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        "import torch\n\naccelerator_type = 3\n",
        "import torch\n\n\ndef accelerator_type():\n    pass\n",
        "from .backend import torch\n",
    ],
)
def test_nothing_is_written_where_the_names_cannot_be_bound(head: str) -> None:
    code = head + '\n\ndef main(x):\n    return x.to("cuda")\n'
    assert ported(code, unsafe=True) == code
    assert {f.status for f in analyse("a.py", code.encode(), session()).findings} == {"manual"}


def test_torch_that_a_star_import_brings_is_imported_once_more() -> None:
    code = "import os\nfrom utils import *\nfrom model import Net\n\ndevice = torch.device('cuda', 0)\nnet = Net().cuda()\n"
    once = ported(code)
    assert once == (
        f"import os\nfrom utils import *\nfrom model import Net\n\nimport torch\n\n{TYPE}\n\n"
        "device = torch.device(accelerator_type, 0)\nnet = Net().to(accelerator_type)\n"
    )
    assert ported(once, unsafe=True) == once


def test_a_place_above_the_head_stays() -> None:
    code = 'DEVICE = "cuda"\n\nimport torch\n\nx = torch.zeros(1, device=DEVICE)\n'
    assert ported(code, unsafe=True) == code


OLDER = """import torch

try:
    import torch_npu  # noqa: F401

    accelerator_type = "npu"
except ImportError:
    accelerator_type = "cuda"
accelerator_module = getattr(torch, accelerator_type)
accelerator_backend = "hccl" if accelerator_type == "npu" else "nccl"


def main(x: torch.Tensor, rank: int):
    torch.distributed.init_process_group(accelerator_backend)
    accelerator_module.synchronize()
    return x.to(accelerator_type), x.cuda(rank)
"""


def test_an_older_torch_has_no_accelerator_to_ask() -> None:
    code = """import torch


def main(x: torch.Tensor, rank: int):
    torch.distributed.init_process_group("nccl")
    torch.cuda.synchronize()
    return x.cuda(), x.cuda(rank)
"""
    # torch 2.6 has torch.accelerator, and raises where a machine has none
    for torch_npu in ("2.5.1", "2.6.0"):
        assert ported(code, torch_npu=torch_npu) == OLDER.replace("x.cuda(rank)", "x.to(rank)")
    older = OLDER.replace("x.cuda(rank)", "x.to(torch.device(accelerator_type, rank))")
    assert ported(code, torch_npu="2.1.0", unsafe=True) == older
    assert ported(older, torch_npu="2.1.0", unsafe=True) == older


def test_the_name_that_torch_has_here() -> None:
    code = 'import torch as th\n\nx = th.zeros(1, device="cuda")\n'
    head = TYPE.replace("torch", "th")
    assert ported(code) == f"import torch as th\n\n{head}\n\nx = th.zeros(1, device=accelerator_type)\n"


def test_torch_is_imported_where_only_its_parts_are() -> None:
    code = "from torch import nn\n\nmodel = nn.Linear(1, 1).cuda()\n"
    after = f"from torch import nn\n\nimport torch\n\n{TYPE}\n\nmodel = nn.Linear(1, 1).to(accelerator_type)\n"
    assert ported(code) == after


IMPORTS = """import torch
from torch.cuda.amp import GradScaler, autocast as cast
from torch.cuda import synchronize
import os


def main(x: torch.Tensor):
    with cast():
        return GradScaler(), synchronize()
"""


def test_imports_go_to_the_head() -> None:
    assert (
        ported(IMPORTS)
        == f"""import torch
import os

{TYPE}
{MODULE}
GradScaler = accelerator_module.amp.GradScaler
cast = accelerator_module.amp.autocast
synchronize = torch.accelerator.synchronize


def main(x: torch.Tensor):
    with cast():
        return GradScaler(), synchronize()
"""
    )


def test_a_name_that_torch_accelerator_has_needs_no_other() -> None:
    code = "import torch\nfrom torch.cuda import synchronize\n\nsynchronize()\n"
    assert ported(code) == "import torch\n\nsynchronize = torch.accelerator.synchronize\n\nsynchronize()\n"


@pytest.mark.parametrize(
    "line",
    [
        "from torch.cuda.amp import (  # old\n    autocast,\n)\n",  # the comment would go
        "from torch.cuda.nvtx import range_push\n",  # nothing of that name there
        "from torch import cuda, nn\n",
    ],
)
def test_imports_that_stay(line: str) -> None:
    code = f"import torch\n{line}"
    assert ported(code, unsafe=True) == code


def test_backends() -> None:
    code = """import torch.distributed as dist
import torch


def main(rank):
    dist.init_process_group("nccl", rank=rank)
    assert dist.get_backend() != "nccl" or dist.is_nccl_available()
"""
    assert (
        ported(code)
        == f"""import torch.distributed as dist
import torch

{TYPE}
{BACKEND}


def main(rank):
    dist.init_process_group(accelerator_backend, rank=rank)
    assert dist.get_backend() != accelerator_backend or dist.is_backend_available(accelerator_backend)
"""
    )


def test_choices_gain_the_other_word() -> None:
    code = """import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
args = parser.parse_args()
x = torch.zeros(1, device=args.device)
"""
    assert 'default=accelerator_type, choices=["cuda", "npu", "cpu"]' in ported(code)


@pytest.mark.parametrize(
    ("line", "below"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', 'os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"'),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)', 'os.environ["ASCEND_RT_VISIBLE_DEVICES"] = str(gpu)'),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = pick_free()', ""),
        ('seen = os.environ["CUDA_VISIBLE_DEVICES"]', ""),
    ],
)
def test_variables_are_set_for_both(line: str, below: str) -> None:
    code = "import os\n\nimport torch\n\n\ndef main(gpu, pick_free):\n    {}\n"
    after = code.format(line) + (f"    {below}\n" if below else "")
    assert ported(code.format(line)) == after
    assert ported(after, unsafe=True) in (after, after + f"    {line.replace('CUDA_V', 'ASCEND_RT_V')}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "CUDA_VISIBLE_DEVICES=0,1 python train.py",
            "CUDA_VISIBLE_DEVICES=0,1 ASCEND_RT_VISIBLE_DEVICES=0,1 python train.py",
        ),
        ("export CUDA_VISIBLE_DEVICES=0", "export CUDA_VISIBLE_DEVICES=0 ASCEND_RT_VISIBLE_DEVICES=0"),
        (
            'export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"',
            'export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}" ASCEND_RT_VISIBLE_DEVICES="${ASCEND_RT_VISIBLE_DEVICES:-0}"',
        ),
        ("export CUDA_VISIBLE_DEVICES=$(pick)", "export CUDA_VISIBLE_DEVICES=$(pick)"),
        ("python train.py --device cuda", "python train.py --device cuda"),
    ],
)
def test_scripts_set_both(before: str, after: str) -> None:
    code = f"#!/bin/bash\n{before}\npython train.py\n"
    result = analyse("run.sh", code.encode(), session())
    assert apply(code.encode(), result.review).decode() == code.replace(before, after)


SCRIPTED = """import torch

{head}

@torch.jit.script
def positions(length: int):
    return torch.arange(length, device="cuda")


class Net(torch.nn.Module):
    def __init__(self):
        self.at = torch.zeros(1, device={device})

    def forward(self, x: torch.Tensor):
        return x.cuda() if not x.is_cuda else x


def main():
    return torch.jit.script(Net().{moved})
"""


def test_what_torchscript_may_compile_reads_no_names_of_the_module() -> None:
    code = SCRIPTED.format(head="", device='"cuda"', moved="cuda()")
    after = SCRIPTED.format(head=TYPE + "\n\n", device="accelerator_type", moved="to(accelerator_type)")
    assert ported(code, unsafe=True) == after


@pytest.mark.parametrize(("style", "new", "why"), [("rename", ".npu()", "attribute"), ("portable", ".to()", "type")])
def test_what_is_told_names_what_is_written(style: str, new: str, why: str) -> None:
    found = open_session(target=Target(torch_npu="2.7.1.post11", style=style))
    code = b"import torch\n\nx = torch.ones(2).cuda()\nassert x.is_cuda\n"
    moved, asked = (f for f in analyse("a.py", code, found).findings if f.code in ("PRT130", "PRT132"))
    assert dict(moved.values)["new"] == new and asked.why == why


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("requirements.txt", "torch==2.1.0\n"),
        ("a.py", "import torch\n\ntorch.backends.cudnn.deterministic = True\nx = torch.ones(2).cuda()\n"),
    ],
)
def test_what_would_change_a_gpu_is_told_and_not_edited(path: str, text: str) -> None:
    of_both, of_npus = (
        analyse(path, text.encode(), open_session(target=Target(torch_npu="2.7.1.post11", style=style)))
        for style in ("portable", "rename")
    )
    codes = {"PRT305", "PRT840"}
    assert {f.status for f in of_both.findings if f.code in codes} == {"manual"}
    assert {f.status for f in of_npus.findings if f.code in codes} <= {"auto", "review"}


def test_a_class_keeps_what_it_defines_and_nobody_else_loses_it() -> None:
    code = "import torch\n\n\nclass Batch:\n    def cuda(self):\n        return Batch(self.x.cuda())\n"
    assert ported(code, unsafe=True).endswith(code.partition("class")[2].replace("x.cuda()", "x.to(accelerator_type)"))
    assert "PRT131" not in {f.code for f in analyse("a.py", code.encode(), session()).findings}
    asked = "import torch\n\n\ndef f(x):\n    return x.is_cuda\n"
    assert "device.type" in ported(asked, unsafe=True)
    facts = Facts(own=OwnCode(is_cuda=("batch.py",)))
    found = open_session(target=Target(torch_npu="2.7.1.post11", style="portable"), facts=facts)
    result = analyse("a.py", asked.encode(), found)
    assert ([(f.why, f.status) for f in result.findings], result.review) == ([("unknown", "manual")], ())


def test_a_mac_is_no_accelerator_before_torch_2_7() -> None:
    """torch.accelerator of torch 2.6 knows Macs, and the head for it does not."""
    code = "import torch\n\n\ndef main():\n    return torch.cuda.is_available() and torch.cuda.device_count() > 1\n"
    asked = "accelerator_module.is_available() and accelerator_module.device_count() > 1\n"
    assert ported(code, torch_npu="2.6.0").endswith(asked)
    assert ported(code).endswith("torch.accelerator.is_available() and torch.accelerator.device_count() > 1\n")


def test_a_port_asks_nothing_that_the_torch_of_the_gpus_lacks() -> None:
    """A page has people install torch 2.5 on GPUs, which has no torch.accelerator; the torch_npu that comes next to it has."""
    code = "import torch\n\ntorch.cuda.synchronize()\n"
    target = Target(torch_npu="2.6.0.post5", style="portable", on_gpus=(2, 5, 1))
    port = apply(code.encode(), analyse("a.py", code.encode(), open_session(target=target)).auto).decode()
    assert port.endswith("accelerator_module = getattr(torch, accelerator_type)\n\naccelerator_module.synchronize()\n")
    assert "torch.accelerator" not in port


def test_a_backend_is_asked_as_the_torch_on_gpus_can() -> None:
    """is_backend_available came with torch 2.1."""
    code = "import torch.distributed as dist\n\nassert dist.is_nccl_available()\n"
    old = open_session(target=Target(torch_npu="2.1.0.post17", style="portable", on_gpus=(1, 13)))
    made = apply(code.encode(), analyse("a.py", code.encode(), old).auto).decode()
    assert made.endswith('assert getattr(dist, f"is_{accelerator_backend}_available")()\n')
    assert ported(code, torch_npu="2.1.0.post17").endswith("assert dist.is_backend_available(accelerator_backend)\n")
