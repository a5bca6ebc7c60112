"""What runs behind a name: operators, the APIs above them, transfer_to_npu, deprecations; on small wheels."""

from __future__ import annotations

from pathlib import Path

import pytest
from catalog_wheels import built, pair

from porter.catalog.make.build import build
from porter.catalog.make.surface import schema_parameters
from porter.catalog.read.load import Catalogue, load
from porter.catalog.read.operators import Deprecation, Transfer


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return built(tmp_path_factory.mktemp("wheels"))


def kernels(catalogue: Catalogue, api: str) -> tuple[str, list[str]] | None:
    found = catalogue.operators.of(api)
    return found and (found.kernel, [op.name for op in found.operators])


def test_kernel_classes(small: Catalogue) -> None:
    classes = {
        name: small.operators.overloads(name)[0] for name in small.operators.names() if name.startswith("aten::")
    }
    assert {name: op.kernel for name, op in classes.items()} == {
        "aten::_coalesce": "cpu",  # its own kernel is for sparse tensors alone
        "aten::_linalg_eigh": "cpu",
        "aten::add.Scalar": "composite",
        "aten::add.Scalar_out": "composite",  # written by the generator
        "aten::add.Tensor": "composite",  # forwards to its out variant
        "aten::add.out": "native",
        "aten::lgamma": "composite",
        "aten::lgamma.out": "cpu",
        "aten::linalg_eigh": "composite",
        "aten::relu": "composite",
        "aten::relu_": "composite",
        "aten::reshape": "composite",
        "aten::sinc": "native",
        "aten::square": "composite",
        "aten::square.names": "composite",  # what the generator would make of a composite does not exist
    }
    assert classes["aten::add.Scalar"].explicit and not classes["aten::square"].explicit
    assert classes["aten::sinc"].says_cpu and not classes["aten::add.out"].says_cpu
    assert (
        small.operators.overloads("aten::nothing")
        == small.operators.overloads("aten::add.nothing")
        == small.operators.overloads("add")
        == ()
    )
    assert [op.overload for op in small.operators.overloads("aten::add")] == ["Scalar", "Scalar_out", "Tensor", "out"]
    assert small.signature("aten::lgamma") == "(Tensor self) -> Tensor"


def test_what_an_api_runs(small: Catalogue) -> None:
    assert kernels(small, "torch.add") == ("mixed", ["aten::add.Scalar", "aten::add.out"])
    assert kernels(small, "torch.Tensor.add") == ("mixed", ["aten::add.Scalar", "aten::add.out"])
    assert kernels(small, "torch.lgamma") == ("cpu", ["aten::lgamma.out"])  # where the forwarder leads
    assert kernels(small, "torch.linalg.eigh") == ("cpu", ["aten::_linalg_eigh"])
    assert kernels(small, "torch.square") == ("composite", ["aten::square"])  # not the one with dimension names
    assert kernels(small, "torch.nn.functional.rectify") == ("composite", ["aten::relu", "aten::relu_"])
    assert kernels(small, "torch.nn.Rectifier") == ("composite", ["aten::relu", "aten::relu_"])  # its base's forward
    assert kernels(small, "torch.nn.functional.unclear") is None  # it calls something that is nowhere defined
    assert kernels(small, "torch.nn.Wave") == (
        "mixed",
        ["aten::relu", "aten::relu_", "aten::sinc"],
    )  # and what it calls there
    assert kernels(small, "torch.nn.functional.guarded_otherwise") == ("mixed", ["aten::_linalg_eigh", "aten::sinc"])
    assert kernels(small, "torch.nn.functional.guarded") == ("native", ["aten::sinc"])  # the branch for CUDA tensors
    assert kernels(small, "torch.relu") is None  # a method only
    assert kernels(small, "torch.ops.aten.lgamma") == ("cpu", ["aten::lgamma.out"])


def test_custom_operators(small: Catalogue) -> None:
    (op,) = small.operators.overloads("npu::npu_swiglu")
    assert op.schema == "(Tensor input, int dim=-1) -> Tensor"  # as registered, not as the table writes it
    assert op.public and op.implementations == ("acl_op", "op_api")
    assert small.parameters("torch_npu.npu_swiglu") == ("input", "dim")
    assert not small.operators.overloads("npu::npu_hidden.out")[0].public
    assert kernels(small, "torch_npu.npu_swiglu") == ("native", ["npu::npu_swiglu"])
    assert small.has("torch_npu.npu_hidden")  # every one is an attribute of the package
    assert kernels(small, "torch.ops.npu.npu_hidden") == ("native", ["npu::npu_hidden.out"])
    assert schema_parameters("(Tensor a, int[2] size=[1, 1], *, Tensor(a!)[] out) -> ()") == "a,size,*,out"
    assert schema_parameters("() -> Tensor") == ""


def test_torchs_own_names(small: Catalogue) -> None:
    has = small.surface.has
    assert (
        has("torch") and has("torch.nn.functional.rectify") and has("torch.abs") and has("torch.Tensor.requires_grad")
    )
    assert has("torch.nn") and has("torch.amp.GradScaler") and has("torch.GradScaler")
    for name in ("torch.nope", "torch.nn.functional.nope", "torch.nope.below", "torch.Tensor.nope"):
        assert has(name) is False, name
    for name in ("torch._six.inf", "torch.nn._never.x", "torch.old"):
        assert has(name) is False, name
    assert small.surface.gone("torch.old") and has("torch.kept") and not small.surface.gone("torch.kept")
    for name in ("torch._gone.x", "torch._kinds.add", "torch._C.x", "torch._hidden", "torch.Tensor._base.x"):
        assert has(name) is None, name
    for name in ("torch._private", "torch.Compiled", "torch.int4", "torch.nn.Rectifier.weight", "torch.grown.any"):
        assert has(name) is None, name


def test_what_transfer_to_npu_does(small: Catalogue) -> None:
    assert {name: small.operators.transfer(name) for name in EFFECTS} == EFFECTS
    assert small.operators.transferred == {"device", "map_location"}


EFFECTS = {
    "torch.cuda.synchronize": Transfer("replaced", "torch.npu.synchronize", True),  # and then wrapped as well
    "torch.cuda.Stream.wait_stream": Transfer("replaced", "torch.npu.Stream.wait_stream"),
    "torch.cuda.amp.common": Transfer("replaced", "torch.npu.amp.common"),  # a module without __all__: the whole
    "torch.cuda.DoubleTensor": Transfer("replaced", "torch.npu.FloatTensor"),
    "torch.cuda.list_gpu_processes": Transfer("arguments", arguments=True),
    "torch.cuda.nvtx.range_push": Transfer("left"),
    "torch.ones": Transfer("arguments", arguments=True),
    "torch.amp.GradScaler": Transfer("arguments", arguments=True),
    "torch.GradScaler": Transfer("arguments", arguments=True),  # the same class under another name
    "torch.jit.script": Transfer("disabled"),
    "peft.infer_device": Transfer("shielded"),
    "torch.nn.Linear": None,
}


def test_deprecated(small: Catalogue) -> None:
    silu = Deprecation("torch_npu.npu_silu", ("torch.nn.functional.silu",), "wheel")
    assert small.deprecated("torch_npu.npu_silu") == silu
    assert small.deprecated("torch_npu.contrib.Swish").replacements == ("torch.nn.SiLU",)
    assert small.deprecated("torch_npu.npu_swiglu") is None


def test_nothing_but_names_is_read_until_it_is_asked(small: Catalogue, tmp_path: Path) -> None:
    for name, data in build(*pair(tmp_path)).items():
        if name.endswith("/names.json.gz"):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_bytes(data)
    bare = load("9.1.0.post2", tmp_path)
    assert bare.has("torch.npu.synchronize") and bare.counterpart("torch.cuda.synchronize")
    from porter.errors import UserError

    with pytest.raises(UserError, match="operators.json.gz: cannot be read"):
        bare.operators.of("torch.add")
