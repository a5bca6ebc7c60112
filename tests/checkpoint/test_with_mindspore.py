"""Files that mindspore 2.10.0 itself wrote, of layers and numbers of ours: `mindspore.save_checkpoint`, in both of its formats."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoint_world import numpy
from test_checkpoint_formats import told, values

from porter.checkpoint.compared import compared
from porter.checkpoint.find import read

WRITTEN = Path(__file__).parent / "written"
LAYERS = {  # nn.Dense(4, 3), nn.BatchNorm1d(3), nn.Embedding(5, 4), as they are made
    "fc.weight": ("float32", (3, 4)),
    "fc.bias": ("float32", (3,)),
    "bn.moving_mean": ("float32", (3,)),
    "bn.moving_variance": ("float32", (3,)),
    "bn.gamma": ("float32", (3,)),
    "bn.beta": ("float32", (3,)),
    "emb.embedding_table": ("float32", (5, 4)),
}
TYPES = {
    "x": ("bfloat16", (2, 3)),
    "y": ("int64", (6,)),
    "b": ("bool", (2,)),
    "h": ("float16", (2, 2)),
    "epoch": ("int64", ()),
    "lr": ("float32", ()),
}


@pytest.mark.parametrize("suffix", ["ckpt", "safetensors"])
def test_layers(suffix):
    path = WRITTEN / f"mindspore_layers.{suffix}"
    assert told(path) == LAYERS
    assert values(path, "bn.moving_variance") == [1, 1, 1]
    assert values(path, "bn.beta") == [0, 0, 0]


def test_both_formats_hold_the_same():
    numpy()
    one, other = (read(str(WRITTEN / f"mindspore_layers.{suffix}")) for suffix in ("ckpt", "safetensors"))
    found = compared(one, other, None, "en")
    assert (found["outcome"], len(found["pairs"])) == ("equal", len(LAYERS))


def test_types_and_what_was_appended():
    path = WRITTEN / "mindspore_types.ckpt"
    assert told(path) == TYPES
    assert values(path, "x") == [0, 1, 2, 3, 4, 5]
    assert values(path, "y") == [0, 1, 2, 3, 4, 5]
    assert values(path, "b") == [1, 0]
    assert values(path, "epoch") == [3]
    assert values(path, "lr") == [pytest.approx(0.1)]
