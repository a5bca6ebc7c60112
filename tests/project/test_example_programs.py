"""Examples in C++ that lie beside a library: programs by themselves, which no training needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

PROGRAM = "#include <cuda_runtime.h>\n__global__ void fill(float* x) { x[threadIdx.x] = 1; }\nint main() { fill<<<1, 32>>>(nullptr); }\n"
LIBRARY = "#include <cuda_runtime.h>\n__global__ void fill(float* x) { x[threadIdx.x] = 1; }\n"


def test_an_example_that_runs_by_itself_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    porter = Porter(monkeypatch, tmp_path)
    files = {"csrc/example/fill.cu": PROGRAM, "csrc/example/used.cu": LIBRARY, "main.cu": PROGRAM}
    write(tmp_path, {"porter.toml": "", **files})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    told = {f["path"]: f["code"] for f in found["findings"]}
    assert told == {"csrc/example/used.cu": "PRT850", "main.cu": "PRT850"}
    assert "csrc/example/fill.cu" in json.dumps(found["left_alone"])


SERVER = "#include <NvInfer.h>\n" + PROGRAM


def test_a_program_for_inference_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    porter = Porter(monkeypatch, tmp_path)
    files = {
        "deploy/TensorRT/plugin.cu": "#include <NvInfer.h>\n" + LIBRARY,
        "serve.cu": SERVER,
        "ops/plugin.cu": LIBRARY,
    }
    write(tmp_path, {"porter.toml": "", **files})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    assert {f["path"] for f in found["findings"]} == {"ops/plugin.cu"}
    assert "deploy/TensorRT/plugin.cu" in json.dumps(found["left_alone"])
