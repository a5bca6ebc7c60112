"""No road to torch, no edit: which files have one, and what becomes of those that have none."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.checks import registry
from porter.engine.facts import Roads
from porter.engine.together import by_file
from porter.project.imports import imports
from porter.project.loads_torch import loads
from porter.project.roads import leads
from porter.project.said_devices import speaks_of_devices
from porter.python.trees import parse
from porter.rulebook.table import load
from porter.rulebook.texts import Texts
from porter.run.cache import Cache
from porter.run.config import Settings
from porter.run.gather import gather
from porter.run.run import run

USES = 'DEVICE = "cuda"\n\n\ndef start(model, device="cuda"):\n    return model.to("cuda:0")\n'
TORCH = "import torch\n\nx = torch.zeros(2)\n"
JAX = """import jax
from jax import lax


def lower(platform, x):
    if platform == "cuda":
        return x
    match platform:
        case "cpu" | "cuda" | "rocm":
            return lax.neg(x)
    return jax.device_put(x, device="cuda")
"""
METER = """class Meter:
    is_cuda = False

    def cuda(self):
        return self


class A:
    is_cuda = False


print(A.is_cuda, Meter().cuda(), Meter().is_cuda)
"""


def analysed(root: Path, *named: str, **more):
    done = run(root, [str(root / name) for name in named or ["."]], Settings(jobs=1), open_session(), **more)
    return {result.path: result for result in done.files}


def edited(root: Path, *named: str) -> set[str]:
    """The files that get any edit, those to review included."""
    return {path for path, result in analysed(root, *named).items() if result.review}


def statuses(result) -> set[str]:
    return {finding.status for finding in result.findings}


def project(folder: Path, files: dict[str, str]) -> Path:
    return write(folder / "r", {"pyproject.toml": "", **files})


# ---- where there is no torch


@pytest.mark.parametrize("text", [JAX, METER, USES], ids=["jax", "meter", "words"])
@pytest.mark.parametrize("marked", [True, False])
def test_a_project_without_torch_gets_no_edit_and_no_word(tmp_path, text, marked):
    root = write(tmp_path / "r", {"a.py": text, **({"pyproject.toml": ""} if marked else {})})
    result = analysed(root)["a.py"]
    assert not result.review and not result.findings
    with_torch = analysed(write(tmp_path / "s", {"a.py": "import torch\n" + text}))["a.py"]
    assert with_torch.review, "the same text is edited where it imports torch"


def test_jax_with_tests_that_import_torch_stays(tmp_path):
    root = project(
        tmp_path,
        {
            "jax/__init__.py": "",
            "jax/core.py": JAX,
            "jax/experimental/dlpack.py": "def to_torch(x):\n    import torch\n    return torch.from_dlpack(x).cuda()\n",
            "jax/experimental/user.py": "from jax.experimental import dlpack\n" + JAX,
            "tests/torch_test.py": "import torch\nfrom jax import core\nfrom jax.experimental import user\n" + USES,
        },
    )
    assert edited(root) == {"jax/experimental/dlpack.py", "tests/torch_test.py"}


@pytest.mark.parametrize(
    "files",
    [
        {"run.sh": "export CUDA_VISIBLE_DEVICES=0\npython start.py\n", "train.py": JAX},
        {"Dockerfile": "FROM nvidia/cuda:12.1.0-devel-ubuntu22.04\nENV CUDA_VISIBLE_DEVICES=0\n", "train.py": JAX},
        {"c.yaml": "env:\n  CUDA_VISIBLE_DEVICES: '0'\ndevice: cuda\n", "train.py": "import tensorflow\n"},
        {"n.ipynb": '{"cells": [{"cell_type": "code", "source": ["d = f(device=\\"cuda\\")"]}], "nbformat": 4}'},
    ],
    ids=lambda files: next(iter(files)),
)
def test_files_of_other_kinds_where_nothing_speaks_of_torch(tmp_path, files):
    assert not edited(project(tmp_path / "no", files))
    assert edited(project(tmp_path / "yes", {**files, "model.py": TORCH})) == {next(iter(files))}


def test_a_script_that_speaks_of_torch_needs_no_project(tmp_path):
    launch = "export CUDA_VISIBLE_DEVICES=0\ntorchrun train.py\n"
    plain = "export CUDA_VISIBLE_DEVICES=0\n./run\n"
    assert edited(write(tmp_path / "a", {"run.sh": launch, "other.sh": plain})) == {"run.sh", "other.sh"}
    assert not edited(write(tmp_path / "b", {"other.sh": plain}))


# ---- roads of a file's own


@pytest.mark.parametrize(
    "line",
    [
        "import torch",
        "import os, torch.nn as nn",
        "from torch import nn",
        "def f():\n    import torch",
        "try: import torch\nexcept ImportError: torch = None",
        "from torch \\\n    import nn",
        "from .compat import (has_torch,  # comment )\n    torch)",
        "import transformers",
        "from mmengine.runner import Runner",
        "import pytorch_lightning as pl",
        "import torchvision",
        "from ray.train.torch import TorchTrainer",
        'torch = importlib.import_module("torch")',
        "torch = pytest.importorskip('torch.nn')",
        'command = ["torchrun", "--nproc_per_node=8"]',
        '"""Says `import jax`."""\nimport torch',
        "import torch_npu",
        "\ufeffimport torch",
        "import os\rimport torch",
    ],
)
def test_a_road_of_its_own(tmp_path, line):
    root = write(tmp_path, {"pyproject.toml": "", "a.py": line + "\n" + USES})
    assert gather(root, ["a.py"]).roads.astray == ()


@pytest.mark.parametrize(
    "line",
    [
        "import jax",
        '"""Example::\n\n    import torch\n"""',
        "text = '''\nimport torch\n'''",
        "# import torch",
        "# started by torchrun",
        "import array_api_compat.torch as xp",
        'if namespace == "torch": pass',
        "from a import b  # torch",
        "import cupy as cp",
    ],
)
def test_no_road_of_its_own(tmp_path, line):
    root = write(tmp_path, {"pyproject.toml": "", "a.py": line + "\n" + USES})
    assert gather(root, ["a.py"]).roads.astray == ("a.py",)


def test_a_file_of_the_project_that_sounds_like_torch_is_none(tmp_path):
    root = project(tmp_path, {"timm/__init__.py": "", "timm/torch.py": "x = 1\n", "a.py": "import timm.torch\n" + USES})
    assert not edited(root)


def test_a_folder_called_torch_is_none_that_an_import_finds(tmp_path):
    files = {"k/__init__.py": "", "k/torch/__init__.py": "x = 1\n", "k/rnn.py": "import torch\n" + USES}
    assert edited(project(tmp_path, files)) == {"k/rnn.py"}


def test_the_libraries_have_names_that_can_be_imported():
    assert len(load().roads) > 150
    assert all(name.isidentifier() and "torch" not in name for name in load().roads)


# ---- roads by neighbours


def near(tmp_path, files: dict[str, str]) -> set[str]:
    return edited(project(tmp_path, files))


def test_a_command_line_over_a_runner_and_its_options(tmp_path):
    found = near(
        tmp_path,
        {
            "cli.py": "from options import parse\nfrom runner import go\n" + USES,
            "options.py": 'import argparse\n\np = argparse.ArgumentParser()\np.add_argument("--device", default="cuda")\n',
            "runner.py": "import trainer\n",
            "trainer.py": "import torch\n",
            "apart.py": "import json\n" + USES,
        },
    )
    assert found == {"cli.py", "options.py"}


def test_what_a_package_hands_on(tmp_path):
    found = near(
        tmp_path,
        {
            "pkg/__init__.py": "from .config import make as build\nfrom .apart import *\nfrom .other import more\n",
            "pkg/config.py": 'def make(device="cuda"):\n    return device\n',
            "pkg/apart.py": "print(1)\n",
            "pkg/other.py": USES,
            "train.py": "import torch\nfrom pkg import build\n\nx = torch.zeros(2, device=build())\n",
        },
    )
    assert found == {"pkg/config.py"}


LAZY = """import importlib

_WHERE = {"Model": "pkg.auto.model"}


def __getattr__(name):
    return getattr(importlib.import_module(_WHERE[name]), name)
"""


@pytest.mark.parametrize(
    "opening",
    [
        LAZY,
        "import importlib, pkgutil\n\nfor part in pkgutil.walk_packages(__path__, 'pkg.'):\n    importlib.import_module(part.name)\n",
        "import lazy_loader as lazy\n\n__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)\n",
    ],
    ids=["asked", "walked", "attached"],
)
def test_what_a_package_hands_out_when_it_is_asked(tmp_path, opening):
    files = {
        "pkg/__init__.py": opening,
        "pkg/auto/__init__.py": "",
        "pkg/auto/model.py": TORCH,
        "pkg/words.py": USES,
        "show.py": "from pkg import Model\n" + USES,
        "apart.py": USES,
    }
    assert near(tmp_path, files) == {"show.py"}
    assert near(tmp_path / "plain", {**files, "pkg/__init__.py": "import json\n"}) == set()


SETTINGS = "work = './work'\ndist_params = dict(backend='nccl')\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"det/configs/a.py": SETTINGS, "det/train.py": TORCH}, {"det/configs/a.py"}),
        (
            {"det/configs/a/b.py": '"""One."""\nfrom .base import *\n' + SETTINGS, "det/train.py": TORCH},
            {"det/configs/a/b.py"},
        ),
        ({"configs/a.py": SETTINGS, "src/train.py": TORCH}, {"configs/a.py"}),
        ({"det/a.py": SETTINGS + "if work:\n    seed = 1\nelse:\n    seed = 2\n", "det/train.py": TORCH}, {"det/a.py"}),
        # somebody else's
        ({"jax/configs/a.py": SETTINGS, "jax/run.py": "import jax\n", "det/train.py": TORCH}, set()),
        ({"flow/configs/a.py": SETTINGS, "flow/run.py": "import oneflow\n", "det/train.py": TORCH}, set()),
        ({"configs/a.py": SETTINGS, "both.py": "import torch, jax\n", "det/train.py": TORCH}, set()),
        # a program, or the data of a test
        ({"det/a.py": SETTINGS + "print(work)\n", "det/train.py": TORCH}, set()),
        ({"det/a.py": SETTINGS + "if work:\n    print(work)\n", "det/train.py": TORCH}, set()),
        ({"det/a.py": SETTINGS + "if __name__ == '__main__':\n    seed = 1\n", "det/train.py": TORCH}, set()),
        ({"det/a.py": SETTINGS + "def f():\n    return work\n", "det/train.py": TORCH}, set()),
        ({"tests/a.py": SETTINGS, "det/train.py": TORCH}, set()),
    ],
)
def test_settings_in_python_that_a_program_reads_by_their_path(tmp_path, files, expected):
    assert near(tmp_path, files) == expected


def test_settings_without_a_program_for_torch(tmp_path):
    assert near(tmp_path, {"configs/a.py": SETTINGS, "run.py": "import json\n"}) == set()


def test_relative_imports_and_the_nearest_namesake(tmp_path):
    found = near(
        tmp_path,
        {
            "a/__init__.py": "",
            "a/train.py": "import torch\nfrom . import options\nfrom ..b import flags\n",
            "a/options.py": USES,
            "b/flags.py": USES,
            "b/options.py": USES,
            "options.py": USES,
        },
    )
    assert found == {"a/options.py", "b/flags.py"}


def test_tests_hand_no_road_on(tmp_path):
    files = {"src/main.py": TORCH, "src/labels.py": USES}
    both = "import torch\nfrom src import labels, main\n"
    assert near(tmp_path / "a", {**files, "tests/test_a.py": both}) == set()
    assert near(tmp_path / "b", {**files, "src/a.py": both}) == {"src/labels.py"}


def test_tests_alone_make_no_project_torchs(tmp_path):
    files = {
        "src/labels.py": USES,
        "c.yaml": "device: cuda\n",
        "tests/test_a.py": "import torch\nfrom src import labels\n",
    }
    assert near(tmp_path / "a", files) == set()
    assert near(tmp_path / "b", {**files, "src/main.py": TORCH}) == {"c.yaml"}


def test_an_optional_import_speaks_for_others_only_without_another_framework(tmp_path):
    files = {"main.py": "def main():\n    import torch\n    import options\n", "options.py": USES}
    assert near(tmp_path / "a", files) == {"options.py"}
    assert near(tmp_path / "b", {**files, "net.py": "import jax\n"}) == set()


def test_a_file_of_another_framework_gets_no_road_from_others(tmp_path):
    assert near(tmp_path, {"convert.py": "import torch\nimport net, flags\n", "net.py": JAX, "flags.py": USES}) == {
        "flags.py"
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import paddle\n", set()),
        ("from tensorflow import keras\n", set()),
        ("import paddle\nimport net\n", {"main.py"}),  # it runs torch, too
        ("import paddle  # as torch\n", {"main.py"}),
        ("try:\n    import paddle\nexcept ImportError:\n    pass\n", {"main.py"}),
        ("import mxnet_of_theirs\n", {"main.py"}),
    ],
)
def test_a_launcher_gives_no_road_to_a_program_of_another_framework(tmp_path, text, found):
    files = {"main.py": text + 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n', "run.sh": "torchrun main.py\n"}
    assert near(tmp_path, {**files, "net.py": TORCH}) == found


def test_a_file_of_another_framework_is_no_program_of_the_device(tmp_path):
    """Nothing in it is asked to spare an NPU its waits."""
    step = "def train(net, x):\n    loss = net(x)\n    loss.backward()\n    return loss.item()\n"
    files = {"net.py": TORCH + "y = x.cuda()\n", "of_paddle.py": "import paddle\n" + step, "plain.py": step}
    assert gather(project(tmp_path, files), sorted(files)).roads.host == ("of_paddle.py",)
    both = {**files, "of_paddle.py": files["of_paddle.py"] + "import net\n"}
    assert gather(project(tmp_path / "both", both), sorted(both)).roads.host == ()


def test_a_program_that_starts_another_one(tmp_path):
    start = 'import subprocess\n\nsubprocess.run(["python", "train.py", "--device", "cuda"])\n' + USES
    assert near(tmp_path, {"start.py": start, "train.py": TORCH, "apart.py": start.replace("train", "plot")}) == {
        "start.py"
    }


@pytest.mark.parametrize(
    ("load", "told"),
    [
        ('import_module("pkg.whisper")', True),
        ('make(import_module, "pkg.whisper:Handler")', True),
        ('import_module("other.whisper")', False),
        ('print("pkg.whisper")', False),
    ],
)
def test_what_a_registry_imports_beside_what_it_loads(tmp_path, load, told):
    """The options of a handler stand in a file without torch, and the registry gives them to the handler."""
    registry = (
        f"from importlib import import_module\n\nfrom pkg.options import Options\n\n\ndef made():\n    return {load}\n"
    )
    registry = registry if told or "other" in load else registry.replace("from importlib import import_module\n\n", "")
    files = {"pkg/whisper.py": TORCH, "pkg/registry.py": registry, "pkg/options.py": USES, "pkg/__init__.py": ""}
    assert near(tmp_path, files) == ({"pkg/options.py"} if told else set())


def test_settings_that_a_program_loads_by_a_name_made_at_run_time(tmp_path):
    """`configs.` says where they lie: a file beside those that it may name is not loaded."""
    program = "import importlib\n\nfrom net import make\n\nsettings = importlib.import_module('configs.' + make())\n"
    files = {"net.py": TORCH, "tools/train.py": program, "configs/pre.py": USES, "other/pre.py": USES}
    assert near(tmp_path, files) == {"configs/pre.py"}


@pytest.mark.parametrize("command", ['["python", "-m", "pkg.train"]', '"nohup python3 -m pkg.{0}".format(name)'])
def test_a_program_that_starts_a_module(tmp_path, command):
    start = f"import subprocess\n\nsubprocess.run({command})\n" + USES
    assert near(tmp_path, {"start.py": start, "pkg/train.py": TORCH, "apart.py": USES}) == {"start.py"}


def test_what_a_launcher_of_torch_starts(tmp_path):
    files = {"train.py": "from somewhere import Trainer\n" + USES, "net.py": TORCH}
    assert near(tmp_path / "a", {**files, "run.sh": "torchrun train.py\n"}) == {"train.py"}
    assert near(tmp_path / "b", {**files, "run.sh": "python train.py\n"}) == set()


def test_a_notebook_imports_files_too(tmp_path):
    book = '{"cells": [{"cell_type": "code", "source": ["import torch\\n", "from options import x"]}], "nbformat": 4}'
    assert near(tmp_path, {"n.ipynb": book, "options.py": USES, "apart.py": USES}) == {"options.py"}


def test_requirements_make_a_project_torchs(tmp_path):
    files = {"c.yaml": "device: cuda\n", "a.py": "x = 1\n"}
    assert near(tmp_path / "a", {**files, "requirements.txt": "numpy\ntorch>=2.1\n"}) >= {"c.yaml"}
    assert near(tmp_path / "b", {**files, "requirements.txt": "torchlike\n# torch\n"}) == set()


# ---- what is said, and that every look agrees


def test_a_word_where_it_can_matter(tmp_path):
    root = project(tmp_path, {"train.py": TORCH, "a.py": METER})
    found = analysed(root)["a.py"]
    assert not found.findings
    assert {(f.code, f.line) for f in found.inventory} == {("PRT006", 4), ("PRT006", 12)}


def test_a_suppression_of_what_would_be_edited_is_in_use(tmp_path):
    text = 'f(device="cuda")  # porter: ignore[PRT120] a label\n'
    found = analysed(project(tmp_path, {"train.py": TORCH, "a.py": text}))["a.py"]
    assert [(f.code, f.suppressed) for f in found.findings] == [("PRT006", "a label")]


def test_array_namespaces_are_for_a_person_to_look_at(tmp_path):
    text = """import torch
from compat import array_namespace, get_namespace


def test(X, xp):
    xp_out, _ = get_namespace(X)
    ns = array_namespace(X)
    xp_out.zeros(10, device="cuda")
    xp.asarray([1.0], device="cuda")
    ns.ones(3, device="cuda")
    torch.ones(3, device="cuda")
"""
    found = analysed(project(tmp_path, {"a.py": text}))["a.py"].findings
    assert [(f.line, f.status) for f in found] == [(8, "review"), (9, "review"), (10, "review"), (11, "auto")]


TREE = {
    "cli.py": "import options\nimport trainer\n",
    "options.py": USES,
    "trainer.py": "import torch\n\ntorch.cuda.synchronize()\n",
    "apart.py": USES,
    "net.py": JAX,
}


def places(findings):
    return {(f.line, f.code, f.why, f.values) for f in findings}


@pytest.mark.slow
def test_one_file_and_all_of_them_agree(tmp_path):
    root = project(tmp_path, TREE)
    whole = analysed(root)
    assert {path for path, result in whole.items() if result.review} == {"options.py", "trainer.py"}
    findings = by_file(
        f for result in whole.values() for f in (*result.findings, *result.inventory)
    )  # one file speaks for others
    for path in TREE:
        alone = analysed(root, path)[path]
        assert replace(alone, findings=(), inventory=()) == replace(whole[path], findings=(), inventory=())
        assert places(by_file((*alone.findings, *alone.inventory)).get(path, ())) == places(findings.get(path, ()))


@pytest.mark.slow
def test_a_kept_result_is_not_believed_when_the_road_is_gone(tmp_path):
    root = project(tmp_path, TREE)
    cache = Cache(tmp_path / "cache" / "a.sqlite")
    first = analysed(root, cache=cache)
    assert analysed(root, cache=cache) == first and first["options.py"].review
    write(root, {"cli.py": "import trainer\n"})
    assert analysed(root, cache=cache)["options.py"] == analysed(root)["options.py"]
    assert not analysed(root, cache=cache)["options.py"].review


@pytest.mark.slow
def test_in_several_processes(tmp_path, monkeypatch):
    root = project(tmp_path, TREE)
    monkeypatch.setattr("porter.run.run.PARALLEL_FROM", 2)
    done = run(root, [str(root)], Settings(jobs=2), open_session())
    assert {result.path: result for result in done.files} == analysed(root)


@pytest.mark.parametrize("marked", [True, False])
def test_what_comes_by_standard_input_decides_for_itself(tmp_path, marked):
    files = {"trainer.py": TORCH, "a.py": TORCH, "b.py": USES, **({"pyproject.toml": ""} if marked else {})}
    root = write(tmp_path / "r", files)
    for path, text, expected in [
        ("a.py", USES, False),  # the bytes that are given count, not those on disk
        ("b.py", "import torch\n" + USES, True),
        ("new.py", USES, False),
        ("new.py", "import trainer\n" + USES, True),
        ("sub/new.py", "from trainer import x\n" + USES, True),
    ]:
        assert bool(analysed(root, path, stdin=(path, text.encode()))[path].review) == expected, (path, text)


def test_a_file_named_alone_where_nothing_marks_a_project(tmp_path):
    root = write(
        tmp_path / "r",
        {"a.py": "import b\n" + USES, "b.py": "import c.d\n", "c/d.py": TORCH, "e.py": USES, "run.sh": "python b.py\n"},
    )
    write(root, {"run.sh": "export CUDA_VISIBLE_DEVICES=0\npython a.py\n"})
    for name, expected in [("a.py", True), ("e.py", False), ("run.sh", True)]:
        assert bool(analysed(root, name)[name].review) == expected, name


@pytest.mark.slow
def test_imports_that_go_in_circles(tmp_path):
    files = {f"p/m{n}.py": f"from .m{(n + 1) % 50} import *\nfrom .m{(n + 7) % 50} import x\n" for n in range(50)}
    root = project(
        tmp_path, {**files, "p/__init__.py": "from .m0 import *\n", "a.py": "import torch\nfrom p import x\n"}
    )
    write(root, {"p/m3.py": "from .m4 import *\n" + USES})
    assert edited(root) == {"p/m3.py"}


@pytest.mark.slow
def test_a_long_row_of_modules_is_followed(tmp_path):
    files = {f"m{n}.py": f"from m{n + 1} import x\n" for n in range(1500)}
    root = project(tmp_path, {**files, "m1500.py": TORCH, "m0.py": "from m1 import x\n" + USES})
    assert edited(root) == {"m0.py"}


def test_imports_are_read_as_python_reads_them():
    text = b"import a.b as c, d\nfrom . import (e,\n    f as g)  # h\nx = 1; from .i import j\nimportant = 2\nfrom k import *\n"
    assert [(one.module, one.names, one.outermost) for one in imports(text)] == [
        ("a.b", (), True),
        ("d", (), True),
        (".", (("e", "e"), ("f", "g")), True),
        (".i", (("j", "j"),), False),
        ("k", (("*", "*"),), True),
    ]


@pytest.mark.slow
def test_what_a_link_leads_to_and_what_is_long(tmp_path):
    root = project(tmp_path, {"long.py": JAX + "#" + "x" * 2_100_000 + "\n", "a/b.txt": USES, "n.py": "x = 1\n"})
    (root / "link.py").symlink_to("a/b.txt")
    assert edited(root) == edited(root, "link.py", "long.py") == set()
    write(root, {"a/b.txt": TORCH + USES})
    assert edited(root) == {"a/b.txt"}


def test_without_facts_nothing_is_astray():
    assert leads("a.py", b"", open_session().facts.roads) and open_session().facts.roads == Roads()
    assert analyse("a.py", USES.encode(), open_session()).review


def test_scikit_learns_own_way(tmp_path):
    """A wrapper of NumPy, asked for a device that it does not have; torch is one name among others."""
    text = """import numpy

from ._array_api import get_namespace


def test_namespace():
    xp_out, _ = get_namespace(numpy.asarray([1, 2, 3]))
    xp_out.zeros(10, device="cuda")
"""
    api = 'def get_namespace(*arrays):\n    for name in ("numpy", "cupy", "torch"):\n        device = ("cpu", "cuda")\n'
    assert near(tmp_path, {"sk/__init__.py": "", "sk/_array_api.py": api, "sk/test_api.py": text}) == set()


def test_git_is_no_part_of_it(tmp_path):
    """A repository without anything but .git is a project as well."""
    root = write(tmp_path / "r", {"a.py": USES, "t.py": "import torch\nimport a\n"})
    subprocess.run(["git", "init", "-q", root], check=True)
    assert edited(root, "a.py") == {"a.py"}


def test_the_inventory_has_the_reason(tmp_path, monkeypatch):
    root = project(
        tmp_path, {"a.py": JAX, "b.py": TORCH.replace("torch", "json"), "c.sh": "export CUDA_VISIBLE_DEVICES=0\n"}
    )
    report = json.loads(Porter(monkeypatch, root)("analyze", "--format", "json", ".").out)
    assert [row["path"] for row in report["files"] if row.get("road") is False] == ["a.py", "c.sh"]
    write(root, {"b.py": TORCH, "d.py": USES})
    report = json.loads(Porter(monkeypatch, root)("analyze", "--format", "json", ".").out)
    assert [row["path"] for row in report["files"] if row.get("road") is False] == ["a.py", "d.py"]


def test_what_explain_shows_is_a_program_of_torch(tmp_path):
    """The Python examples of the rules are edited by a run over them as well."""
    for code in sorted(registry.load().codes):
        text = Texts().rule(code)
        if text.before and text.before != text.after and parse(text.before.encode()):
            name = text.before.partition("\n")[0].removeprefix("# ")
            if not name.endswith((".yaml", ".txt", ".sh")):
                assert loads(text.before.encode(), list(imports(text.before.encode()))), code


def test_settings_that_another_library_holds_have_nccl_from_torch(tmp_path):
    """Tacotron 2 keeps its settings in an HParams of TensorFlow; nothing there takes NCCL by its name."""
    hparams = "import tensorflow as tf\n\ndef create():\n    return tf.contrib.training.HParams(dist_backend='nccl', cudnn_benchmark=False)\n"
    train = "import torch\nfrom hparams import create\n\nh = create()\ntorch.distributed.init_process_group(backend=h.dist_backend)\n"
    assert edited(project(tmp_path / "a", {"hparams.py": hparams, "train.py": train})) == {"hparams.py"}
    device = hparams.replace("dist_backend", "device='cuda', dist_backend")
    assert edited(project(tmp_path / "b", {"hparams.py": device, "train.py": train})) == {"hparams.py"}
    theirs = device.replace("tensorflow", "jax")  # it calls a device so, TensorFlow does not
    assert edited(project(tmp_path / "c", {"hparams.py": theirs, "train.py": train})) == set()


def test_a_project_without_a_device_is_not_asked_to_save_time_on_one(tmp_path):
    step = "import torch\n\ndef train(model, batches, optimizer):\n    for x in batches:\n        loss = model(x).sum()\n        loss.backward()\n        print(loss.item())\n"
    files = {
        "train.py": step,
        "requirements.txt": "torch==1.3.1\n",
        "model.py": "import torch\nx = torch.rfft(torch.zeros(3), 1)\n",
    }
    assert {f.code for r in analysed(project(tmp_path / "a", files)).values() for f in r.findings} == {"PRT701"}
    files["main.py"] = "import torch\nfrom train import train\n\ntrain(torch.nn.Linear(1, 1).to('cuda'), [], None)\n"
    found = {f.code for r in analysed(project(tmp_path / "b", files)).values() for f in r.findings}
    assert {"PRT630", "PRT840", "PRT120", "PRT701"} <= found


def test_an_option_for_a_device_that_is_only_printed_moves_nothing(tmp_path):
    step = "def train(model, batches, optimizer):\n    for x in batches:\n        loss = model(x).sum()\n        loss.backward()\n        print(loss.item())\n"
    offer = 'p.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="run device (cpu | cuda)")\n'
    main = f"import argparse\nimport torch\nfrom train import train\n\np = argparse.ArgumentParser()\n{offer}args = p.parse_args()\nprint('Device: {{}}'.format(args.device))\ntrain(torch.nn.Linear(1, 1), [], None)\n"
    files = {"train.py": step, "main.py": main, "requirements.txt": "torch\n"}
    told = {(f.code, f.why) for r in analysed(project(tmp_path / "a", files)).values() for f in r.findings}
    assert told == {("PRT123", "unread")}
    moved = {**files, "train.py": step.replace("model(x)", "model(x.to(model.device))")}
    told = {(f.code, f.why) for r in analysed(project(tmp_path / "b", moved)).values() for f in r.findings}
    assert ("PRT123", "choices") in told
    assert "PRT840" in {code for code, _ in told}


@pytest.mark.parametrize(
    ("ends", "speaks"), [("type=str)", False), ("default=str(1))", False), ("default=str(max(1, 2)))", True)]
)
def test_an_option_over_many_lines_is_read_to_its_end_or_not_at_all(ends, speaks):
    text = 'p.add_argument("--device",' + '\n        help="cuda",' * 99 + f" {ends}\n"
    assert speaks_of_devices(text.encode()) is speaks


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        (b'p.add_argument("--where", help="cuda or cpu")\n', False),
        (b'p.add_argument("--where", help="cuda or cpu")\nx = x.cuda()\n', True),
        (b'p.add_argument("--device")\nprint(args.device)\n', False),
        (b'p.add_argument("--device")\nprint(x.to(args.device))\n', True),
        (b"x = 1\n", False),
    ],
)
def test_what_is_only_offered_explained_and_printed(text, speaks):
    assert speaks_of_devices(text) is speaks
