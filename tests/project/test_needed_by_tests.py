"""A test that asks for a GPU and ends in what no NPU runs stays as it is: question, devices and moves."""

from __future__ import annotations

import pytest

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.finding import apply
from porter.run.gather import gather

pytestmark = pytest.mark.slow  # each runs the command on a project

PROJECT = {
    "csrc/hull.cu": """
#include <torch/extension.h>
__global__ void hull_kernel(const float* points, float* out) { out[threadIdx.x] = points[threadIdx.x]; }
torch::Tensor hull(torch::Tensor points) {
  auto out = torch::empty_like(points);
  hull_kernel<<<1, 32>>>(points.data_ptr<float>(), out.data_ptr<float>());
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("hull", &hull); }
""",
    "setup.py": """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="geo", ext_modules=[CUDAExtension("geo._hulls", ["csrc/hull.cu"])], cmdclass={"build_ext": BuildExtension})
""",
    "geo/__init__.py": "from .shapes import area\n",
    "geo/ops.py": """
import torch
from geo import _hulls


def hull(points):
    return _hulls.hull(points)


def hull_or_plain(points):
    if points.is_cuda:
        return _hulls.hull(points)
    else:
        return points


def centre(points):
    return points.mean(0)
""",
    "geo/shapes.py": """
import torch
from .ops import centre, hull


class Shape(torch.nn.Module):
    def forward(self, points):
        return hull(points)


def area(points):
    return Shape()(points).sum()


def middle(points):
    return centre(points)
""",
    "geo/model.py": """
import torch
from .shapes import area


def loss(points):
    return area(points) + 1
""",
    "geo/tried.py": """
import torch

try:
    from geo import _hulls
except ImportError:
    _hulls = None


def tried(points):
    return points if _hulls is None else _hulls.hull(points)
""",
    "geo/dummy.py": """
import torch


def stand_in(name):
    raise ImportError(name)


try:
    from geo import _hulls
except ImportError:
    _hulls = stand_in("_hulls")


def dummy(points):
    return _hulls.hull(points)
""",
    "geo/versions.py": """
import torch
from . import _hulls

if torch.__version__ < "1.7":
    run = _hulls.hull
    found = _hulls.hull
else:
    run = _hulls.hull
    found = torch.mean


def hulls(points):
    return run(points)


def means(points):
    return found(points)
""",
    "geo/kinds.py": """
import torch
from .ops import centre, hull


class Kind(torch.nn.Module):
    def __init__(self, kind):
        if kind == "centre":
            self.run = centre
        elif kind == "hull":
            self.run = hull
""",
    "geo/named.py": """
from typing import Callable
from .ops import centre, hull
from .shapes import Shape

run: Callable = hull
middle: Callable[[Shape], Shape] = centre
area: Callable
""",
    "geo/blobs.py": "import torch\nfrom caffe2.python import core\n\n\ndef exported(net):\n    return core.Net(net)\n",
}
HEAD = "import unittest\nimport pytest\nimport torch\n"
SKIPPED = "    @unittest.skipIf(not torch.cuda.is_available(), 'needs a GPU')\n"


def ported(folder, text, path="tests/test_geo.py"):
    """The file after the automatic edits, and its findings."""
    files = {**PROJECT, path: text}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    result = analyse(path, text.encode(), open_session(facts=gather(folder, sorted(files))))
    return apply(text.encode(), result.auto).decode(), result.findings


def case(imports, body, decorator=SKIPPED):
    return f"{HEAD}{imports}\n\nclass TestGeo(unittest.TestCase):\n{decorator}    def test_it(self):\n        {body}\n"


POINTS = "\n\ndef points(count, device='cuda'):\n    return torch.ones(count, device=device)\n"
METHOD = "\n    def points(self, device='cuda'):\n        return torch.ones(3, device=device)\n"
OTHER = "\n    def test_other(self):\n        points(2)\n"
TRAINER = "from pytorch_lightning import Trainer\n"
FITTED = (
    "\n    def fitted(self, accelerator='cpu', name=''):\n"
    "        Trainer(accelerator=accelerator, devices=1).fit(torch.ones(3))\n"
)
STAYS = [
    case(TRAINER, "Trainer(accelerator='gpu').fit(torch.ones(3).cuda())"),  # Lightning has no accelerator for NPUs
    case(TRAINER, "self.fitted(accelerator='cuda', name='a')") + FITTED,
    case(TRAINER, "self.fitted('gpu')\n\n    def test_other(self):\n        self.fitted('cpu')") + FITTED,
    case("from geo.dummy import dummy\n", "dummy(torch.ones(3).cuda())"),
    case("from geo.ops import hull\n", "hull(torch.ones(3).cuda())"),
    case("from geo import area\n", 'area(torch.ones(3, device="cuda"))'),  # over a package that hands it on
    case("from geo.shapes import Shape\n", 'Shape()(torch.ones(3).to("cuda:0"))'),
    case("from geo.named import run\n", "run(torch.ones(3).cuda())"),
    case("from geo.versions import hulls\n", "hulls(torch.ones(3).cuda())"),
    case("from geo import _hulls\n", "_hulls.hull(torch.ones(3).cuda())"),
    case("", "from geo.ops import hull\n        hull(torch.ones(3).cuda())"),
    case(
        "from geo.ops import hull\n",
        "for d in ['cpu'] + ['cuda'] if torch.cuda.is_available() else []:\n            hull(torch.ones(3, device=d))",
        "",
    ),
    case(
        "from geo.ops import hull\n",
        "if not torch.cuda.is_available():\n            return\n        hull(torch.ones(3).cuda())",
        "",
    ),
    case(
        "from geo.ops import hull\n",
        "self.run_on('cuda')\n\n    def run_on(self, device):\n        hull(torch.ones(3, device=device))",
    ),
    case("from geo.ops import hull\n", "hull(points(3))") + POINTS,
    case("from geo.ops import hull\n", "hull(more())") + POINTS + "\n\ndef more():\n    return points(4)\n",
    case("from geo.ops import hull\n", "hull(torch.ones(3, device=PLACE))") + "\n\nPLACE = torch.device('cuda')\n",
    case("from geo.ops import hull\n", "hull(self.points())") + METHOD,
    f"{HEAD}from geo.ops import hull\n\n\n@pytest.fixture\ndef points():\n    return torch.ones(3).cuda()\n"
    "\n\n@pytest.mark.skipif(not torch.cuda.is_available(), reason='')\ndef test_it(points):\n    hull(points)\n",
    case("from geo.blobs import exported\n", "exported(torch.nn.ReLU().cuda())"),
    case("from geo.ops import hull\n", "hull(torch.ones(3).cuda())")
    .replace(SKIPPED, "")
    .replace("class", SKIPPED.strip() + "\nclass"),
    f"{HEAD}from geo.ops import hull\n\n\n@pytest.mark.skipif(not torch.cuda.is_available(), reason='')\ndef test_it():\n    hull(torch.ones(3).cuda())\n",
]
MOVES = [
    case(TRAINER, "self.fitted('cpu', torch.ones(3).cuda())") + FITTED,
    case(TRAINER, "self.fitted('cpu', name='gpu')") + FITTED,
    case(TRAINER, "Trainer(accelerator='cpu').fit(torch.ones(3).cuda())"),
    case("from geo.ops import centre\n", "centre(accelerator='gpu')"),
    case("from geo.named import middle\n", "middle(torch.ones(3).cuda())"),  # an annotation runs nothing
    case("from geo.versions import means\n", "means(torch.ones(3).cuda())"),  # it has another way
    case("from geo.tried import tried\n", "tried(torch.ones(3).cuda())"),  # nobody builds the extension for an NPU
    case("from geo.kinds import Kind\n", "Kind('centre').run(torch.ones(3).cuda())"),
    case("from geo.ops import centre\n", "centre(torch.ones(3).cuda())"),
    case("from geo.shapes import middle\n", 'middle(torch.ones(3, device="cuda"))'),
    case("from geo.ops import hull_or_plain\n", "hull_or_plain(torch.ones(3).cuda())"),  # an NPU takes the plain way
    case("from geo.model import loss\n", "loss(torch.ones(3).cuda())"),  # too far away to be what is tested
    case("", "points(3)") + POINTS,
    case("from geo.ops import centre\n", "centre(points(3))") + OTHER + POINTS,
    case("from geo.ops import hull\n", "torch.ones(3).cuda()\n\n    def test_other(self):\n        hull(torch.ones(3))"),
]  # fmt: skip


@pytest.mark.parametrize("text", STAYS)
def test_stays(tmp_path, text):
    after, findings = ported(tmp_path, text)
    assert after == text
    assert {(f.why, f.severity) for f in findings if f.code in ("PRT101", "PRT120", "PRT130")} == {("tested", "note")}


def test_the_import_that_stops_the_file_is_named(tmp_path, monkeypatch):
    tried = "try:\n    from caffe2.python import workspace\nexcept ImportError:\n    workspace = None\n"
    monkeypatch.setitem(
        PROJECT, "geo/blobs.py", f"{tried}from caffe2.proto import core\n\n\ndef exported(net):\n    ...\n"
    )
    _, findings = ported(tmp_path, case("from geo.blobs import exported\n", "exported(torch.nn.ReLU().cuda())"))
    assert {dict(f.values)["what"] for f in findings if f.why == "tested"} == {"caffe2.proto"}


@pytest.mark.parametrize("text", MOVES)
def test_is_ported(tmp_path, text):
    after, findings = ported(tmp_path, text)
    assert "torch.npu.is_available" in after and "cuda" not in after
    assert not any(f.why == "tested" for f in findings)


def test_a_class_that_asks_is_ported_for_one_test_that_an_npu_runs(tmp_path):
    text = STAYS[-2] + "\n    def test_other(self):\n        torch.ones(3).cuda()\n"
    assert "cuda" not in ported(tmp_path, text)[0]


def test_no_test_is_ported(tmp_path):
    after, _ = ported(tmp_path, STAYS[6], "tools/measure.py")
    assert "torch.npu.is_available" in after


def test_what_is_called_by_no_name_is_ported(tmp_path):
    model = "\n\nclass Net(torch.nn.Module):\n    def forward(self, x, device='cuda'):\n        return x.to(device)\n"
    after, _ = ported(tmp_path, case("from geo.ops import hull\n", "hull(Net().forward(torch.ones(3)))") + model)
    assert "device='npu'" in after


@pytest.mark.parametrize("other", [OTHER, OTHER.replace("points(2)", "self.f(f=points)")])
def test_what_another_test_uses_is_ported(tmp_path, other):
    after, _ = ported(tmp_path, case("from geo.ops import hull\n", "hull(points(3).cuda())") + other + POINTS)
    assert "device='npu'" in after and "hull(points(3).cuda())" in after


GUARD = """import pytest
import torch


class RunIf:
    def __new__(cls, min_gpus=0, **kwargs):
        return pytest.mark.skipif(torch.cuda.device_count() < min_gpus, reason="", **kwargs)


def is_there():
    return torch.cuda.device_count() > 0
"""
GUARDED = """from tests.helpers.run_if import RunIf


@RunIf(min_gpus=1)
def test_fast(cfg):
    cfg.trainer.accelerator = "gpu"
    train(cfg)
"""


@pytest.mark.parametrize(
    ("test", "stays"),
    [
        (GUARDED, True),
        (GUARDED.replace('"gpu"', '"cpu"'), False),
        (GUARDED.replace("min_gpus=1", "slow=True"), False),
        (GUARDED.replace("import RunIf", "import is_there, slow as RunIf"), False),
    ],
)
def test_what_guards_tests_that_ask_lightning_for_a_gpu(tmp_path, monkeypatch, test, stays):
    monkeypatch.setitem(PROJECT, "tests/test_train.py", test)
    after, findings = ported(tmp_path, GUARD, "tests/helpers/run_if.py")
    assert after.count("torch.npu") == 2 - stays
    assert [dict(f.values)["what"] for f in findings if f.why == "tested"] == ['accelerator="gpu"'] * stays
