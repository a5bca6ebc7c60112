"""What one file says for all."""

from __future__ import annotations

import pytest

from porter.project.said_once import first_drop_path

OWN = b"class DropPath(nn.Module):\n    pass\n"
TIMM = b"from timm.layers import DropPath, trunc_normal_\n"


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        ({"a.py": TIMM, "b.py": TIMM}, "a.py"),
        ({"a.py": TIMM, "b.py": OWN}, "b.py"),
        ({"a.py": b"# no DropPath\n", "tests/a.py": OWN}, ""),
        ({"a.py": TIMM, "b.py": b"from structures import ImageList\n"}, None),
        ({"a.py": b"import torch\n", "b.py": b"from structures import ImageList\n"}, ""),
    ],
)
def test_a_drop_path_is_told_of_once_where_images_have_one_size(texts, first):
    assert first_drop_path(texts) == first
