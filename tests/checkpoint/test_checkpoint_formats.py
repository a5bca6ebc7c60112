"""Every format, written by its specification: names, shapes, types and places come back, and the values where numpy is there."""

from __future__ import annotations

import json
import struct
import zipfile

import pytest
from checkpoint_world import (
    W,
    archive,
    distributed,
    f4,
    mindspore,
    npy,
    numpy,
    pickled,
    safetensors,
    streamed,
    tarred,
    zipped,
)

from porter.checkpoint.document import document
from porter.checkpoint.find import read
from porter.checkpoint.flatten import flatten
from porter.checkpoint.model import Checkpoint
from porter.checkpoint.rebuild import Typed
from porter.errors import UserError

TREE = {"model": {"fc.weight": W(f4(1, 2, 3, 4, 5, 6), (2, 3)), "fc.bias": W(f4(7, 8), (2,))}, "epoch": 3}
ROWS = {"fc.weight": ("F32", (2, 3), f4(1, 2, 3, 4, 5, 6)), "fc.bias": ("F32", (2,), f4(7, 8))}


def told(path) -> dict[str, tuple]:
    return {name: (tensor.dtype, tensor.shape) for name, tensor in read(str(path)).tensors.items()}


def values(path, name: str) -> list[float]:
    numpy()
    from contextlib import ExitStack

    from porter.checkpoint.distributed import resolved
    from porter.checkpoint.values import _Values

    tensor = resolved(read(str(path)).tensors[name])
    with ExitStack() as files:
        return [float(number) for number in _Values(tensor, files).take(0, tensor.count)]


def put(tmp_path, data: bytes, name: str = "a.bin"):
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


WRITTEN = {
    "torch": zipped(TREE),
    "torch-stream": streamed(TREE),
    "torch-tar": tarred({f"model.{name}": tensor for name, tensor in TREE["model"].items()}),
    "safetensors": safetensors({f"model.{name}": row for name, row in ROWS.items()}, {"format": "pt"}),
    "mindspore": mindspore([(f"model.{name}", "Float32", shape, data) for name, (_, shape, data) in ROWS.items()]),
    "npz": archive({f"model.{name}.npy": npy("<f4", shape, data) for name, (_, shape, data) in ROWS.items()}),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_written_comes_back(tmp_path, kind):
    path = put(tmp_path, WRITTEN[kind])
    assert read(str(path)).format == kind
    assert told(path) == {"model.fc.weight": ("float32", (2, 3)), "model.fc.bias": ("float32", (2,))}
    assert values(path, "model.fc.weight") == [1, 2, 3, 4, 5, 6]
    assert values(path, "model.fc.bias") == [7, 8]


@pytest.mark.parametrize("write", [zipped, streamed, tarred])
@pytest.mark.parametrize(("dtype", "size"), [("quint4x2", 80), ("quint2x4", 40)])
def test_several_numbers_in_one_byte(tmp_path, write, dtype, size):
    path = put(tmp_path, write({"w": W(bytes(size), (10, 16), dtype)}))
    assert told(path) == {"w": (dtype, (10, 16))} and read(str(path)).tensors["w"].size == size
    with pytest.raises(UserError, match="reaches beyond its storage"):
        read(str(put(tmp_path, write({"w": W(bytes(size - 1), (10, 16), dtype)}))))


def test_what_is_compressed_is_read_in_place(tmp_path):
    path = put(tmp_path, zipped(TREE, zipfile.ZIP_DEFLATED))
    assert values(path, "model.fc.bias") == [7, 8]
    members = {f"{name}.npy": npy("<f4", shape, data) for name, (_, shape, data) in ROWS.items()}
    assert values(put(tmp_path, archive(members, zipfile.ZIP_DEFLATED)), "fc.weight") == [1, 2, 3, 4, 5, 6]


def test_shards_of_an_index(tmp_path):
    put(tmp_path, safetensors({"fc.weight": ROWS["fc.weight"]}), "model-1.safetensors")
    put(tmp_path, safetensors({"fc.bias": ROWS["fc.bias"]}), "model-2.safetensors")
    places = {"fc.weight": "model-1.safetensors", "fc.bias": "model-2.safetensors", "lost": "model-2.safetensors"}
    put(tmp_path, json.dumps({"weight_map": places}).encode(), "model.safetensors.index.json")
    for path in (tmp_path, tmp_path / "model.safetensors.index.json"):
        checkpoint = read(str(path))
        assert sorted(checkpoint.tensors) == ["fc.bias", "fc.weight"] and checkpoint.format == "safetensors-sharded"
        assert checkpoint.told.notes == [("index-absent", {"n": 1, "names": "lost"})]


def test_pieces_of_distributed_checkpoints(tmp_path):
    pieces = [((0, 0), (1, 3), f4(1, 2, 3)), ((1, 0), (1, 3), f4(4, 5, 6))]
    folder = distributed(tmp_path / "dcp", {"fc.weight": ((2, 3), pieces), "fc.bias": ((2,), [((0,), (2,), f4(7, 8))])})
    assert told(folder) == {"fc.weight": ("float32", (2, 3)), "fc.bias": ("float32", (2,))}
    assert values(folder, "fc.bias") == [7, 8]
    assert len(read(str(folder)).tensors["fc.weight"].parts) == 2


def test_slices_and_numbers_of_mindspore(tmp_path):
    rows = [("w", "Float32", (4,), f4(1, 2)), ("w", "Float32", (4,), f4(3, 4)), ("step", "Int32", (0,), b"\5\0\0\0")]
    path = put(tmp_path, mindspore([*rows, ("b", "BFloat16", (1,), b"\x80\x3f")], crc=True))
    assert told(path) == {"w": ("float32", (4,)), "step": ("int32", ()), "b": ("bfloat16", (1,))}
    assert (values(path, "w"), values(path, "step"), values(path, "b")) == ([1, 2, 3, 4], [5], [1])


@pytest.mark.parametrize(
    ("dtype", "data", "numbers"),
    [
        ("BF16", struct.pack("<2H", 0x3FC0, 0xC000), [1.5, -2]),
        ("F16", struct.pack("<2e", 1.5, -2), [1.5, -2]),
        ("F8_E4M3", bytes([0x38, 0xC0, 0x7E, 0x01]), [1, -2, 448, 2**-9]),
        ("F8_E5M2", bytes([0x3C, 0xC0, 0x7B, 0x7C]), [1, -2, 57344, float("inf")]),
        ("F8_E8M0", bytes([127, 128]), [1, 2]),
        ("I64", struct.pack("<2q", 5, -6), [5, -6]),
        ("BOOL", b"\0\1", [0, 1]),
    ],
)
def test_types_of_numbers(tmp_path, dtype, data, numbers):
    path = put(tmp_path, safetensors({"x": (dtype, (len(numbers),), data)}))
    assert values(path, "x") == numbers


def test_views_and_what_is_tied(tmp_path):
    data = f4(1, 2, 3, 4, 5, 6)
    tree = {"a": W(data, (2, 3), key="s"), "b": W(data, (2, 3), key="s"), "t": W(data, (3, 2), strides=(1, 3), key="s")}
    path = put(tmp_path, zipped(tree))
    assert values(path, "t") == [1, 4, 2, 5, 3, 6]
    assert document(read(str(path)), "en")["tied"] == [["a", "b"]]


def test_devices_and_frozen_parameters(tmp_path):
    tree = {
        "a": W(f4(1), (1,), device="cuda:1", frozen=True),
        "b": W(f4(1), (1,), frozen=False),
        "c": W(f4(1), (1,), device="npu:0"),
    }
    found = document(read(str(put(tmp_path, zipped(tree)))), "en")
    assert found["frozen"] == {"known": 2, "names": ["a"]}
    assert found["devices"] == {"cpu": 1, "cuda:1": 1, "npu:0": 1}
    keys = {note["key"]: note["text"] for note in found["notes"]}
    assert "cuda:1" in keys["device"] and 'map_location="cpu"' in keys["device"] and "npu:0" in keys["device.npu"]


def test_the_state_of_an_optimiser(tmp_path):
    state = {0: {"exp_avg": W(f4(1), (1,)), "exp_avg_sq": W(f4(2), (1,)), "step": 7}, 1: {"exp_avg": W(f4(1), (1,))}}
    groups = [{"lr": 0.1, "betas": (0.9, 0.95), "params": [0, 1]}]
    tree = {"model": {"w": W(f4(3), (1,))}, "optimizer": {"state": state, "param_groups": groups}}
    checkpoint = read(str(put(tmp_path, zipped(tree))))
    [found] = checkpoint.optimisers
    assert checkpoint.values == {"optimizer.state.0.step": 7}
    assert found["states"] == {"exp_avg": 2, "exp_avg_sq": 1, "step": 1} and found["parameters"] == 2
    assert found["groups"] == [{"lr": 0.1, "betas": [0.9, 0.95]}] and found["sizes"] == [2]


def test_settings_that_no_optimiser_says_are_values():
    assert values_of({"param_groups": [{"lr": 0.1}]}) == {"param_groups.0.lr": 0.1}
    assert values_of({"my_param_groups.x": 3}) == {"my_param_groups.x": 3}
    many = {str(n): {"state": {}, "param_groups": [{"betas": [0.9, 0.95]}]} for n in range(65)}
    flatten(many, checkpoint := Checkpoint("a", "pickle"))
    assert len(checkpoint.optimisers) == 64 and checkpoint.optimisers[0]["groups"] == [{"betas": [0.9, 0.95]}]
    assert checkpoint.values == {"64.param_groups.0.betas.0": 0.9, "64.param_groups.0.betas.1": 0.95}
    assert [note["key"] for note in document(checkpoint, "en")["notes"]] == ["optimisers"]


def test_a_storage_that_is_not_there_is_no_value():
    assert values_of({"x": Typed(None, "float32"), "y": 1}) == {"y": 1}


def test_keys_that_read_alike_have_a_value_each():
    assert values_of({1: "a", "1": "b"}) == {"1": "a", "1#2": "b"}
    assert list(values_of({"k" * 250 + "a": 1, "k" * 250 + "b": 2}).values()) == [1, 2]


def values_of(root):
    flatten(root, checkpoint := Checkpoint("a", "pickle"))
    return checkpoint.values


def test_arrays_in_pickles_of_every_protocol(tmp_path):
    np = numpy()
    import pickle

    big = np.arange(5000, dtype=np.float32)
    tree = {"big": big, "columns": np.asfortranarray(big[:6].reshape(2, 3)), "swapped": big[:3].astype(">i4")}
    for protocol in range(6):
        path = put(tmp_path, pickle.dumps(tree, protocol))
        assert told(path) == {
            "big": ("float32", (5000,)),
            "columns": ("float32", (2, 3)),
            "swapped": ("int32", (3,)),
        }, protocol
        assert values(path, "big") == list(range(5000)), protocol
        assert (values(path, "columns"), values(path, "swapped")) == ([0, 1, 2, 3, 4, 5], [0, 1, 2]), protocol


def test_files_of_numpy(tmp_path):
    np = numpy()
    for array in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))):
        np.save(tmp_path / "a.npy", array)
        assert values(tmp_path / "a.npy", "array") == [0, 1, 2, 3, 4, 5]
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", w=np.arange(3), step=np.array(4))
        assert told(tmp_path / "a.npz") == {"w": ("int64", (3,)), "step": ("int64", ())}
        assert values(tmp_path / "a.npz", "w") == [0, 1, 2]


def test_ranks_of_megatron_are_one_model(tmp_path):
    """Two of tensor and two of pipeline: columns and rows are laid together, layers counted on."""
    for tensor in range(2):
        for pipeline in range(2):
            layer = {
                "layers.0.mlp.linear_fc2.weight": W(f4(tensor, pipeline), (2, 1)),
                "layers.0.self_attention.linear_qkv.bias": W(f4(10 * tensor, pipeline), (2,)),
                "final_layernorm.weight": W(f4(9), (1,)),  # in both stages here, as shared embeddings are
            }
            folder = tmp_path / f"mp_rank_0{tensor}_00{pipeline}"
            folder.mkdir()
            tree = {"model": {f"decoder.{name}": w for name, w in layer.items()}, "iteration": 5}
            put(folder, zipped(tree), "model_optim_rng.pt")
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("5")
    checkpoint = read(str(tmp_path))
    assert {name: tensor.shape for name, tensor in checkpoint.tensors.items() if ".layers.1." in name} == {
        "model.decoder.layers.1.mlp.linear_fc2.weight": (2, 2),
        "model.decoder.layers.1.self_attention.linear_qkv.bias": (4,),
    }
    assert checkpoint.tensors["model.decoder.final_layernorm.weight"].shape == (1,)
    parts = checkpoint.tensors["model.decoder.layers.0.mlp.linear_fc2.weight"].parts
    assert [begin for begin, _ in parts] == [(0, 0), (0, 1)]


def test_several_files_of_a_folder(tmp_path):
    put(tmp_path, safetensors({"fc.weight": ROWS["fc.weight"]}), "a.safetensors")
    put(tmp_path, safetensors({"fc.bias": ROWS["fc.bias"]}), "b.safetensors")
    assert sorted(told(tmp_path)) == ["fc.bias", "fc.weight"]
    put(tmp_path, safetensors({"fc.bias": ROWS["fc.bias"]}), "c.safetensors")
    with pytest.raises(UserError, match="fc.bias is in another file of this folder"):
        read(str(tmp_path))


def test_tensors_of_one_name_are_numbered(tmp_path):
    tree: dict = {}
    for number in range(1, 18):  # a key without letters adds nothing to a name
        tree = {"w": W(f4(number), (1,)), "": tree}
        (tmp_path / "a.pt").write_bytes(zipped(tree))
        if number == 16:
            assert set(told(tmp_path / "a.pt")) == {"w", *(f"w#{n}" for n in range(2, 17))}
    with pytest.raises(UserError, match="w is there twice"):
        read(str(tmp_path / "a.pt"))


@pytest.mark.slow
def test_plain_values_that_are_too_many_are_told(tmp_path):
    for count, keys in ((2000, []), (2001, ["values"])):
        (tmp_path / "a.pt").write_bytes(pickled({f"k{n}": n for n in range(count)}))
        found = document(read(str(tmp_path / "a.pt")), "en")
        assert len(found["values"]) == 2000 and [note["key"] for note in found["notes"]] == keys


def test_numbers_that_json_does_not_have(tmp_path):
    tree = {"best": float("inf"), "lost": float("nan"), "w": W(f4(1), (1,))}
    found = document(read(str(put(tmp_path, zipped(tree)))), "en")
    assert found["values"] == {"best": "inf", "lost": "nan"} and json.dumps(found, allow_nan=False)


def test_a_pickled_module_has_the_names_of_its_parameters(tmp_path):
    from checkpoint_world import B, G, R, Storages

    def made(fields):
        return B(R(G("copyreg", "_reconstructor"), (G("my.net", "Net"), G("builtins", "object"), None)), fields)

    storages = Storages()
    weight = storages.of(W(f4(1, 2), (2,), frozen=True))
    root = made({"_modules": {"fc": made({"_parameters": {"weight": weight}, "training": True})}})
    path = put(tmp_path, archive({"a/data.pkl": pickled(root), "a/data/0": f4(1, 2)}))
    assert told(path) == {"fc.weight": ("float32", (2,))}
    assert "my.net.Net" in document(read(str(path)), "en")["notes"][0]["text"]


def test_without_numpy_headers_are_read_and_values_ask_for_it(tmp_path, monkeypatch):
    import sys

    from porter.checkpoint.compared import compared

    monkeypatch.setitem(sys.modules, "numpy", None)
    path = put(tmp_path, WRITTEN["torch"])
    assert len(document(read(str(path)), "en")["weights"]) == 2
    with pytest.raises(UserError, match=r"pip install 'npu-porter\[compare\]'"):
        compared(read(str(path)), read(str(path)), None, "en")
