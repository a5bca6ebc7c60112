"""Facts of the shipped catalogues that were verified on the real wheels: counts, and the traps on the way to an NPU."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import tomli

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.catalog.make.build import build
from porter.catalog.make.download import check, pair, sources_file
from porter.catalog.read.load import Catalogue, load, newest, versions
from porter.finding import apply
from porter.resources import rules_dir
from porter.target import Target

ALL = [load(version) for version in versions()]
EVERY = pytest.mark.parametrize("catalogue", ALL, ids=versions())
WANTED = "2.1.0 2.6.0 2.7.1 2.8.0 2.9 2.10.0 2.11.0 2.12.0 2.13.0 2.14.0".split()


def ported(code: str, version: str) -> str:
    data = code.encode()
    return apply(data, analyse("train.py", data, open_session(Target(version))).review).decode()


# ---- what is shipped


def test_ten_torch_versions_and_their_size() -> None:
    assert [bool(newest(torch)) for torch in WANTED] == [True] * len(WANTED)
    files = [file for file in (rules_dir() / "catalog").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 6_000_000


def test_every_version_has_its_wheels_recorded() -> None:
    recorded = tomli.loads(sources_file().read_text(encoding="utf-8"))
    assert list(recorded) == versions()
    for catalogue in ALL:
        assert recorded[catalogue.torch_npu] == {row["file"]: row["sha256"] for row in catalogue.sources}


def test_a_shipped_catalogue_is_what_its_wheels_say(needs_wheels: Path | None) -> None:
    version = "2.6.0.post5"
    wheels = pair(version, needs_wheels)
    check(version, wheels, sources_file())
    for name, data in build(*wheels).items():
        assert (rules_dir() / "catalog" / name).read_bytes() == data, name


@pytest.mark.parametrize(
    ("version", "custom", "public", "native", "implicit", "explicit", "cpu"),
    [
        # Held against torchgen's own reading of the table. One operator less is native than a bare count of torch_npu's
        # list gives: _coalesce, whose kernel there is for sparse tensors alone.
        ("2.1.0.post17", 321, 96, 1071, 798, 827, 343),
        ("2.6.0.post5", 335, 102, 1067, 762, 936, 379),
        ("2.7.1.post11", 422, 119, 1095, 764, 926, 363),
        ("2.13.0", 419, 119, 1077, 696, 945, 383),
    ],
)
def test_counts(version: str, custom: int, public: int, native: int, implicit: int, explicit: int, cpu: int) -> None:
    catalogue = load(version)
    operators = [catalogue.operators.overloads(name)[0] for name in catalogue.operators.names()]
    own = [op for op in operators if op.name.startswith("npu::")]
    assert len(own) == custom
    assert len({op.name.partition(".")[0] for op in own if op.public}) == public
    kinds = Counter((op.kernel, op.explicit) for op in operators if op.name.startswith("aten::"))
    counted = [kinds[k] for k in (("native", False), ("composite", False), ("composite", True), ("cpu", False))]
    assert counted == [native, implicit, explicit, cpu]


# ---- traps: a name that is there and means something else, or is missing where one would expect it


@EVERY
def test_device_parameters_have_other_names(catalogue: Catalogue) -> None:
    for name in ("get_device_name", "get_device_properties"):
        assert catalogue.parameters(f"torch.npu.{name}") == ("device_name",)
        assert catalogue.parameters(f"torch.cuda.{name}") == ("device",)
    assert catalogue.parameters("torch.npu.can_device_access_peer") == ("device_id", "peer_device_id")
    assert "include_traces" not in catalogue.parameters("torch.npu.memory_snapshot")
    code = "import torch\nname = torch.cuda.get_device_name(device=0)\n"
    assert "torch.npu.get_device_name(device_name=0)" in ported(code, catalogue.torch_npu)


@EVERY
def test_graphs_lack_what_cuda_graphs_have(catalogue: Catalogue) -> None:
    for name in ("get_graph_data", "instantiate", "raw_cuda_graph", "raw_cuda_graph_exec"):
        assert not catalogue.has(f"torch.npu.NPUGraph.{name}")
        transfer = catalogue.operators.transfer(f"torch.cuda.CUDAGraph.{name}")
        assert (transfer.effect, transfer.to) == ("replaced", f"torch.npu.NPUGraph.{name}")


@EVERY
def test_a_capability_there_is_but_it_says_nothing(catalogue: Catalogue) -> None:
    assert catalogue.has("torch.npu.get_device_capability")
    code = "import torch\nmajor = torch.cuda.get_device_capability()[0]\n"
    assert "torch.npu.get_device_capability" not in ported(code, catalogue.torch_npu)


@EVERY
def test_marks_are_a_class_and_grew_with_time(catalogue: Catalogue) -> None:
    assert not catalogue.has("torch.npu.nvtx")
    # by the date of the wheel
    recent = catalogue.torch_npu not in ("2.1.0.post17", "2.6.0.post5", "2.8.0.post5", "2.9.1")
    for name in ("range_push", "range_pop", "annotate"):
        assert catalogue.has(f"torch.npu.mstx.{name}") == recent, name
    for name in ("mark", "range_start", "range_end"):
        assert catalogue.has(f"torch.npu.mstx.{name}"), name
    if recent:
        assert catalogue.parameters("torch.npu.mstx.range_push")[0] == "message"
    before = "import torch\ntorch.cuda.nvtx.range_push('step')\n"
    assert ("torch.npu.mstx.range_push('step')" in ported(before, catalogue.torch_npu)) == recent


@EVERY
def test_a_listed_name_without_a_counterpart(catalogue: Catalogue) -> None:
    assert catalogue.operators.transfer("torch.cuda.list_gpu_processes").effect == "arguments"
    assert catalogue.counterpart("torch.cuda.list_gpu_processes") is None
    assert not catalogue.has("torch_npu.contrib.fuse_add_softmax_dropout")  # in `__all__`, and imported nowhere


@EVERY
def test_what_transfer_to_npu_leaves_to_cuda(catalogue: Catalogue) -> None:
    for name in "nvtx.range_push nccl.version memory_usage temperature clock_rate cudart get_arch_list".split():
        assert catalogue.has(f"torch.cuda.{name}") and catalogue.counterpart(f"torch.cuda.{name}") is None
        assert catalogue.operators.transfer(f"torch.cuda.{name}").effect == "left", name
    assert catalogue.operators.transfer("torch.cuda.DoubleTensor").to == "torch.npu.FloatTensor"
    for name in ("torch.jit.script", "torch.jit.script_method"):
        assert catalogue.operators.transfer(name).effect == "disabled"
    assert (
        catalogue.operators.transfer("transformers.utils.import_utils.is_flash_attn_2_available").effect == "shielded"
    )
    assert catalogue.operators.transfer("torch.profiler.profile").to == "torch_npu.profiler.profile"
    for name in ("init_process_group", "new_group", "fsdp.FullyShardedDataParallel"):
        assert catalogue.operators.transfer(f"torch.distributed.{name}").effect == "arguments", name


@EVERY
def test_no_counterpart_is_not_proven_broken(catalogue: Catalogue) -> None:
    """torch.cuda.comm reaches the NPU through names that torch_npu adds to torch._C; torch.npu.comm does not exist."""
    assert catalogue.has("torch.cuda.comm.broadcast") and not catalogue.has("torch.npu.comm")


@EVERY
def test_operators_behind_apis(catalogue: Catalogue) -> None:
    for api in ("torch.linalg.eigh", "torch.special.digamma", "torch.Tensor.lgamma_", "torch.hypot"):
        assert catalogue.operators.of(api).kernel == "cpu", api
    for api in ("torch.nn.Linear", "torch.matmul", "torch.nn.functional.softmax", "torch.Tensor.masked_fill_"):
        found = catalogue.operators.of(api)
        assert found and not found.on_cpu, api
    for name in ("complex", "polar", "sinc", "isposinf", "nanmedian"):
        found = catalogue.operators.overloads(f"aten::{name}")
        assert any(op.says_cpu and op.kernel == "native" for op in found), name
    assert catalogue.operators.of("torch.nn.LSTM") is None  # its forward does too much to be certain


@EVERY
def test_names_of_torch(catalogue: Catalogue) -> None:
    for name in """torch.nn.Linear torch.nn.functional.linear torch.Tensor.add_ torch.linalg.eigh torch.fft.rfft
            torch.special.i0 torch.optim.AdamW torch.optim.lr_scheduler.StepLR torch.distributed.all_reduce torch.float16
            torch.distributions.Normal torch.utils.data.DataLoader torch.utils.checkpoint.checkpoint torch.device
            torch.nn.Module.register_buffer torch.Generator torch.no_grad torch.Tensor.T
            torch.distributed.fsdp.FullyShardedDataParallel torch.profiler.profile torch.jit.script""".split():
        assert catalogue.surface.has(name), name
    for name in ("torch.rfft", "torch.nn.functional.linearly", "torch.Tensor.normalise", "torch.distributed.gone"):
        assert catalogue.surface.has(name) is False, name
    for name in ("torch._six.inf", "torch.symeig", "torch.lstsq", "torch.solve", "torch.eig", "torch.matrix_rank"):
        assert catalogue.surface.has(name) is False and catalogue.surface.gone(name) is (name != "torch._six.inf"), name
    for name in """torch._C._functions torch._dynamo.config torch.utils._pytree.tree_map torch._storage_classes.add
            torch.Tensor._base.x torch.utils.data._utils.collate.default_collate torch.nn._reduction.get_enum""".split():
        assert catalogue.surface.has(name) is None, name
    late = catalogue.torch_npu != "2.1.0.post17"
    assert catalogue.surface.has("torch.accelerator.is_available") is late
    assert catalogue.surface.has("torch.nn.RMSNorm") is late


@EVERY
def test_deprecated_operators(catalogue: Catalogue) -> None:
    assert catalogue.deprecated("torch_npu.npu_silu").replacements == ("torch.nn.functional.silu",)
    assert catalogue.deprecated("torch_npu.npu_silu").source == "wheel"
    assert catalogue.deprecated("torch_npu.npu_dtype_cast").source == "documents"
    assert catalogue.deprecated("torch_npu.npu_fusion_attention") is None
    assert catalogue.deprecated("torch_npu.npu_transpose").source in ("wheel", "documents")


# ---- what must never be written


@EVERY
def test_no_import_below_torch_npu_that_loads_a_second_copy(catalogue: Catalogue) -> None:
    """`from torch.npu.amp import X` finds no module, or after an import of torch_npu a second one with other classes."""
    code = (
        "import torch.cuda.amp\n"
        "from torch.cuda.amp import GradScaler, autocast\n"
        "from torch.cuda import amp, Stream\n"
        "from torch.cuda.amp.grad_scaler import OptState\n"
        "import torch.cuda.random as r\n"
        "import torch.cuda as c\n"
        "scaler = GradScaler()\n"
    )
    after = ported(code, catalogue.torch_npu)
    assert "from torch.npu" not in after and "import torch.npu" not in after
    assert "from torch_npu.npu.amp import GradScaler, autocast" in after


@EVERY
def test_no_default_tensor_type_that_raises(catalogue: Catalogue) -> None:
    """torch.set_default_tensor_type("torch.npu.FloatTensor") is a TypeError: "invalid type"."""
    code = (
        "import torch\n"
        "torch.set_default_tensor_type('torch.cuda.FloatTensor')\n"
        "torch.set_default_tensor_type(torch.cuda.FloatTensor)\n"
        "kind = 'torch.cuda.FloatTensor' if torch.cuda.is_available() else 'torch.FloatTensor'\n"
        "torch.set_default_tensor_type(kind)\n"
    )
    after = ported(code, catalogue.torch_npu)
    assert "'torch.npu.FloatTensor'" not in after and "set_default_tensor_type(torch.npu" not in after
