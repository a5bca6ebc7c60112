"""An extension for CUDA that nothing outside of its folder names is built by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Porter, write
from test_unused import both

pytestmark = pytest.mark.slow  # each analyses a project by the command

KERNEL = "__global__ void scale(float* x) { x[0] *= 2; }\n\nvoid start(float* x) { scale<<<1, 1>>>(x); }\n"
SETUP = """from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="ballquery",
    ext_modules=[CUDAExtension("ballquery_cuda", ["src/scale.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
"""
FILES = {
    "lib/csrc/pointball/setup.py": SETUP,
    "lib/csrc/pointball/ball_ops.py": "import ballquery_cuda\n\nprint(ballquery_cuda)\n",
    "lib/csrc/pointball/src/scale.cu": KERNEL,
    "train.py": "import torch\n\nif __name__ == '__main__':\n    torch.ones(2).cuda().sum().backward()\n",
}
TOLD = {("PRT402", "lib/csrc/pointball/setup.py"), ("PRT850", "lib/csrc/pointball/src/scale.cu")}


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ({}, False),
        ({"README.md": "Build it: `cd lib/csrc/pointball && python setup.py install`.\n"}, True),
        ({"model.py": "import ballquery_cuda\n\nprint(ballquery_cuda)\n"}, True),
        ({"model.py": "from lib.csrc.pointball import ball_ops\n\nprint(ball_ops)\n"}, True),
        ({"lib/csrc/pointball/README.md": "Build pointball first.\n"}, False),
        ({"train.py": "import torch\n\nprint(torch.ones(2).cuda())\n"}, True),  # nobody knows for whom it is there
    ],
)
def test_who_names_it(tmp_path: Path, monkeypatch, more: dict[str, str], is_told: bool) -> None:
    write(tmp_path, {"porter.toml": "", **FILES, **more})
    found, _ = both(Porter(monkeypatch, tmp_path), ".")
    assert bool(TOLD & {*found}) is is_told
