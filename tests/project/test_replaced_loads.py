"""Loaders in the place of `torch.load`: whose, and where they count."""

import pytest

from porter.project.replaced_loads import replaced_loads

LOADER = b"def torch_load(*args, **kwargs):\n    return old(*args, weights_only=False, **kwargs)\n"
PUT = b"import torch\ntorch.load = torch_load\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"lib/yolo/__init__.py": b"", "lib/yolo/utils/__init__.py": PUT, "lib/yolo/patches.py": LOADER},
            ("lib/yolo/",),
        ),
        (
            {"yolo/__init__.py": b"", "yolo/utils/__init__.py": PUT, "yolo/patches.py": LOADER, "a.py": b""},
            ("yolo/",),
        ),
        ({"train.py": PUT + LOADER}, ("train.py",)),
        ({"train.py": b"import torch\ntorch.load = partial(torch.load, weights_only=False)\n"}, ("train.py",)),
        ({"train.py": PUT + b"def torch_load(path):\n    return old(path)\n"}, ()),
        ({"train.py": b"import torch\n# torch.load = torch_load\n" + LOADER}, ()),
        ({"tests/test_a.py": PUT + LOADER}, ()),
    ],
)
def test_where_a_loader_of_the_project_counts(files: dict[str, bytes], expected: tuple[str, ...]) -> None:
    assert replaced_loads(files) == expected
