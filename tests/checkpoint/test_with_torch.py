"""What the real libraries write is read as it was, and what torch allows and refuses is what porter says."""

from __future__ import annotations

import warnings

import pytest

from porter.checkpoint.compared import compared
from porter.checkpoint.document import document
from porter.checkpoint.find import read
from porter.checkpoint.rules import stanzas, unread, verdict

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_torch")]


def odd() -> dict:
    import torch

    torch.manual_seed(3)
    base = torch.randn(4, 6)
    types = [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "complex64",
        "complex128",
        "int8",
        "uint8",
        "int16",
        "int32",
        "int64",
        "bool",
    ]
    types += [
        "uint16",
        "uint32",
        "uint64",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    ]
    tree = {name: (base * 3).abs().to(getattr(torch, name)) for name in types}
    layer = torch.nn.Linear(2, 3)
    layer.bias.requires_grad_(False)
    tree |= {
        "view": base[1:3, 2:5],
        "turned": base.t(),
        "spread": torch.randn(1, 6).expand(4, 6),
        "number": torch.tensor(3.5),
        "none": torch.zeros(0, 3),
    }
    tree |= {
        "parameter": layer.weight,
        "frozen": layer.bias,
        "meta": torch.empty(7, 2, device="meta"),
        "sparse": torch.eye(3).to_sparse(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree |= {"quantised": torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.qint8)}
    tree["sub"] = [base, {"same": base, 5: torch.ones(2)}]
    return tree


def leaves(tree: object, name: str = "") -> dict:
    import torch

    if isinstance(tree, torch.Tensor):
        return {name: tree}
    rows = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, (list, tuple)) else ()
    return {
        key: leaf for part, item in rows for key, leaf in leaves(item, f"{name}.{part}" if name else str(part)).items()
    }


def numbers(tensor) -> list:
    from contextlib import ExitStack

    from porter.checkpoint.values import _Values

    with ExitStack() as files:
        return _Values(tensor, files).take(0, tensor.count).tolist()


@pytest.mark.parametrize("is_new", [True, False], ids=["zip", "stream"])
def test_every_type_and_view(tmp_path, is_new):
    import torch

    tree = odd()
    torch.save(tree, tmp_path / "a.pt", _use_new_zipfile_serialization=is_new)
    found = read(str(tmp_path / "a.pt")).tensors
    for name, tensor in leaves(tree).items():
        if name == "sparse":
            assert [found[f"sparse.sparse_{n}"].shape for n in range(2)] == [(2, 3), (3,)]
            continue
        mine = found[name]
        assert (mine.shape, mine.dtype) == (tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")), name
        if name in ("meta", "quantised"):
            continue
        wide = tensor.detach().to(torch.complex128 if tensor.dtype.is_complex else torch.float64)
        assert numbers(mine) == wide.flatten().tolist(), name
    assert (found["frozen"].requires_grad, found["parameter"].requires_grad) == (False, True)
    assert found["sub.0"].storage is found["sub.1.same"].storage


def test_distributed_checkpoints(tmp_path):
    import torch
    import torch.distributed.checkpoint as dcp

    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"model": model.state_dict(), "step": 3}, checkpoint_id=tmp_path / "dcp")
    torch.save({"model": model.state_dict()}, tmp_path / "a.pt")
    found = compared(read(str(tmp_path / "dcp")), read(str(tmp_path / "a.pt")), None, "en")
    assert found["outcome"] == "equal" and len(found["pairs"]) == 7


def test_optimisers_and_schedulers(tmp_path):
    import torch

    model = torch.nn.Linear(4, 3)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.5, betas=(0.8, 0.9))
    model(torch.randn(2, 4)).sum().backward()
    optimiser.step()
    torch.save({"model": model.state_dict(), "optimizer": optimiser.state_dict()}, tmp_path / "a.pt")
    found = document(read(str(tmp_path / "a.pt")), "en")
    assert found["parameters"] == 15 and found["notes"] == []
    [about] = found["optimisers"]
    assert about["states"] == {"step": 2, "exp_avg": 2, "exp_avg_sq": 2} and about["groups"][0]["betas"] == [0.8, 0.9]


def test_tensors_in_plain_pickles(tmp_path):
    """Which torch writes as bytes that torch.load would read."""
    import pickle

    import torch

    tensor = torch.arange(6.0).reshape(2, 3)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"w": tensor}))
    checkpoint = read(str(tmp_path / "a.pkl"))
    assert checkpoint.tensors["w"].shape == (2, 3) and numbers(checkpoint.tensors["w"]) == [0, 1, 2, 3, 4, 5]


def test_what_is_written_by_specification_is_what_torch_reads(tmp_path):
    """The tar file of torch before 0.2, and the stream after it: no torch of today writes the first."""
    import torch
    from checkpoint_world import W, f4, streamed, tarred

    weight = W(f4(1, 2, 3, 4), (2, 2))
    for data in (tarred({"w": weight}), streamed({"w": weight})):
        (tmp_path / "a.pt").write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensor = torch.load(tmp_path / "a.pt", weights_only=False)["w"]
        assert tensor.tolist() == [[1, 2], [3, 4]] and numbers(read(str(tmp_path / "a.pt")).tensors["w"]) == [
            1,
            2,
            3,
            4,
        ]


def test_what_torch_allows_is_what_porter_calls_allowed():
    from torch._weights_only_unpickler import _get_allowed_globals

    allowed = {
        name for name in _get_allowed_globals() if not name.startswith("torch.distributed")
    }  # known once they are imported
    assert sorted(name for name in allowed if verdict(name) != "allowed") == []
    for name in (
        "builtins.eval",
        "torch.load",
        "torch.nn.Linear",
        "torch.FloatStorages",
        "xtorch.FloatStorage",
        "collections.deque",
        "torch.float31",
    ):
        assert name not in allowed and verdict(name) != "allowed"


def test_instructions_that_torch_reads(tmp_path):
    import pickletools
    from pathlib import Path

    import torch._weights_only_unpickler as module

    source = Path(module.__file__).read_text("utf-8").partition("class Unpickler")[2]
    known = {op.name for op in pickletools.opcodes if f" {op.name}[0]" in source or f"[{op.name}[0]" in source}
    assert {name for row in stanzas()["instructions"] for name in row["names"]} == known
    assert unread({"REDUCE", "STACK_GLOBAL"}) == ["STACK_GLOBAL"]


@pytest.mark.parametrize("kind", ["my.Net", "argparse.Namespace"])
def test_torch_refuses_what_porter_says_it_refuses(tmp_path, kind):
    import pickle

    import torch
    from checkpoint_world import B, G, R, archive, pickled

    module, name = kind.split(".")
    root = pickled(B(R(G("copyreg", "_reconstructor"), (G(module, name), G("builtins", "object"), None)), {"a": 1}))
    (tmp_path / "a.pt").write_bytes(archive({"a/data.pkl": root, "a/version": b"3\n", "a/byteorder": b"little"}))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "a.pt", weights_only=True)
    assert kind in document(read(str(tmp_path / "a.pt")), "en")["notes"][0]["values"]["names"]
