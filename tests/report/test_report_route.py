"""Route, plan, entry scripts and packages: what the first screen and the inventory say of a repository as a whole."""

from __future__ import annotations

import json
import re
from string import Formatter

import pytest
from command_line import Porter
from report_samples import made

from porter.rulebook.texts import Texts

pytestmark = pytest.mark.slow  # each runs the command on a project

GUARD = "\nif __name__ == '__main__':\n    main()\n"
TORCH = "import torch\n"


def analysed(patch, folder, files: dict) -> dict:
    porter: Porter = made(patch, folder / "r", {"setup.py": "", **files})
    return json.loads(porter("analyze", ".", "--format", "json").out)


@pytest.fixture
def report(tmp_path, monkeypatch):
    return lambda files: analysed(monkeypatch, tmp_path, files)


def test_scripts_that_start_something(report):
    doc = report({
        "train.py": TORCH + "for x in range(3):\n    print(torch.ones(x).cuda())\n",  # no guard
        "shared.py": TORCH + "for x in range(3):\n    print(x)\n",  # as long as nobody imports it
        "tools/use.py": "from shared import x\nimport torch" + GUARD,
        "src/kit/__init__.py": "",
        "src/kit/core.py": TORCH,
        "src/launch.py": "from kit.core import main" + GUARD,  # torch comes with the repository's own package
        "begin.py": "from kit import core\nfor x in range(3):\n    core.step(x)\n",
        "src/kit/acts.py": TORCH + "while True:\n    break\n",  # a module of a package
        "prepare.py": "import json" + GUARD,  # nothing of torch
        "tests/test_it.py": TORCH + GUARD,
        "other.py": TORCH + "def main(): pass\n",
    })  # fmt: skip
    assert doc["entries"] == ["begin.py", "train.py", "src/launch.py", "tools/use.py", "tests/test_it.py"]


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["run_glue_no_trainer.py", "train.py"], "train.py"),
        (["train_rl.py", "pretrain_gpt.py", "tools/train.py"], "tools/train.py"),
        (["trainers/dpo_trainer.py", "bench_it.py"], "bench_it.py"),
        (["examples/train.py", "main.py"], "main.py"),
        (["verl/trainer/main_eval.py", "verl/trainer/main_ppo.py"], "verl/trainer/main_ppo.py"),
        (["retrieval/colbert/colbert/train.py", "run.py"], "run.py"),
        (["eval; rm -rf.py"], "your_training.py"),
        ([], "your_training.py"),
    ],
)
def test_the_script_that_the_plan_names(report, names, first):
    doc = report({"lib.py": TORCH + "x = torch.ones(1).cuda()\n", **{name: TORCH + GUARD for name in names}})
    assert doc["plan"][0]["commands"][1] == f"python {first}"


def test_a_repository_does_not_import_itself(report):
    doc = report({
        "detectron2/__init__.py": TORCH,
        "detectron2/engine.py": "from detectron2.layers import nms\nimport apex\n",
        "projects/one/datasets/__init__.py": "",
        "projects/one/train.py": "import datasets\nfrom detectron2 import engine\n",
        "main.py": "import datasets\n",  # the package: the folder of that name is elsewhere
    })  # fmt: skip
    assert [(p["name"], p["place"]) for p in doc["packages"]] == [
        ("apex", "detectron2/engine.py:2"),
        ("datasets", "main.py:1"),
    ]


def test_a_module_beside_a_program_is_no_package(report):
    doc = report({
        "run/evaluate.py": TORCH,
        "run/train.py": "import torch\nfrom evaluate import scores\n",
        "run/deeper/more.py": "import evaluate\n",  # does not find it
        "kit/__init__.py": "",
        "kit/datasets.py": TORCH,
        "kit/load.py": "import datasets\n",  # a module of a package is not found by its own name
        "logs/wandb.py": "import wandb\n",  # nor one that imports what it is called
        "logs/more.py": "import wandb\n",
    })  # fmt: skip
    assert sorted((p["name"], p["place"]) for p in doc["packages"]) == [
        ("datasets", "kit/load.py:1"),
        ("evaluate", "run/deeper/more.py:1"),
        ("wandb", "logs/more.py:1"),
    ]


USES = "from transformers import AutoModel\nimport torch\nmodel.cuda()\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from transformers import Trainer\nTrainer(model)\n", "transformers"),
        ("import transformers\ntransformers.Trainer(model)\n", "transformers"),
        ("from own import Trainer\nTrainer(model)\n", "transformers"),  # which may well be made of that one
        ("from .parts import Trainer\nclass Mine(Trainer):\n    pass\n", "transformers"),
        ("from sheepdog.control import (Config,  # of a run\n    Trainer)\nTrainer(model)\n", "rename"),
        ("from sheepdog import Teacher as Trainer\nTrainer(model)\n", "rename"),
        ("import sheepdog as dog\ndog.Trainer(model)\n", "rename"),
        ("import sheepdog\nsheepdog.Trainer(model)\n", "rename"),
    ],
)
def test_whose_trainer_it_is(report, text, name):
    assert report({"train.py": USES + text, "own.py": ""})["route"]["name"] == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from mmcv.runner import BaseModule\n", "mmcv"),
        ("import mmcv.parallel as parallel\n", "mmcv"),
        ("from mmcv import Config, DictAction\n", "mmcv"),
        ("from mmengine.runner import Runner\nfrom mmcv.cnn import ConvModule\n", "mmengine"),
        ("from mmcv.cnn import ConvModule\n", "rename"),  # layers, which train in any loop
        ("from mmcv import imread  # Config\n", "rename"),
    ],
)
def test_which_generation_of_openmmlab_it_is(report, text, name):
    files = {f"part_{number}.py": TORCH + text for number in range(3)}
    assert report(files | {"main.py": TORCH + "torch.ones(1).cuda()\n"})["route"]["name"] == name


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("join", [list, "".join], ids=["strings", "one string"])
def test_a_project_of_notebooks(report, join, indent):
    """Nothing but notebooks imports torch there, and a place is a line of the file, however the JSON is laid out."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    source = [
        'print("\\nimport deepspeed")\n',
        "import torch\n",
        "from transformers import Trainer\n",
        "Trainer(torch.nn.Linear(2, 2).cuda())",
    ]
    notebook = {"cells": [{**cell, "source": join(source)}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, indent=indent)
    doc = report({"train.ipynb": text, "setup.py": ""})
    line = text[: text.index("from transformers")].count("\n") + 1
    assert doc["route"]["name"] == "transformers"
    assert [(p["name"], p["place"]) for p in doc["packages"]] == [("transformers", f"train.ipynb:{line}")]


def test_what_is_used_of_a_package_that_is_not_there(report):
    doc = report({
        "a.py": "from xformers.ops import (memory_efficient_attention,  # one\n    LowerTriangularMask as Mask)\n",
        "b.py": "from xformers.ops import memory_efficient_attention\nfrom transformers import AutoModel\nimport torch\n",
    })  # fmt: skip
    native, gone = sorted(doc["packages"], key=lambda p: p["name"])
    assert (native["name"], native["status"], native["names"]) == ("transformers", "native", [])
    assert gone["names"] == [
        {"name": "xformers.ops.memory_efficient_attention", "files": 2},
        {"name": "xformers.ops.LowerTriangularMask", "files": 1},
    ]
    assert "scaled_dot_product_attention" in gone["message"]["en"] and "CUDA 内核" in gone["message"]["zh"]


MEGATRON = "from megatron.core import x\nimport torch\nx.cuda()\n"
STEPS = {
    "nothing": ({"a.py": "x = 1\n"}, []),
    "scripts": ({"run.sh": "export CUDA_VISIBLE_DEVICES=0\npython -m torch.distributed.launch train.py\n"}, []),
    "idle": ({"a.py": "import torch\nx = torch.ones(2)\n"}, ["try"]),
    "megatron": ({f"{n}.py": MEGATRON for n in "abc"}, ["mindspeed"]),
    "kernels": ({"a.py": "from torch.utils.cpp_extension import load_inline\nimport torch\nload_inline('x', 'y').cuda()\n"},
                ["kernels", "port", "try"]),
    "ready": ({f"{n}.py": "import torch\nimport torch_npu\nimport apex\n" for n in "ab"}, ["rest", "try"]),
    "rename": ({"a.py": "import torch\ntorch.ones(2).cuda()\n"}, ["port", "try"]),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_the_plan_fits_the_route(report, name):
    files, own = STEPS[name]
    doc = report(files)
    assert doc["route"]["name"] == name
    common = ["baseline", "environment", *own, "run", "precision", "performance"]
    common = {"nothing": [], "scripts": ["environment", "port"]}.get(name, common)
    assert [step["name"] for step in doc["plan"]] == common
    commands = [command for step in doc["plan"] for command in step["commands"] if command.startswith("porter migrate")]
    writes = name in ("kernels", "rename", "scripts")
    assert any(command.endswith("--inplace") for command in commands) is writes
    if name in ("megatron", "ready"):  # what porter could write is not what the first screen begins with
        ready = doc["summary"]["readiness"]
        assert ready["places"] and doc["route"]["head"]["en"].format(**ready, left=0)


EXTENSION = "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('ops', sources=[{}])\n"


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        ("'src/scale.cu'", "kernels"),
        ("'src/other.cu'", "rename"),
        ("*glob('src/*.cu')", "kernels"),
        ("*given", "kernels"),
    ],
)
def test_an_extension_whose_sources_are_not_here_decides_nothing(report, sources, name):
    """Such a setup.py was copied from another project."""
    kernel = "__global__ void scale(float* x) { x[threadIdx.x] = 1; }\n"
    code = {"a.py": "import torch\ntorch.ones(2).cuda()\n", "src/scale.cu": kernel}
    assert report({"setup.py": EXTENSION.format(sources), **code})["route"]["name"] == name


@pytest.mark.slow
def test_what_porter_wrote_is_no_support_of_npus_that_the_repository_brought_along(tmp_path, monkeypatch):
    code = "import torch\ntorch.ones(2).cuda()\ntorch.cuda.synchronize()\n"
    porter: Porter = made(monkeypatch, tmp_path / "r", {"a.py": code, "b.py": code})
    assert porter("migrate", ".", "--inplace").code == 0
    doc = json.loads(porter("analyze", ".", "--format", "json").out)
    assert (doc["route"]["name"], doc["route"]["also"]) == ("ported", [])
    assert "rest" in [step["name"] for step in doc["plan"]]
    porter("undo", ".")
    assert json.loads(porter("analyze", ".", "--format", "json").out)["route"]["name"] == "rename"


def test_rows_name_what_there_is():
    texts = Texts()
    routes = {row["name"] for row in texts.named("routes").values()}
    for step in texts.named("steps").values():
        assert {*step.get("only", ()), *step.get("but", ())} <= routes, step["name"]
        assert routes - set(step.get("but", ())), step["name"]
    for row in texts.named("routes").values():
        fields = [sorted(n for _, n, _, _ in Formatter().parse(text) if n) for text in row.get("head", {}).values()]
        assert all(set(names) <= {"auto", "places", "left"} and names == fields[0] for names in fields), row["name"]
        assert {c["signal"] for c in row["when"] if "signal" in c} <= set(texts.named("signals"))
    assert re.search(
        r"MindSpeed", next(r["text"]["en"] for r in texts.named("routes").values() if r["name"] == "megatron")
    )


CHOOSING = """import torch
if torch.cuda.is_available():
    device = "cuda"
elif torch.backends.mps.is_available():
    device = "mps"
else:
    device = "cpu"
x = torch.ones(1).to(device)
torch.cuda.synchronize()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("style", "told"), [("rename", True), ("portable", False)])
def test_numbers_of_another_style_than_the_route_s_are_called_so(tmp_path, monkeypatch, style, told):
    porter: Porter = made(monkeypatch, tmp_path / "r", {"train.py": CHOOSING, "more.py": CHOOSING})
    said = "The route takes the style portable; the numbers here are of rename."
    asked = ("analyze", ".", "--style", style)
    assert json.loads(porter(*asked, "--format", "json").out)["route"]["style"] == "portable"
    screen = porter(*asked).text
    assert (said in screen and "porter analyze . --style portable" in screen) is told
    assert (said in porter(*asked, "--format", "markdown").text) is told
    assert (said in porter(*asked, "--format", "html").text) is told


def test_copies_of_libraries_do_not_make_a_project_know_npus(report, tmp_path, monkeypatch):
    asks = TORCH + "if is_npu_available():\n    torch.npu.empty_cache()\n"
    copies = {"kit/trl/core.py": asks, "kit/trl/import_utils.py": "def is_npu_available():\n    return False\n"}
    imported = {
        "kit/trainer.py": TORCH + "from transformers.utils import is_torch_npu_available\ntorch.ones(2).cuda()\n"
    }
    doc = report({**copies, **imported})
    assert doc["route"]["name"] == "rename"
    assert [f["status"] for f in doc["findings"] if f["path"] == "kit/trainer.py" and f["edit"]] == ["auto"]
    own = {"kit/core.py": asks, "kit/env.py": copies["kit/trl/import_utils.py"]}
    (tmp_path / "own").mkdir()
    assert analysed(monkeypatch, tmp_path / "own", own)["route"]["name"] == "ready"
