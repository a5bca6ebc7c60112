"""A whole copy of a library that its users leave for torch is not ported: what is said of it rests, its edits stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

pytestmark = pytest.mark.slow  # each runs the command on a project

SETUP = """from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="{name}",
    packages=["{name}"],
    ext_modules=[CUDAExtension("amp_C", ["csrc/scale.cu"])],
    cmdclass={{"build_ext": BuildExtension}},
)
"""
SCALE = """#include <torch/extension.h>

__global__ void scale_kernel(float* x) { x[0] *= 2; }

void scale(torch::Tensor x) { scale_kernel<<<1, 1>>>(x.data_ptr<float>()); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
"""
COPY = {
    "setup.py": SETUP.format(name="apex"),
    "csrc/scale.cu": SCALE,
    "apex/__init__.py": "from . import amp\n",
    "apex/amp/__init__.py": "import torch\nimport amp_C\n\n\ndef init(x):\n    amp_C.scale(x.cuda())\n",
    "tests/test_amp.py": "import torch\nfrom apex import amp\n\namp.init()\nprint(torch.ones(2).cuda())\n",
    "README.md": "# apex\n\nTrain with apex:\n\n    CUDA_VISIBLE_DEVICES=0 python main.py --device cuda\n",
}
USER = "import torch\nfrom apex import amp\n\nmodel, optimizer = amp.initialize(*map(torch.compile, (1, 2)), opt_level=LEVEL)\n"
TRAIN = "import torch\n\nprint(torch.ones(2).cuda())\n"
CALLER = "import amp_C\nimport torch\n\namp_C.scale(torch.ones(2).cuda())\n"


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def look(
        copy: dict[str, str], more: dict[str, str], folder: str = "apex/"
    ) -> tuple[set[tuple[str, str]], set[str]]:
        """What is told of the copy without an edit, by code and path in it; and the files in it that are edited."""
        write(tmp_path, {"porter.toml": "", **{folder + path: text for path, text in copy.items()}, **more})
        found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)["findings"]
        inside = [f for f in found if f["path"].startswith(folder)]
        told = {(f["code"], f["path"].removeprefix(folder)) for f in inside if f["status"] == "manual"}
        return told, {f["path"].removeprefix(folder) for f in inside if f["status"] == "auto"}

    return look


EDITED = {"apex/amp/__init__.py", "tests/test_amp.py"}


@pytest.mark.parametrize("folder", ["apex/", "libs/apex/"])
def test_a_copy_with_users(look, folder: str) -> None:
    assert look(COPY, {"train.py": USER}, folder) == (set(), EDITED)


def test_a_copy_of_which_nothing_else_is_told(look) -> None:
    assert look(COPY, {"train.py": TRAIN}) == ({("PRT402", "setup.py")}, EDITED)


def test_a_kernel_that_python_elsewhere_calls(look) -> None:
    told, _ = look(COPY, {"train.py": CALLER})
    assert told == {("PRT850", "csrc/scale.cu")}


@pytest.mark.parametrize(
    ("copy", "more"),
    [
        ({**COPY, "setup.py": SETUP.format(name="mine")}, {"train.py": TRAIN}),  # a package of the project
        ({path: text for path, text in COPY.items() if path != "apex/__init__.py"}, {"train.py": TRAIN}),
        (COPY, {"hello.py": "print(1)\n"}),  # it is the library itself
    ],
)
def test_what_is_no_copy(look, copy: dict[str, str], more: dict[str, str]) -> None:
    told, _ = look(copy, more)
    assert {("PRT850", "csrc/scale.cu"), ("PRT860", "README.md")} <= told
