"""What one rewrite answers is one finding: a CUDA kernel with its loader, its calls and their guards; a package of attention
with its calls; a statement with its copies in other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Porter, write

from porter.engine.together import elsewhere

pytestmark = pytest.mark.slow  # each runs the command on a project

KERNEL = """#include <torch/extension.h>

__global__ void scale_kernel(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

torch::Tensor scale(torch::Tensor x) {
  scale_kernel<<<1, 256>>>(x.data_ptr<float>(), x.numel());
  return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale", &scale);
}
"""
OPS = """import torch
from torch.utils.cpp_extension import load

scale_ext = load("scale_ext", sources=["ops/scale.cu"])


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if not x.is_cuda:
            raise NotImplementedError
        return scale_ext.scale(x)


def other(x, launch):
    return launch(x) if x.is_cuda else x
"""
USER = "from ops.scale import Scale, other\n\nprint(Scale.apply, other)\n"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def look(files: dict[str, str]) -> list[dict[str, Any]]:
        write(tmp_path, {"porter.toml": "", **files})
        rows: list[dict[str, Any]] = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)[
            "findings"
        ]
        return rows

    return look


def test_a_kernel_speaks_for_what_loads_and_calls_it(found) -> None:
    told = found({"ops/scale.cu": KERNEL, "ops/scale.py": OPS, "train.py": USER})
    kernels = [f for f in told if f["code"] == "PRT850"]
    assert [f["path"] for f in kernels] == ["ops/scale.cu"]
    assert {"ops/scale.py:4", "ops/scale.py:12"} <= set(kernels[0]["values"]["places"].split(", "))
    assert not [f for f in told if f["code"] in ("PRT411", "PRT402")]


TEST = """import pytest
import torch

from ops.scale import Scale


def test_scale():
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    x = torch.ones(2).cuda()
    assert Scale.apply(x).sum() == 4
"""


def test_a_kernel_speaks_for_the_tests_that_end_in_it(found) -> None:
    told = found({"ops/scale.cu": KERNEL, "ops/scale.py": OPS, "train.py": USER, "tests/test_scale.py": TEST})
    (kernel,) = [f for f in told if f["code"] == "PRT850"]
    assert {"tests/test_scale.py:8", "tests/test_scale.py:10"} <= set(kernel["values"]["places"].split(", "))
    assert not [f for f in told if f["path"] == "tests/test_scale.py"]


def test_a_kernel_speaks_for_the_cpp_beside_it(found) -> None:
    starts = "#include <c10/cuda/CUDAGuard.h>\nvoid go(float* x) { cudaLaunchKernel(x); }\n"
    declares = "#include <cuda_runtime.h>\nstruct params { int2 size; };\n"
    rows = found({
        "ops/scale_cuda.cu": KERNEL, "ops/scale.cpp": starts, "ops/scale.h": declares, "ops/shift.cpp": starts,
    })  # fmt: skip
    kernel, other = [f for f in rows if f["code"] == "PRT850"]
    assert (kernel["path"], other["path"]) == ("ops/scale_cuda.cu", "ops/shift.cpp")
    assert kernel["values"]["places"] == "ops/scale.cpp:2, ops/scale.h:1"
    assert "also in ops/scale.cpp, ops/scale.h" in kernel["message"]


SETUP = """from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

setup(name="scale", ext_modules=[CUDAExtension("scale_ext", ["ops/api.cpp", "ops/scale.cu"])])
"""


def test_a_kernel_speaks_for_all_that_is_built_with_it(found) -> None:
    starts = '#include <c10/cuda/CUDAGuard.h>\n#include "more.h"\nvoid go(float* x) { cudaLaunchKernel(x); }\n'
    more = "#include <cuda_runtime.h>\nstruct More { void stop() { cudaDeviceSynchronize(); } };\n"
    rows = found({
        "setup.py": SETUP, "ops/scale.cu": KERNEL, "ops/api.cpp": starts, "ops/more.h": more, "ops/alone.cpp": starts,
    })  # fmt: skip
    kernel, *others = [f for f in rows if f["code"] == "PRT850" and f["path"] != "ops/alone.cpp"]
    assert (kernel["path"], others) == ("ops/scale.cu", [])
    assert "ops/api.cpp" in kernel["message"]
    assert set(kernel["values"]["places"].split(", ")) >= {"ops/more.h:1"}


COLLECTING = """import glob

from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

sources = glob.glob("{}/*.cu".format("src")) + glob.glob("{}/*.cpp".format("src"))
setup(name="scale", ext_modules=[CUDAExtension("scale._ext", sources)])
"""


def test_a_kernel_speaks_for_what_lies_below_a_build_that_collects_its_sources(found) -> None:
    more = "#include <cuda_runtime.h>\nstruct More { void stop() { cudaDeviceSynchronize(); } };\n"
    rows = found({
        "setup.py": "print()\n", "ops/setup.py": COLLECTING, "ops/src/scale.cu": '#include "more.h"\n' + KERNEL,
        "ops/include/more.h": more, "away/other.h": more.replace("More", "Away"),
    })  # fmt: skip
    assert {f["path"] for f in rows if f["code"] == "PRT850"} == {"ops/src/scale.cu", "away/other.h"}


def test_a_copy_of_a_library_goes_with_the_kernels_that_include_it(found) -> None:
    header = "#pragma once\n__global__ void prepare(float* x) { x[threadIdx.x] = 1; }\nvoid run(float* x) { prepare<<<1, 1>>>(x); }\n"
    rows = found({
        "ops/scale.cu": "#include <cufftdx.hpp>\n" + KERNEL, "mathdx/include/cufftdx.hpp": '#include "cufftdx/detail.hpp"\n',
        "mathdx/include/cufftdx/detail.hpp": header, "ops/include/detail.hpp": header.replace("prepare", "own"),
    })  # fmt: skip
    assert {f["path"] for f in rows if f["code"] == "PRT850"} == {"ops/scale.cu", "ops/include/detail.hpp"}


def test_a_kernel_of_a_library_is_told_where_it_is_called(found) -> None:
    told = found({"ops/scale.py": OPS, "train.py": USER})
    assert [f["line"] for f in told if f["code"] == "PRT402"] == [4]


ATTENTION = """import torch
{imported}


def attend(q, k, v):
    return {called}(q.cuda(), k, v)
"""


@pytest.mark.parametrize(
    ("imported", "called", "lines"),
    [
        ("from flash_attn import flash_attn_func", "flash_attn_func", {"PRT401": [2]}),
        ("from xformers.ops import memory_efficient_attention", "memory_efficient_attention", {"PRT401": [2]}),
        ("from own import flash_attn_func", "flash_attn_func", {}),
    ],
)
def test_a_package_speaks_for_its_calls(found, imported: str, called: str, lines: dict[str, list[int]]) -> None:
    told = found(
        {
            "net.py": ATTENTION.format(imported=imported, called=called),
            "train.py": "import net\n\nnet.attend(1, 2, 3)\n",
        }
    )
    attention = [f for f in told if f["code"] in ("PRT401", "PRT409")]
    assert {f["code"]: [f["line"]] for f in attention} == lines
    assert all(called in f["values"]["calls"] for f in attention)


LOOP = """import torch


def fit(model, loader, optimizer):
    total = 0
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        {}
    return total


if __name__ == "__main__":
    fit(torch.nn.Linear(2, 2), [], None)
"""


@pytest.mark.slow
def test_copies_of_a_statement(found) -> None:
    same, other = 'print("this batch", loss.double())', 'print("another", loss.double())'
    told = found(
        {
            "b.py": LOOP.format(same),
            "a_old.py": LOOP.format(same),
            "c.py": LOOP.format(same),
            "d.py": LOOP.format(other),
        }
    )
    waits = {f["path"]: f["values"].get("places", "") for f in told if f["code"] == "PRT307"}
    assert waits == {"b.py": "c.py:10, a_old.py:10", "d.py": ""}


@pytest.mark.slow
def test_a_habit_of_a_program(found) -> None:
    said = {f"t{number}.py": LOOP.format(f"print({number}, 'loss', loss.double())") for number in range(6)}
    told = [f for f in found(said) if f["code"] == "PRT307"]
    assert [f["path"] for f in told] == ["t0.py"] and told[0]["values"]["places"].count(":10") == 5


@pytest.mark.slow
def test_a_few_files_speak_for_themselves(found) -> None:
    said = {f"t{number}.py": LOOP.format(f"print({number}, 'loss', loss.double())") for number in range(5)}
    assert [f["path"] for f in found(said) if f["code"] == "PRT307"] == sorted(said)


def test_lists_of_one_folder(found) -> None:
    frozen = "nvidia-cublas-cu12==12.1.3.1\ntorch==2.4.1\n"
    told = found(
        {
            "requirements/a.txt": frozen,
            "requirements/b.txt": frozen,
            "train.py": "import torch\n\nprint(torch.ones(2).cuda())\n",
        }
    )
    assert [f["path"] for f in told if f["code"] == "PRT842"] == ["requirements/a.txt"]


def test_a_kernel_that_only_idle_files_call_is_set_aside(found) -> None:
    files = {"ops/__init__.py": "", "ops/scale.py": OPS.replace("scale.cu", "kernel.cu"), "ops/kernel.cu": KERNEL}
    main = "if __name__ == '__main__':\n    print(1)\n"
    left = {**files, "train.py": f"# from ops.scale import Scale\nimport torch\n\n{main}"}
    assert not [f for f in found(left) if f["path"].startswith("ops/") and f["code"] == "PRT850"]
    used = {**files, "train.py": f"from ops.scale import Scale, other\n\nprint(Scale.apply, other)\n{main}"}
    assert [f for f in found(used) if f["code"] == "PRT850"]


RUNTIME = """import onnxruntime
import torch


def session(path, device=torch.device("cuda")):
    {asked}
    return onnxruntime.InferenceSession(path, providers=providers)


print(session("a.onnx"), torch.ones(2).cuda())
"""
CHOSEN = 'providers = ["CUDAExecutionProvider"] if device == torch.device("cuda") else ["CPUExecutionProvider"]'


@pytest.mark.parametrize("asked", [CHOSEN, 'providers = ["CUDAExecutionProvider"]'])
def test_the_choice_of_a_provider_speaks_for_its_package(found, asked: str) -> None:
    told = found({"run.py": RUNTIME.format(asked=asked)})
    chosen = [f for f in told if f["why"] == "for-a-provider"]
    assert bool(chosen) is (asked == CHOSEN)
    assert [f["code"] for f in told if f["values"].get("name") == "onnxruntime"] == ([] if chosen else ["PRT401"])


def test_one_newer_target_answers_for_all_that_is_missing(found) -> None:
    muon = "import torch\n\n\ndef optimizer(model):\n    return torch.optim.Muon(model.parameters())\n"
    later = muon.replace("optim.Muon", "distributed.fsdp.DataParallelMeshDims")
    told = [f for f in found({"a.py": muon, "b.py": later, "c.py": muon}) if f["code"] == "PRT701"]
    assert [(f["path"], f["values"]["needed"], f["values"]["places"]) for f in told] == [
        ("a.py", "2.12.0.post3", "b.py:5, c.py:5")
    ]


PROFILED = """import torch
from torch.profiler import ProfilerActivity, profile

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
    torch.ones(2).cuda()
print({read})
"""


def test_what_reads_a_recording_speaks_for_what_records_it(found) -> None:
    read = {"a.py": "recorded.key_averages().table()", "b.py": "recorded.events()", "c.py": "recorded"}
    told = found({path: PROFILED.format(read=text) for path, text in read.items()})
    profiles = [f for f in told if f["code"] in ("PRT505", "PRT506", "PRT507")]
    assert [(f["path"], f["code"], f["values"].get("also")) for f in profiles if f["status"] == "manual"] == [
        ("a.py", "PRT507", "2"),
        ("b.py", "PRT506", None),
    ]
    assert {f["code"] for f in profiles if f["path"] == "c.py"} == {"PRT505", "PRT506"}, "what is edited stays"


RENDERS = "import torch\nimport neural_renderer as nr\n\n\ndef draw(x):\n    return nr.Renderer()(torch.as_tensor(x))\n"


def test_a_package_to_be_replaced_speaks_for_the_lists_that_ask_for_it(found) -> None:
    files = {"draw.py": RENDERS, "also.py": RENDERS.replace("x", "y"), "requirements.txt": "neural-renderer-pytorch\n"}
    files["Dockerfile"] = "FROM ubuntu:22.04\nRUN pip install neural-renderer-pytorch\n"
    (package,) = [f for f in found(files) if f["code"] == "PRT401"]
    assert package["path"] == "also.py" and "also in " in package["message"]
    assert {"draw.py:2", "requirements.txt:1", "Dockerfile:2"} == set(package["values"]["places"].split(", "))
    assert all(name in package["message"] for name in ("draw.py", "requirements.txt", "Dockerfile"))


def test_a_list_is_told_where_no_file_that_imports_the_package_is(found) -> None:
    guarded = "try:\n    import xformers.ops as ops\nexcept ImportError:\n    ops = None\n\n\ndef attend(q, k, v):\n"
    guarded += "    return ops.memory_efficient_attention(q, k, v) if ops is not None else q @ k @ v\n"
    told = [f for f in found({"attend.py": guarded, "requirements.txt": "xformers\n"}) if f["code"] == "PRT401"]
    assert any(f["path"] == "requirements.txt" for f in told)
    suppressed = RENDERS.replace("as nr", "as nr  # porter: ignore[PRT401] its machine stays")
    told = found({"draw.py": suppressed, "requirements.txt": "neural-renderer-pytorch\n"})
    assert [f["path"] for f in told if f["code"] == "PRT401" and not f["suppressed"]] == ["requirements.txt"]


def test_names_with_commas(found) -> None:
    wait = LOOP.format("print(loss.item())")
    told = found({"1 - a, b and c.py": wait, "2, d.py": wait, "e.py": wait})
    [one] = [f for f in told if f["code"] == "PRT630"]
    assert (one["path"], one["values"]["places"]) == ("1 - a, b and c.py", "2, d.py:10, e.py:10")
    assert elsewhere(one["values"]) == [("2, d.py", 10), ("e.py", 10)]
    assert elsewhere({"places": "a: b, c.py:3, d:4.py:5"}) == [("a: b, c.py", 3), ("d:4.py", 5)]
