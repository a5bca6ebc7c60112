"""Which tensor is which, and how far apart they are: planted differences are found, and what is the same is called so."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path

import pytest
from checkpoint_world import W, distributed, f4, mindspore, numpy, safetensors, zipped

from porter.checkpoint.align import align
from porter.checkpoint.compared import compared
from porter.checkpoint.find import read

numpy()
CHANCE = random.Random(7)


def numbers(count: int) -> list[float]:
    return [CHANCE.uniform(-1, 1) for _ in range(count)]


def flat(rows: list[list[float]]) -> bytes:
    return f4(*(number for row in rows for number in row))


def matrix(height: int, width: int) -> list[list[float]]:
    return [numbers(width) for _ in range(height)]


def saved(path: Path, tensors: dict[str, tuple[tuple, bytes]], dtype: str = "F32") -> Path:
    path.write_bytes(safetensors({name: (dtype, shape, data) for name, (shape, data) in tensors.items()}))
    return path


def against(one: Path, other: Path, tolerance: float | None = None) -> dict:
    found = compared(read(str(one)), read(str(other)), tolerance, "en")
    assert json.dumps(found, allow_nan=False)
    return found


def pairs(found: dict) -> dict[str, tuple[str, str, object]]:
    return {row["baseline"]: (row["candidate"], row["how"], row["differs"]) for row in found["pairs"]}


def test_the_same_and_not_the_same(tmp_path):
    a = {
        "a": ((2, 2), f4(1, 2, 3, 4)),
        "b": ((2,), f4(5, 6)),
        "gone": ((3,), f4(1, 2, 3)),
        "shape": ((2, 3), bytes(24)),
    }
    b = {"a": ((2, 2), f4(1, 2, 3, 4)), "b": ((2,), f4(5, 6.5)), "new": ((4,), bytes(16)), "shape": ((3, 4), bytes(48))}
    found = against(saved(tmp_path / "a", a), saved(tmp_path / "b", b))
    assert pairs(found) == {
        "a": ("a", "exact", None),
        "b": ("b", "exact", "values"),
        "shape": ("shape", "exact", "shape"),
    }
    assert [row["baseline"] for row in found["pairs"]] == ["shape", "b", "a"]  # the worst first
    assert [row["name"] for row in found["missing"]] == ["gone"] and [row["name"] for row in found["extra"]] == ["new"]
    b = next(row for row in found["pairs"] if row["baseline"] == "b")
    assert (b["max"], b["mean"], b["differing"], b["count"]) == (0.5, 0.25, 1, 2)
    assert b["relative"] == pytest.approx(0.5 / math.sqrt(61)) and b["cosine"] == pytest.approx(
        (25 + 39) / math.sqrt(61 * 67.25)
    )
    assert found["outcome"] == "differs" and against(tmp_path / "a", tmp_path / "a")["outcome"] == "equal"


def test_a_tolerance(tmp_path):
    one, other = (saved(tmp_path / name, {"a": ((2,), f4(1, 1 + more))}) for name, more in (("a", 0), ("b", 1e-4)))
    assert against(one, other)["outcome"] == against(one, other, 1e-5)["outcome"] == "differs"
    assert against(one, other, 1e-3)["outcome"] == "equal"


def test_another_type_is_a_difference_unless_it_lies_within_the_tolerance(tmp_path):
    one = saved(tmp_path / "a", {"a": ((2,), f4(1.5, 1.001))})
    exact = saved(tmp_path / "b", {"a": ((2,), struct.pack("<2e", 1.5, 1.001))}, "F16")
    assert pairs(against(one, exact))["a"][2] == "values" and against(one, exact, 1e-3)["outcome"] == "equal"
    whole = saved(tmp_path / "c", {"a": ((1,), f4(1.5))})
    half = saved(tmp_path / "d", {"a": ((1,), struct.pack("<e", 1.5))}, "F16")
    assert pairs(against(whole, half))["a"][2] == "dtype"


def test_numbers_that_are_none(tmp_path):
    nan, inf = math.nan, math.inf
    one = saved(tmp_path / "a", {"a": ((3,), f4(nan, inf, 1))})
    assert against(one, one)["outcome"] == "equal"
    found = against(one, saved(tmp_path / "b", {"a": ((3,), f4(0, -inf, 1))}))
    assert (found["pairs"][0]["not_finite"], found["pairs"][0]["relative"], found["outcome"]) == (2, None, "differs")


def test_large_integers_are_compared_to_the_last_one(tmp_path):
    one, other = (
        saved(tmp_path / n, {"a": ((1,), struct.pack("<q", (1 << 62) + more))}, "I64")
        for n, more in (("a", 0), ("b", 1))
    )
    assert against(one, other)["pairs"][0]["differing"] == 1


def test_more_than_a_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("porter.checkpoint.values.PIECE", 7)
    rows = numbers(100)
    one = saved(tmp_path / "a", {"a": ((10, 10), f4(*rows))})
    rows[93] += 0.5
    found = against(one, saved(tmp_path / "b", {"a": ((10, 10), f4(*rows))}))["pairs"][0]
    assert (found["count"], found["differing"]) == (100, 1) and found["max"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("here", "there", "how"),
    [
        ("fc.weight", "module.fc.weight", "name"),
        ("fc.weight", "_orig_mod.module.fc.weight", "name"),
        ("fc.weight", "model.fc.weight", "exact"),  # below the key that all stand below
        ("conv.bn.gamma", "conv.bn.weight", "name"),
        ("conv.bn.moving_mean", "conv.bn.running_mean", "name"),
        ("conv.bn.moving_variance", "conv.bn.running_var", "name"),
        ("embed.embedding_table", "embed.weight", "name"),
        ("fc.weight", "backbone.0.fc.weight", "prefix"),
        ("layers.3.attention.wq.weight", "model.layers.3.self_attn.q_proj.weight", "name"),
        ("layers.3.feed_forward.w2.weight", "model.layers.3.mlp.down_proj.weight", "name"),
        ("decoder.layers.3.mlp.linear_fc2.weight", "model.layers.3.mlp.down_proj.weight", "name"),
        ("decoder.layers.3.self_attention.linear_qkv.layer_norm_weight", "layers.3.input_layernorm.weight", "name"),
        ("language_model.encoder.layers.3.mlp.dense_4h_to_h.weight", "model.layers.3.mlp.down_proj.weight", "name"),
        ("language_model.embedding.word_embeddings.weight", "model.embed_tokens.weight", "name"),
        ("decoder.final_layernorm.weight", "model.norm.weight", "name"),
        ("output_layer.weight", "lm_head.weight", "name"),
        ("one", "another", "shape"),
    ],
)
def test_names(tmp_path, here, there, how):
    other = {here: ((2,), f4(1, 2)), "same.x": ((1,), f4(9))}, {there: ((2,), f4(1, 2)), "same.x": ((1,), f4(9))}
    if there.startswith("model.fc"):
        other = {here: ((2,), f4(1, 2))}, {there: ((2,), f4(1, 2))}
    for one, two in (other, other[::-1]):
        found = against(saved(tmp_path / "a", one), saved(tmp_path / "b", two))
        ways = {row["how"] for row in found["pairs"] if not row["baseline"].startswith("same")}
        assert (ways, found["outcome"]) == ({how}, "equal")


def test_two_names_of_one_spelling_are_not_guessed(tmp_path):
    one = saved(tmp_path / "a", {"module.a": ((2,), f4(1, 2)), "a": ((3,), f4(1, 2, 3))})
    other = saved(tmp_path / "b", {"_orig_mod.a": ((4,), bytes(16))})
    found = against(one, other)
    assert found["pairs"] == [] and len(found["missing"]) == 2 and len(found["extra"]) == 1


def test_transposed(tmp_path):
    rows = matrix(2, 3)
    one = saved(tmp_path / "a", {"w": ((2, 3), flat(rows))})
    other = saved(tmp_path / "b", {"w": ((3, 2), flat([list(column) for column in zip(*rows)]))})
    [found] = against(one, other)["pairs"]
    assert found["transposed"] and found["differs"] is None
    rows = matrix(3, 3)  # a square one has the same shape
    one = saved(tmp_path / "a", {"w": ((3, 3), flat(rows))})
    other = saved(tmp_path / "b", {"w": ((3, 3), flat([list(column) for column in zip(*rows)]))})
    [found] = against(one, other)["pairs"]
    assert found["transposed"] and found["differs"] is None
    [found] = against(one, one)["pairs"]
    assert not found["transposed"]


@pytest.mark.parametrize(
    ("whole", "names"),
    [
        ("attn.qkv.weight", ("attn.q.weight", "attn.k.weight", "attn.v.weight")),
        ("attn.qkv.weight", ("attn.query.weight", "attn.key.weight", "attn.value.weight")),
        ("attn.in_proj_weight", ("attn.q_proj.weight", "attn.k_proj.weight", "attn.v_proj.weight")),
        (
            "self_attn.qkv_proj.weight",
            ("self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"),
        ),
        ("mlp.gate_up_proj.weight", ("mlp.gate_proj.weight", "mlp.up_proj.weight")),
    ],
)
def test_one_here_and_several_there(tmp_path, whole, names):
    rows = matrix(2 * len(names), 3)
    parts = {f"layers.0.{name}": ((2, 3), flat(rows[2 * n : 2 * n + 2])) for n, name in enumerate(names)}
    one = saved(tmp_path / "a", {f"layers.0.{whole}": ((2 * len(names), 3), flat(rows))})
    other = saved(tmp_path / "b", parts)
    for first, second in ((one, other), (other, one)):
        found = against(first, second)
        assert [row["how"] for row in found["pairs"]] == ["joined"] * len(names) and found["outcome"] == "equal"
    rows[3][1] += 1
    parts[f"layers.0.{names[1]}"] = ((2, 3), flat(rows[2:4]))
    found = against(one, saved(tmp_path / "c", parts))
    assert [row["candidate"] for row in found["pairs"] if row["differs"]] == [f"layers.0.{names[1]}"]


def test_two_names_of_one_spelling_are_joined_of_nothing(tmp_path):
    parts = {f"a.{name}_proj.weight": ((2, 2), f4(1, 2, 3, 4)) for name in "qkv"}
    one = saved(
        tmp_path / "a", {name: ((6, 2), bytes(48)) for name in ("a.qkv_proj.weight", "module.a.qkv_proj.weight")}
    )
    found = against(one, saved(tmp_path / "b", parts))
    assert (found["pairs"], len(found["missing"]), len(found["extra"])) == ([], 2, 3)


def test_parts_are_those_of_one_tensor(tmp_path):
    parts = {f"a.{name}_proj.weight": ((1, 2), f4(1, 2)) for name in "qkv"}
    one = saved(tmp_path / "a", {f"a.{name}.weight": ((3, 2), f4(1, 2, 1, 2, 1, 2)) for name in ("qkv_proj", "qkv")})
    found = against(one, saved(tmp_path / "b", parts))
    assert {row["baseline"] for row in found["pairs"]} == {"a.qkv_proj.weight"} and len(found["pairs"]) == 3
    assert [row["name"] for row in found["missing"]] == ["a.qkv.weight"] and found["extra"] == []


def test_scalars_are_parts_of_nothing(tmp_path):
    parts = {f"model.{name}_proj.weight_scale": ((), f4(1)) for name in "qkv"}
    one = saved(tmp_path / "a", {"model.qkv_proj.weight_scale": ((), f4(1)), "model.x": ((2,), f4(1, 2))})
    other = saved(tmp_path / "b", {**parts, "model.x": ((2,), f4(1, 2))})
    for first, second, sizes in ((one, other, (1, 3)), (other, one, (3, 1))):
        found = against(first, second)
        assert [row["how"] for row in found["pairs"]] == ["exact"]
        assert (len(found["missing"]), len(found["extra"])) == sizes


def megatron(folder: Path, ranks: int, layers: list[dict[str, list[list[float]]]], arguments: dict) -> Path:
    """Of the shards of all ranks of tensor parallelism, in two stages of pipeline: by rows, but dense_4h_to_h."""
    for stage in range(2):
        for rank in range(ranks):
            tensors = {}
            half_of_them = layers[stage * len(layers) // 2 : (stage + 1) * len(layers) // 2]
            for n, layer in enumerate(half_of_them):
                for name, rows in layer.items():
                    if "linear_fc2" in name:
                        width = len(rows[0]) // ranks
                        part = [row[rank * width : (rank + 1) * width] for row in rows]
                    elif "linear_fc1" in name:
                        half, height = len(rows) // 2, len(rows) // 2 // ranks
                        part = (
                            rows[rank * height : (rank + 1) * height]
                            + rows[half + rank * height : half + (rank + 1) * height]
                        )
                    else:
                        height = len(rows) // ranks
                        part = rows[rank * height : (rank + 1) * height]
                    tensors[f"decoder.layers.{n}.{name}"] = W(flat(part), (len(part), len(part[0])))
            shard = folder / f"mp_rank_{rank:02d}_{stage:03d}"
            shard.mkdir(parents=True)
            (shard / "model_optim_rng.pt").write_bytes(zipped({"model": tensors, "args": arguments}))
    return folder


def test_megatron_in_four_shards_is_the_model_of_transformers_in_one(tmp_path):
    """Groups of heads stand together, gates and columns are laid together, layers of the second stage are counted on."""
    groups, queries, size = 4, 2, 3  # groups of heads, queries of each, rows of a head
    layers, whole = [], {}
    for n in range(4):
        q, k, v = matrix(groups * queries * size, 4), matrix(groups * size, 4), matrix(groups * size, 4)
        gate, up, down = matrix(8, 4), matrix(8, 4), matrix(4, 8)
        qkv: list[list[float]] = []
        for g in range(groups):
            qkv += (
                q[g * queries * size : (g + 1) * queries * size]
                + k[g * size : (g + 1) * size]
                + v[g * size : (g + 1) * size]
            )
        layers.append(
            {"self_attention.linear_qkv.weight": qkv, "mlp.linear_fc1.weight": gate + up, "mlp.linear_fc2.weight": down}
        )
        named = {
            "self_attn.q_proj": q,
            "self_attn.k_proj": k,
            "self_attn.v_proj": v,
            "mlp.gate_proj": gate,
            "mlp.up_proj": up,
            "mlp.down_proj": down,
        }
        whole |= {
            f"model.layers.{n}.{name}.weight": ((len(rows), len(rows[0])), flat(rows)) for name, rows in named.items()
        }
    arguments = {"group_query_attention": True, "num_query_groups": groups, "num_attention_heads": 8, "swiglu": True}
    one = megatron(tmp_path / "iter", 2, layers, arguments)
    other = saved(tmp_path / "b.safetensors", whole)
    for first, second in ((one, other), (other, one)):
        found = against(first, second)
        assert (found["outcome"], len(found["pairs"]), found["missing"], found["extra"]) == ("equal", 24, [], [])
    layers[3]["self_attention.linear_qkv.weight"][7][0] += 0.5  # a row of a key
    found = against(megatron(tmp_path / "other", 2, layers, arguments), other)
    assert [row["candidate"] for row in found["pairs"] if row["differs"]] == ["layers.3.self_attn.k_proj.weight"]


def test_pieces_of_two_distributed_checkpoints(tmp_path):
    rows = matrix(4, 6)
    columns = [((0, 0), (4, 3), flat([row[:3] for row in rows])), ((0, 3), (4, 3), flat([row[3:] for row in rows]))]
    halves = [((0, 0), (1, 6), flat(rows[:1])), ((1, 0), (3, 6), flat(rows[1:]))]
    one = distributed(tmp_path / "a", {"w": ((4, 6), columns)})
    other = distributed(tmp_path / "b", {"w": ((4, 6), halves)})
    whole = saved(tmp_path / "c", {"w": ((4, 6), flat(rows))})
    turned = saved(tmp_path / "d", {"w": ((6, 4), flat([list(column) for column in zip(*rows)]))})
    for second in (other, whole, turned):
        assert against(one, second)["outcome"] == "equal"
    part = distributed(tmp_path / "e", {"w": ((4, 6), halves[1:])})  # the first row is nowhere
    assert pairs(against(whole, part))["w"][2] == "unread"


def test_mindspore_and_torch(tmp_path):
    names = {
        "bn.gamma": "bn.weight",
        "bn.beta": "bn.bias",
        "bn.moving_mean": "bn.running_mean",
        "bn.moving_variance": "bn.running_var",
    }
    values = {name: numbers(4) for name in names}
    (tmp_path / "a.ckpt").write_bytes(
        mindspore(
            [(name, "Float32", (4,), f4(*row)) for name, row in values.items()]
            + [("moment1.bn.gamma", "Float32", (4,), bytes(16))]
        )
    )
    tensors = {names[name]: W(f4(*row), (4,)) for name, row in values.items()}
    tensors["bn.num_batches_tracked"] = W(struct.pack("<q", 5), (), "int64")
    (tmp_path / "b.pt").write_bytes(zipped({"state_dict": tensors}))
    found = against(tmp_path / "b.pt", tmp_path / "a.ckpt")
    assert (found["outcome"], found["without"], found["aside"]["candidate"]) == ("equal", ["bn.num_batches_tracked"], 1)


def test_what_mindspore_does_not_have_is_no_scalar_of_mindspore(tmp_path):
    (tmp_path / "a.ckpt").write_bytes(
        mindspore([("bn.gamma", "Float32", (3,), f4(1, 2, 3)), ("temperature", "Float32", (), f4(1))])
    )
    counted = {"bn.weight": W(f4(1, 2, 3), (3,)), "bn.num_batches_tracked": W(struct.pack("<q", 5), (), "int64")}
    (tmp_path / "b.pt").write_bytes(zipped({"state_dict": counted}))
    found = against(tmp_path / "b.pt", tmp_path / "a.ckpt")
    assert found["without"] == ["bn.num_batches_tracked"] and [row["how"] for row in found["pairs"]] == ["name"]
    assert [row["name"] for row in found["extra"]] == ["temperature"]


def test_optimisers_are_compared_where_both_have_one(tmp_path):
    def tree(moment: float) -> dict:
        state = {"state": {0: {"exp_avg": W(f4(moment), (1,))}}, "param_groups": []}
        return {"model": {"w": W(f4(1), (1,))}, "optimizer": state}

    for name, moment in (("a", 1.0), ("b", 2.0)):
        (tmp_path / name).write_bytes(zipped(tree(moment)))
    (tmp_path / "c").write_bytes(zipped({"w": W(f4(1), (1,))}))
    assert pairs(against(tmp_path / "a", tmp_path / "b"))["optimizer.state.0.exp_avg"][2] == "values"
    found = against(tmp_path / "a", tmp_path / "c")
    assert found["outcome"] == "equal" and found["aside"] == {"baseline": 1, "candidate": 0}


def test_frozen_on_one_side(tmp_path):
    for name, frozen in (("a", True), ("b", False)):
        (tmp_path / name).write_bytes(zipped({"w": W(f4(1), (1,), frozen=frozen)}))
    assert pairs(against(tmp_path / "a", tmp_path / "b"))["w"][2] == "frozen"


def test_what_is_spread_over_one_number_is_not_read_for_ever(tmp_path):
    (tmp_path / "a").write_bytes(zipped({"w": W(f4(1), (1 << 20, 1 << 20), strides=(0, 0))}))
    assert pairs(against(tmp_path / "a", tmp_path / "a"))["w"][2] == "unread"


def test_order_is_that_of_the_file(tmp_path):
    one = saved(tmp_path / "a", {"first": ((2,), f4(1, 2)), "second": ((2,), f4(3, 4))})
    other = saved(tmp_path / "b", {"x": ((2,), f4(1, 2)), "y": ((2,), f4(3, 4))})
    found = align(read(str(one)), read(str(other)))
    assert [(pair.one, pair.other, pair.how) for pair in found.pairs] == [
        ("first", "x", "shape"),
        ("second", "y", "shape"),
    ]
