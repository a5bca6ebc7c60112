"""Sources of CUDA that lie beside an extension and go into none: nobody has to port them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

pytestmark = pytest.mark.slow  # each runs the command on a project

KERNEL = "#include <cuda_runtime.h>\n#include <helper.cuh>\n__global__ void scale(float* x) { x[threadIdx.x] = 1; }\nvoid run(float* x) { scale<<<1, 32>>>(x); }\n"
OLD = KERNEL.replace("scale", "older")
HELPER = "#pragma once\n__global__ void clear(float* x) { x[threadIdx.x] = 0; }\n"
BINDING = '#include <torch/extension.h>\nvoid run(float*);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }\n'
TYPES = "#pragma once\n#include <cuda_runtime.h>\nstruct Box { float3 low; dim3 grid; };\n"
SETUP = """from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="scale",
    ext_modules=[CUDAExtension(name="scale._C", sources={sources})],
    cmdclass={{"build_ext": BuildExtension}},
)
"""
FILES = {
    "ops/src/scale.cu": KERNEL,
    "ops/src/older.cu": OLD,
    "ops/src/helper.cuh": HELPER,
    "ops/src/types.h": TYPES,
    "ops/src/bind.cpp": BINDING,
    "ops/examples/fill.cu": OLD,
    "other/free.cu": OLD,
}
LISTED = '["src/scale.cu", "src/bind.cpp"]'
TOLD = {"ops/src/scale.cu", "ops/src/helper.cuh", "other/free.cu"}


def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], sources: str = LISTED) -> set[str]:
    porter = Porter(monkeypatch, tmp_path)
    write(tmp_path, {"porter.toml": "", **FILES, "ops/setup.py": SETUP.format(sources=sources), **files})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    return {place for f in found["findings"] if f["code"] == "PRT850" for place in _places(f)}


def _places(found: dict[str, object]) -> list[str]:
    values = found["values"]
    assert isinstance(values, dict)
    return [str(found["path"]), *filter(None, str(values.get("other_files", "")).split(", "))]


def test_what_no_extension_lists_is_told_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a listed source includes is built; so may be what lies where no extension is."""
    assert told(tmp_path, monkeypatch, {}) == TOLD


@pytest.mark.parametrize(
    "files",
    [
        {"ops/CMakeLists.txt": "add_library(scale src/scale.cu src/older.cu)\n"},
        {"ops/CMakeLists.txt": "file(GLOB SOURCES src/*.cu)\n"},
        {"ops/build.sh": "nvcc -c src/older.cu\n"},
        {"train.py": "import torch\nkernel = open('ops/src/older.cu').read()\n"},
    ],
    ids=["named", "globbed", "compiled by hand", "read"],
)
def test_what_another_build_takes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    assert told(tmp_path, monkeypatch, files) >= {*TOLD, "ops/src/older.cu"}


def test_a_computed_list_may_hold_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = '["src/bind.cpp"] + __import__("glob").glob("src/*.cu")'
    assert told(tmp_path, monkeypatch, {}, sources) >= {*TOLD, "ops/src/older.cu"}


def test_the_build_of_an_example_builds_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(tmp_path, monkeypatch, {"ops/examples/Makefile": "all:\n\tnvcc fill.cu\n"}) == TOLD
