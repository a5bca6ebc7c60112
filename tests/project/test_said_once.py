"""What one file says for all."""

from __future__ import annotations

import pytest

from porter.project.said_once import first_drop_path, said_once
from porter.python.trees import parse

OWN = b"class DropPath(nn.Module):\n    def forward(self, x):\n        pass\n"
SKIPS = b"class DropPath(nn.Module):\n    def forward(self, *parts):\n        pass\n" + OWN.replace(b"Drop", b"")
TIMM = b"from timm.layers import DropPath, trunc_normal_\n"


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        ({"a.py": TIMM, "b.py": TIMM}, "a.py"),
        ({"a.py": TIMM, "b.py": OWN}, "b.py"),
        ({"a.py": TIMM, "b.py": SKIPS}, "a.py"),
        ({"a.py": b"# no DropPath\n", "tests/a.py": OWN}, ""),
        ({"a.py": TIMM, "b.py": b"from structures import ImageList\n"}, None),
        ({"a.py": b"import torch\n", "b.py": b"from structures import ImageList\n"}, ""),
    ],
)
def test_a_drop_path_is_told_of_once_where_images_have_one_size(texts, first):
    assert first_drop_path(texts) == first


def test_of_types_the_first_file_that_speaks_of_short_ones() -> None:
    trains = b"import torch\nloss.backward()\n"
    said = said_once({"b.py": trains, "a.py": b"import torch\n"}, parse, ())
    assert (said.short_floats, said.bfloat16) == ("", "")
    said = said_once(
        {"b.py": trains, "a.py": b"import torch\n", "tests/test_a.py": b"import torch\nx.half()\n"}, parse, ()
    )
    assert said.short_floats == ""
    said = said_once({"b.py": trains, "a.py": b"import torch\nx = x.half()\n"}, parse, ())
    assert (said.short_floats, said.bfloat16) == ("a.py", "")
    said = said_once({"b.py": trains + b"import deepspeed\n"}, parse, ())
    assert (said.short_floats, said.bfloat16) == ("b.py", "b.py")


def test_who_trains_nothing_may_be_trained_in_any_type() -> None:
    assert said_once({"a.py": b"import torch\n"}, parse, ()).short_floats == "?"
