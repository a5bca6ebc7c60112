"""Which accelerators a portable port leaves to the code."""

from __future__ import annotations

import pytest

from porter.project.left_accelerators import left
from porter.rulebook.table import hints


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        (b"torch.cuda.manual_seed_all(1)", True),
        (b"x.type(torch.cuda.FloatTensor)", True),
        (b"accelerator_module.max_memory_allocated()", True),
        (b"with torch.cuda.amp.autocast():", True),
        (b"from torch.cuda.amp import autocast", True),
        (b"from torch.cuda import amp", True),
        (b"torch.cuda.manual_seed(1)", False),
        (b"torch.cuda.is_available() and torch.cuda.device_count()", False),
        (b"torch.cuda.set_device(0)", False),
        (b"# torch.cuda.manual_seed_all(1)", False),
        (b"module = torch.cuda", False),
        (b"th.cuda.Stream()", True),
        (b"cuda.empty_cache(); cuda.amp.autocast()", True),
        (b"torch.cuda.current_stream()", True),
        (b"torch.backends.cuda.matmul.allow_tf32 = True", False),
        (b"x = x.to(device).double()", True),
        (b"x = x.type(torch.complex128)", True),
        (b"dtype = torch.double", True),
        (b"x = torch.from_numpy(array).to(device)", True),
        (b"x = x.float()  # no double()", False),
        (b"x = double(x)", False),
    ],
)
def test_a_line(line: bytes, lacks: bool) -> None:
    assert ("mps" in left([b"import torch\n", b"import torch\n" + line + b"\n"])) is lacks


@pytest.mark.parametrize(
    ("line", "is_left"),
    [
        (b'if hasattr(torch, "xpu") and torch.xpu.is_available():', True),
        (b"device = 'xpu:0'", True),
        (b"# torch.xpu.is_available()", False),
        (b"from lib.xpu import kernels", False),
        (b"expu = 'xpus'", False),
    ],
)
def test_code_for_xpus(line: bytes, is_left: bool) -> None:
    assert ("xpu" in left([b"import torch\n" + line + b"\n"])) is is_left


@pytest.mark.parametrize(
    ("line", "is_left"),
    [
        (b"use_mps = not args.no_mps and torch.backends.mps.is_available()", True),
        (b"if torch.has_mps:", True),
        (b'if getattr(torch.backends, "mps", None) is not None:', True),
        (b"torch.mps.manual_seed_all(1)", True),
        (b"device = 'mps:0'", True),
        (b"choices = ['cpu', \"cuda\", 'mps']", True),
        (b"from torch.backends import mps; backends.mps.is_built()", True),
        (b"if is_torch_mps_available():", True),
        (b"x = x.cuda()  # torch.backends.mps.is_available() may come", False),
        (b"# device = 'mps'", False),
        (b"clamps, lamps = 'clamps', 'mps_daemon'", False),
        (b"import torch.multiprocessing as mps; mps.spawn(f)", False),
    ],
)
def test_code_for_macs(line: bytes, is_left: bool) -> None:
    assert ("mps" in left([b"import torch\n" + line + b"\n"])) is is_left


@pytest.mark.usefixtures("needs_torch")
def test_what_it_has() -> None:
    import torch

    assert [name for name in sorted(hints("of-macs")) if not hasattr(torch.mps, name)] == []
    assert [name for name in ("manual_seed_all", "amp", "max_memory_allocated") if hasattr(torch.mps, name)] == []
