"""The style shim: transfer_to_npu runs in the programs, and what it does not reach, or makes something else of, is edited or told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.catalog.read.load import fitting
from porter.commands.job import prepare
from porter.engine.facts import Accelerators, Facts
from porter.engine.session import Session
from porter.engine.shimmed import Shimmed
from porter.finding import FileResult, Finding, apply
from porter.rulebook.table import load
from porter.target import Target

NEWEST = ("2.12.0.post3", "2.13.0", "2.14.0")
IMPORTS = "import torch_npu  # noqa: F401\nfrom torch_npu.contrib import transfer_to_npu  # noqa: F401\n"
HEAD = "import torch\nimport torch.distributed as dist\n\n\ndef main(x: torch.Tensor, model: torch.nn.Module, args, device, rank):\n"


def session(torch_npu: str = "2.7.1.post11", shimmed: Shimmed = Shimmed()) -> Session:
    target = Target(torch_npu=torch_npu, style="shim")
    return open_session(target=target, facts=Facts(accelerators=Accelerators(shimmed=shimmed)))


def looked(code: str, torch_npu: str = "2.7.1.post11") -> FileResult:
    result = analyse("a.py", code.encode(), session(torch_npu))
    assert not [f for f in result.findings if f.code in ("PRT002", "PRT003")], result.findings
    return result


def said(code: str, torch_npu: str = "2.7.1.post11") -> set[tuple[str, str]]:
    return {(f.code, f.why) for f in looked(code, torch_npu).findings}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("torch.cuda.synchronize()", "replaced"),
        ("torch.cuda.amp.autocast(enabled=x)", "replaced"),
        ("x.cuda()", "method"),
        ("x.cuda(0)", "method"),
        ("x.cuda(rank, non_blocking=True)", "method"),
        ("x.is_cuda", "method"),
        ('torch.zeros(2, device="cuda")', "argument"),
        ('torch.zeros(2, device=f"cuda:{rank}")', "argument"),
        ('torch.load("a.pt", map_location="cuda:%d" % rank)', "argument"),
        ('torch.load("a.pt", map_location={"cpu": "cuda:1"})', "argument"),
        ('x.to("cuda")', "argument"),
        ('x.new_zeros(2, device="cuda")', "argument"),
        ('torch.autocast("cuda")', "argument"),
        ('torch.cuda.set_device("cuda:0")', "argument"),
        ('dist.init_process_group("nccl")', "argument"),
        ('dist.new_group([0], backend="nccl")', "argument"),
        ('torch.device("cuda", rank)', "device"),
        ("d = torch.cuda", "module"),
        ('args.device = "cuda"', "value"),
        ('args.device == "cuda"', "held"),
        ('d = torch.device(rank); d == torch.device("cuda")', "device"),
        ('{"cuda": 1, "cpu": 2}[args.device]', "held"),
        ('args.backend == "nccl"', "held"),
    ],
)
def test_what_the_shim_does_is_left_to_it(line: str, why: str) -> None:
    result = looked(f"{HEAD}    {line}\n")
    assert not result.auto and not result.review
    assert ("PRT150", why) in {(f.code, f.why) for f in result.findings}
    assert {f.code for f in result.findings if f.severity != "note"} <= {"PRT905"}, result.findings


def test_a_question_that_opens_a_cuda_kernel_is_told() -> None:
    code = "import torch\nif torch.cuda.is_available():\n    import fused_blur_cuda as blur\nelse:\n    from plain import blur\n"
    assert ("PRT151", "opens") in said(code)
    assert ("PRT151", "opens") not in said(code.replace("fused_blur_cuda", "fast"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('x.device.type == "cuda"', 'x.device.type in ("cuda", "npu")'),
        ('x.device.type!="cuda"', 'x.device.type not in ("cuda", "npu")'),
        ("x.device.type in ('cuda', 'cpu')", "x.device.type in ('cuda', 'npu', 'cpu')"),
        ('str(x.device).startswith("cuda")', 'str(x.device).startswith(("cuda", "npu"))'),
        ('"cuda" in str(x.device)', '("cuda" in str(x.device) or "npu" in str(x.device))'),
        ('dist.get_backend() == "nccl"', 'dist.get_backend() in ("nccl", "hccl")'),
        ('assert dist.get_backend() in ["gloo", "nccl"]', 'assert dist.get_backend() in ["gloo", "nccl", "hccl"]'),
        ("x.cuda(device)", "x.to(device)"),
        ('dist.init_process_group(backend="NCCL")', 'dist.init_process_group(backend="HCCL")'),
        ('torch.load("cuda_best.pt")', 'torch.load(f="cuda_best.pt")'),
        ('torch.load("a/cuda.pt", "cpu")', 'torch.load(f="a/cuda.pt", map_location="cpu")'),
        (
            'dist.init_process_group("nccl", "file:///nccl")',
            'dist.init_process_group("nccl", init_method="file:///nccl")',
        ),
        ("torch.cuda.get_device_name(device=0)", "torch.cuda.get_device_name(device_name=0)"),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "torch.npu.matmul.allow_hf32 = True"),
        ('x.type("torch.cuda.FloatTensor")', 'x.type("torch.npu.FloatTensor")'),
        ("x.to(memory_format=torch.channels_last)", "x.to(memory_format=torch.contiguous_format)"),
        ('torch.random.fork_rng(device_type="cuda")', 'torch.random.fork_rng(device_type="npu")'),
    ],
)
def test_what_it_does_not_reach_is_edited(before: str, after: str) -> None:
    code = f"{HEAD}    {before}\n"
    result = looked(code)
    assert apply(code.encode(), result.review).decode() == f"{HEAD}    {after}\n"
    again = looked(f"{HEAD}    {after}\n")
    assert not again.auto and not again.review


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        ("torch.cuda.DoubleTensor(3)", "PRT151", "otherwise"),
        ('x.device == torch.device("cuda:0")', "PRT151", "made"),
        ('device == torch.device("cuda")', "PRT151", "made-or-given"),
        ('d = x.device; d == torch.device("cuda")', "PRT151", "made"),
        ('torch.load("a.pt", map_location={"cuda:0": "cpu"})', "PRT151", "saved"),
        ("torch.jit.script(model)", "PRT149", "script"),
        ('str(x.device)[:4] == "cuda"', "PRT151", "compared-by-hand"),
        ('{"cuda": 1, "cpu": 2}[x.device.type]', "PRT151", "compared-by-hand"),
        ('table = {"cuda": 1, "cpu": 2}; table.get(x.device.type)', "PRT151", "compared-by-hand"),
    ],
)
def test_what_it_makes_something_else_of_is_told(line: str, code: str, why: str) -> None:
    result = looked(f"{HEAD}    {line}\n")
    assert not result.review and (code, why) in {(f.code, f.why) for f in result.findings}


@pytest.mark.parametrize("name", ["get_arch_list", "cudart", "get_gencode_flags"])
def test_a_name_that_it_leaves_to_cuda_is_told_as_such(name: str) -> None:
    findings = looked(f"{HEAD}    torch.cuda.{name}()\n").findings
    assert [dict(f.values).get("left_to_cuda") for f in findings] == [f"torch.cuda.{name}"]


def test_an_answer_that_it_changes_is_told_with_what_it_becomes() -> None:
    for line, code, to in (
        ("torch.cuda.get_device_capability()[0] >= 8", "PRT110", "torch.npu.get_device_capability"),
        ("torch.cuda.CUDAGraph()", "PRT103", "torch.npu.NPUGraph"),
    ):
        (found,) = looked(f"{HEAD}    return {line}\n").findings
        assert (found.code, found.edit, dict(found.values)["by_shim"]) == (code, (), to)


@pytest.mark.parametrize(
    ("device", "edited"),
    [
        ('torch.device("cuda")', False),
        ('torch.device("cuda" if args.gpu else "cpu")', False),
        ("x.device", True),
    ],
)
def test_a_device_that_the_program_made_says_what_it_was_called(device: str, edited: bool) -> None:
    code = f'{HEAD}    made = {device}\n    if made.type == "cuda":\n        return 1\n'
    assert (b"in (" in apply(code.encode(), looked(code).auto)) == edited


@pytest.mark.slow
@pytest.mark.parametrize("torch_npu", NEWEST)
def test_what_the_catalogue_has_of_the_shim_decides_for_each_name(torch_npu: str) -> None:
    """Of every name of torch.cuda that moves: covered where the wheel puts its counterpart there, else edited or told."""
    catalogue, moves = fitting(torch_npu), load().moves
    names = [n for n, m in moves.items() if n.startswith("torch.cuda.") and m.tail and m.fix == "safe" and not m.stays]
    assert len(names) > 100
    code = "import torch\n\n" + "".join(f"_ = {name}\n" for name in names)
    by_line: dict[int, list[Finding]] = {}
    for finding in looked(code, torch_npu).findings:
        by_line.setdefault(finding.line, []).append(finding)
    seen = set()
    for line, name in enumerate(names, 3):
        effect = catalogue.operators.transfer(name)
        assert effect is not None
        tails = {name.rpartition(".")[2], (moves[name].tail or "").rpartition(".")[2]}
        same = effect.effect == "replaced" and effect.to.rpartition(".")[2] in tails
        covered = [f for f in by_line.get(line, ()) if f.code == "PRT150"]
        if same and catalogue.has(f"torch.npu.{moves[name].tail}"):
            assert [f.why for f in covered] == ["replaced"], name
            assert dict(covered[0].values)["to"] == effect.to
        elif effect.effect == "left":
            assert all(f.why == "module" for f in covered), name
        seen.add(effect.effect)
    assert "replaced" in seen and "left" in seen


# ---- programs


class Port(NamedTuple):
    changed: dict[str, str]
    told: set[tuple[str, str, str]]  # (path, code, why)


def port(
    root: Path, files: Mapping[str, str], style: str = "shim", target: str | None = None, **options: object
) -> Port:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    done = prepare((str(root),), no_cache=True, style=style, target=target, **options).run(quiet=True)
    changed = {r.path: apply(done.data(r.path), r.auto).decode() for r in done.files if r.auto}
    return Port(changed, {(f.path, f.code, f.why) for r in done.files for f in (*r.findings, *r.inventory)})


def test_a_cell_of_magics_gets_no_import(tmp_path: Path) -> None:
    cells = [
        "%load_ext autoreload\n%autoreload 2",
        "# the data",
        "from torchvision import datasets\nx = datasets.get().cuda()",
    ]
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": c} for c in cells]
    text = json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    after = json.loads(port(tmp_path, {"a.ipynb": text}).changed["a.ipynb"])["cells"]
    assert [cell["source"] for cell in after] == [*cells[:2], IMPORTS + cells[2]]


@pytest.mark.parametrize(
    "restart",
    [
        "import IPython\n\nIPython.get_ipython().kernel.do_shutdown(restart=True)",
        "import condacolab\ncondacolab.install_miniconda()",
    ],
)
def test_a_notebook_that_restarts_its_kernel_gets_the_import_behind(tmp_path: Path, restart: str) -> None:
    cells = [
        restart,
        "import torch\nx = torch.ones(1).cuda()",
    ]
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": c} for c in cells]
    text = json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    after = json.loads(port(tmp_path, {"a.ipynb": text}).changed["a.ipynb"])["cells"]
    assert [cell["source"] for cell in after] == [cells[0], cells[1].replace("torch\n", f"torch\n{IMPORTS}")]


def test_a_notebook_that_names_cuda_in_a_comment_alone_computes_on_the_cpu(tmp_path: Path) -> None:
    code = 'import torch\n# device = torch.device("cuda")\ndevice = torch.device("cpu")\nx = torch.ones(1).to(device)'
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": code}]
    text = json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    assert not port(tmp_path, {"a.ipynb": text}).changed
    assert port(tmp_path, {"a.ipynb": text.replace("# device", "device")}).changed


MAIN = '\n\ndef main():\n    print(net())\n\n\nif __name__ == "__main__":\n    main()\n'
NET = "import torch\n\n\ndef net():\n    return torch.nn.Linear(2, 2).cuda()\n"


def test_programs_import_the_shim_and_modules_do_not(tmp_path: Path) -> None:
    files = {
        "train.py": f"import argparse\nimport torch\nfrom lib.net import net\n{MAIN}",
        "evaluate.py": f"from lib.net import net\n{MAIN}",
        "download_data.py": f"from lib.net import net\n{MAIN}",
        "plain.py": "import json\n\nif __name__ == '__main__':\n    print(json.dumps(1))\n",
        "lib/__init__.py": "",
        "lib/net.py": NET,
        "tests/test_net.py": f"from lib.net import net\n\n\ndef test_net():\n    net()\n{MAIN}",
        "run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py --device cuda --backend nccl\n",
        "config.yaml": "device: cuda\nbackend: nccl\n",
    }
    done = port(tmp_path, files)
    assert done.changed == {
        "train.py": files["train.py"].replace("import torch\n", f"import torch\n{IMPORTS}"),
        "evaluate.py": IMPORTS + files["evaluate.py"],
        "run.sh": files["run.sh"].replace("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"),
    }
    assert {("lib/net.py", "PRT150", "method"), ("config.yaml", "PRT150", "setting")} <= done.told
    again = port(tmp_path, done.changed)
    assert again.changed == {} and ("PRT152", "present") in {(code, why) for _, code, why in again.told}


def test_a_package_that_asks_as_it_is_imported_gets_the_import_for_its_programs(tmp_path: Path) -> None:
    asks = 'import torch\n\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n'
    files = {
        "kit/__init__.py": '"""Nets."""\n\nfrom kit.net import net\n',
        "kit/config.py": asks,
        "kit/net.py": f"from kit.config import DEVICE\n{NET}",
        "kit/cli/main.py": f"from kit import net\nfrom kit.config import DEVICE\n{MAIN}",
        "kit/train.py": f"import argparse\nfrom .net import net\n{MAIN}",
        "other/__init__.py": "from other.net import net\n",
        "other/net.py": NET,
        "other/train.py": f"import argparse\nfrom other.net import net\n{MAIN}",
    }
    done = port(tmp_path, files)
    assert done.changed == {
        "kit/__init__.py": f'"""Nets."""\n\n{IMPORTS}from kit.net import net\n',
        "other/train.py": files["other/train.py"].replace("import argparse\n", f"import argparse\n{IMPORTS}"),
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\nimport timm\n", "import torch\n@import timm\n"),
        ("import numpy as np\nimport timm\nimport torch\n", "import numpy as np\n@import timm\nimport torch\n"),
        ("import numpy as np\nimport torch.nn as nn\n", "import numpy as np\nimport torch.nn as nn\n@"),
        ("from torch.cuda.amp import autocast\nimport torch\n", "@from torch.cuda.amp import autocast\nimport torch\n"),
        ('"""A text."""\nfrom __future__ import annotations\nimport torch\n', '"""A text."""\nfrom __future__ import annotations\nimport torch\n@'),
        ("import os\ntry:\n    import timm\nexcept ImportError:\n    pass\nimport torch\n",
         "import os\n@\ntry:\n    import timm\nexcept ImportError:\n    pass\nimport torch\n"),
        ("# of somebody\nimport datasets\nimport torch\n", "# of somebody\nimport datasets\nimport torch\n@"),
        ("import os\n", "import os\n@"),
        ("import timm  # prevents an error\nimport torch\n", "import timm  # prevents an error\nimport torch\n@"),
        ('import os\nos.environ["A"] = "1"\nimport torch\n', 'import os\nos.environ["A"] = "1"\nimport torch\n@'),
        ('import os\nimport torch\nimport wandb\nos.environ["HF_HOME"] = "/c"\nimport timm\n',
         'import os\nimport torch\nimport wandb\nos.environ["HF_HOME"] = "/c"\n@import timm\n'),
        ('import os\nimport torch\nfrom torch import nn\nos.environ["HF_HOME"] = "/c"\n',
         'import os\nimport torch\nfrom torch import nn\nos.environ["HF_HOME"] = "/c"\n@'),
        ('import os\nimport torch\ntorch.cuda.init()\nos.environ["HF_HOME"] = "/c"\n',
         'import os\nimport torch\n@torch.cuda.init()\nos.environ["HF_HOME"] = "/c"\n'),
        ('import os\nimport torch\nimport timm\nos.environ["HF_HOME"] = "/c"\n',
         'import os\nimport torch\n@import timm\nos.environ["HF_HOME"] = "/c"\n'),
    ],
)  # fmt: skip
def test_the_place_of_the_import(tmp_path: Path, before: str, after: str) -> None:
    body = '\nif __name__ == "__main__":\n    import torch\n\n    print(torch.ones(2).cuda())\n'
    assert port(tmp_path, {"train.py": before + body}).changed == {"train.py": after.replace("@", IMPORTS) + body}


BUILD = """import torch
from torch.utils.ffi import create_extension

sources = ["blur.c"]
if torch.cuda.is_available():
    sources += ["blur_cuda.c"]
ffi = create_extension("_ext.blur", headers=[], sources=sources, with_cuda=torch.cuda.is_available())

if __name__ == "__main__":
    ffi.build()
"""


def test_what_builds_extensions_or_is_about_tensorrt_gets_none(tmp_path: Path) -> None:
    """With the shim, the build would find a GPU and take in sources of CUDA."""
    files = {
        "build.py": BUILD,
        "onnx2tensorrt.py": f"import tensorrt as trt\nimport torch\nfrom net import net\n{MAIN}",
        "compiled.py": f"import torch\nimport torch_tensorrt\nfrom net import net\n{MAIN}",
        "train.py": f"from net import net\n{MAIN}",
        "net.py": NET,
    }
    done = port(tmp_path, files)
    assert set(done.changed) == {"train.py"}
    assert not {path for path, code, _ in done.told if code in ("PRT151", "PRT152")} - {"train.py"}


def test_a_program_may_have_torch_from_a_star_import(tmp_path: Path) -> None:
    files = {
        "lib/__init__.py": "from lib.base import *\n",
        "lib/base.py": "import torch\n",
        "examples/ppo.py": "from lib import *\n\ndevice = torch.device('cuda')\n\n\ndef main():\n    print(device)\n\n\nmain()\n",
        "examples/plain.py": "from lib import *\n\nprint('cuda')\n",
    }
    assert port(tmp_path, files).changed == {"examples/ppo.py": IMPORTS + files["examples/ppo.py"]}


def test_what_is_started_by_itself(tmp_path: Path) -> None:
    files = {
        "net.py": NET,
        "main.py": f"from net import *\n{MAIN}",
        "other.py": f"from main import *\n{MAIN}",
        "parts.py": f"from net import net\n{MAIN}",
        "third.py": f"from parts import net\n{MAIN}",
        "voc_annotation.py": f"from net import net\n{MAIN}",
        "baseline.py": f"import tensorflow as tf\nimport net\n{MAIN}",
        "__main__.py": "from net import net\n\nnet()\n",
        "bert/__init__.py": "from bert.__main__ import train\n",
        "bert/__main__.py": "from net import net\n\n\ndef train():\n    net()\n",
    }
    assert set(port(tmp_path, files).changed) == {"main.py", "other.py", "third.py", "__main__.py", "bert/__main__.py"}


def test_a_file_that_asks_for_its_arguments_as_it_is_read_is_a_program(tmp_path: Path) -> None:
    asks = "import sys\nfrom net import net\n\nif len(sys.argv) > 1:\n    net()\nelse:\n    print('a file, please')\n"
    assert set(port(tmp_path, {"net.py": NET, "gen_voice.py": asks}).changed) == {"gen_voice.py"}


def test_an_agent_that_chooses_cuda_by_itself_is_used_under_the_shim(tmp_path: Path) -> None:
    files = {
        "agents/__init__.py": "",
        "agents/models.py": "from stable_baselines3 import PPO\n\n\ndef model(env):\n    return PPO('MlpPolicy', env)\n",
        "agents/envs.py": "from stable_baselines3.common.vec_env import DummyVecEnv\n",
        "train.py": f"from agents.models import model\n{MAIN.replace('net()', 'model(1)')}",
        "look.py": f"from agents.envs import DummyVecEnv\n{MAIN.replace('net()', 'DummyVecEnv()')}",
    }
    assert set(port(tmp_path, files).changed) == {"train.py"}


def test_a_program_loads_torch_itself_or_through_the_project(tmp_path: Path) -> None:
    """A checker of C++ that knows the word is none; nor is a program of another framework, whatever it takes from a file of torch."""
    files = {
        "net.py": NET,
        "main.py": f"from net import *\n{MAIN}",
        "scripts/lint.py": 'import sys\n\nHEADERS = ("cuda.h", "cuda_runtime.h")\n\nif __name__ == "__main__":\n    sys.exit(0)\n',
        "tf/run.py": 'import tensorflow as tf\nfrom tf import weights\n\nif __name__ == "__main__":\n    tf.build("cuda")\n',
        "tf/weights.py": 'def read():\n    import torch\n\n    return torch.load("weights.pth.tar")\n',
    }
    done = port(tmp_path, files)
    assert set(done.changed) == {"main.py"}
    assert not {("scripts/lint.py", "PRT152", "library"), ("tf/run.py", "PRT152", "library")} & done.told
    # nothing imports the shim for it, so that the shim does not map what it loads
    assert ("tf/weights.py", "PRT901", "missing") in done.told


def test_a_demonstration_that_uses_cuda_is_a_program(tmp_path: Path) -> None:
    shown = '\n\nif __name__ == "__main__":\n    net().cuda()\n'
    files = {
        "net.py": NET + shown,
        "quiet.py": NET + shown.replace(".cuda()", ""),
        "main.py": f"import net\nimport quiet\n{MAIN}",
    }
    assert set(port(tmp_path, files).changed) == {"net.py", "main.py"}


def test_a_module_whose_own_start_moves_a_model_is_a_program(tmp_path: Path) -> None:
    shown = '\n\nif __name__ == "__main__":\n    net().to(device)\n'
    files = {
        "places.py": 'import torch\n\ndevice = torch.device("cuda")\n',
        "lfw.py": f"from places import device\n{NET.replace('.cuda()', '')}{shown}",
        "host.py": f"from places import device\n{NET.replace('.cuda()', '')}{shown.replace('    net', '    device = None; net')}",
        "quiet.py": f"from places import device\n{NET.replace('.cuda()', '')}{shown.replace('.to(device)', '')}",
        "main.py": f"import host, lfw, quiet\nfrom places import device\n{MAIN.replace('net()', 'device')}",
    }
    assert set(port(tmp_path, files).changed) == {"lfw.py", "main.py"}


@pytest.mark.parametrize(
    ("statement", "moves"),
    [
        ("model = net().to(device)", True), ("net().cuda()", True), ("if 1:\n    net()", False), ("model = net()", False),
        ('model = net().to("cpu")', False), ("model = net().to(torch.float16)", False), ("# net().cuda()", False),
        ("moved = lambda: net().cuda()", False), ("class Moved: x = net().cuda", False),
        ("def moved(): return net().cuda()", False), ('model = net().to(torch.device("cuda"))', True),
    ],
)  # fmt: skip
def test_what_imports_a_file_that_moves_a_model_as_it_is_read_comes_to_cuda(
    tmp_path: Path, statement: str, moves: bool
) -> None:
    """Whoever starts such a file, and whatever else it is about, comes to the device by its imports."""
    started = '\n\nif __name__ == "__main__":\n    print(1)\n'
    files = {
        "detect.py": f'import torch\n\ndevice = torch.device("cuda")\n\n\ndef net():\n    return 1\n\n\n{statement}\n',
        "layers.py": f"import detect\n{started}",  # which others import
        "pre_process.py": f"import mxnet\nimport detect\n{started}",
        "extract.py": f"import detect\n{started}",
        "prepare.py": "import detect\n",
        "main.py": f"import layers\n{started}",
    }
    changed = set(port(tmp_path, files).changed) - {"main.py"}
    assert changed == ({"layers.py", "pre_process.py", "extract.py"} if moves else set())


def test_a_file_of_one_call_is_a_program(tmp_path: Path) -> None:
    files = {
        "net.py": NET,
        "trial.py": "import os\nfrom net import (\n    net,\n)\nos.environ['A'] = '1'\nnet()\n",
        "kept.py": "from net import net\nmade = net\nprint(1)\n",
        "taken.py": "from net import net\nnet()\n",
        "main.py": f"import taken\nfrom net import net\n{MAIN}",
    }
    assert set(port(tmp_path, files).changed) == {"trial.py", "main.py"}


def test_a_path_of_python_may_lead_where_an_empty_package_seems_to(tmp_path: Path) -> None:
    """`from solver import net`, with src/solver in PYTHONPATH, is of src/solver/solver.py, for which a program has the import."""
    files = {
        "src/solver/__init__.py": "",
        "src/solver/solver.py": NET,
        "src/other/other.py": NET,
        "src/bin/train.py": f"import torch\nfrom solver import net\n\ntorch.ones(2).cuda()\n{MAIN}",
    }
    done = port(tmp_path, files)
    told = {path for path, code, why in done.told if (code, why) == ("PRT152", "library")}
    assert told == {"src/other/other.py"} and set(done.changed) == {"src/bin/train.py"}


def test_a_file_beside_the_init_of_the_repository_may_be_a_program(tmp_path: Path) -> None:
    files = {"__init__.py": "", "net.py": NET, "take.py": "from net import net\n\nwhile True:\n    net()\n"}
    assert set(port(tmp_path, files).changed) == {"take.py"}


def test_a_program_in_which_another_library_has_the_device_needs_none(tmp_path: Path) -> None:
    code = 'import tvm\nimport torch\n\n\ndef main():\n    net = torch.nn.Linear(2, 2)\n    net.load_state_dict(torch.load("a.pth.tar"))\n    tvm.build(net, target="cuda")\n\n\nmain()\n'
    other = NET + MAIN
    done = port(tmp_path, {"demo.py": code, "train.py": other})
    assert set(done.changed) == {"train.py"} and ("demo.py", "PRT901", "missing") in done.told
    moved = code.replace("Linear(2, 2)", "Linear(2, 2).cuda()")
    assert set(port(tmp_path, {"demo.py": moved, "train.py": other}).changed) == {"demo.py", "train.py"}
    session = 'import onnxruntime as ort\nimport torch\n\n\ndef main():\n    install("onnxruntime-gpu" if torch.cuda.is_available() else "onnxruntime")\n    ort.InferenceSession("a.onnx")\n\n\nmain()\n'
    assert set(port(tmp_path, {"demo.py": session, "train.py": other}).changed) == {"train.py"}


@pytest.mark.parametrize(
    ("cell", "edited"),
    [
        ("net(1)", True),
        ("net(torch.load('a.pth', map_location='cpu'))", True),
        ("device = 'cpu'\nnet(1)", False),
        ("# device = 'cuda'\ndevice = torch.device('cpu')\nnet(1)", False),
        ("net(torch.zeros(1, device='cpu'))", False),
        ("net(torch.load('a.pt', map_location='cpu'))", True),
        ("if net.device == 'cpu':\n    net(1)", True),
    ],
)
def test_a_notebook_whose_imports_lead_to_cuda_is_a_program(tmp_path: Path, cell: str, edited: bool) -> None:
    source = [line + "\n" for line in ["from net import net", *cell.split("\n")]]
    rest = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    book = {"cells": [{**rest, "source": source}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    done = port(tmp_path, {"net.py": NET, "look.ipynb": json.dumps(book, indent=1) + "\n"})
    assert (set(done.changed) == {"look.ipynb"}) == edited


def test_another_statement_on_the_line_is_for_a_person(tmp_path: Path) -> None:
    done = port(tmp_path, {"train.py": "import torch; print(torch.ones(2).cuda())\nfor i in []:\n    pass\n"})
    assert done.changed == {} and ("train.py", "PRT152", "by-hand") in done.told


@pytest.mark.parametrize(
    ("target", "asked"), [("torch_npu=2.11", False), ("torch_npu=2.12", True), ("torch_npu=2.13", True)]
)
def test_who_broadcasts_answers_for_the_capability(tmp_path: Path, target: str, asked: bool) -> None:
    code = f'import torch\nimport torch.distributed as dist\n\nnet = torch.nn.Linear(2, 2).cuda\ndist.init_process_group("nccl")\n{MAIN}'
    line = 'os.environ.setdefault("TORCH_NPU_DEVICE_CAPABILITY", "8.0")  # torch.distributed.broadcast compares it\n'
    for before, extra in (("", "import os\n"), ("import os\n", "")):
        done = port(tmp_path, {"train.py": before + code}, target=target)
        lines = extra + IMPORTS + line if asked else IMPORTS
        assert done.changed["train.py"] == before + code.replace("import torch\n", f"import torch\n{lines}", 1)
        assert ("train.py", "PRT152", "grouped" if asked else "program") in done.told


def test_who_had_the_shim_before_is_told_that_broadcast_asks(tmp_path: Path) -> None:
    code = f'import torch\n{IMPORTS}import torch.distributed as dist\n\nnet = torch.ones(2).cuda\ndist.init_process_group("nccl")\n{MAIN}'
    done = port(tmp_path, {"train.py": code}, target="torch_npu=2.13")
    assert done.changed == {} and ("train.py", "PRT152", "unanswered") in done.told


def test_modules_of_ray_import_it_as_well(tmp_path: Path) -> None:
    files = {
        "train.py": f"import ray\nimport torch\nfrom worker import net\n\n\n@ray.remote\ndef own():\n    pass\n{MAIN}",
        "worker.py": "import ray\n" + NET.replace("def net", "@ray.remote\ndef net"),
    }
    done = port(tmp_path, files)
    assert done.changed["worker.py"] == files["worker.py"].replace("import ray\n", f"{IMPORTS}import ray\n")
    assert {("worker.py", "PRT152", "worker"), ("train.py", "PRT151", "unreached")} <= done.told


NPU = 'import torch\n\n\ndef pick():\n    return "npu" if torch.npu.is_available() else "cuda"\n'


@pytest.mark.parametrize(
    "text", [NPU, "import torch\n\nkind = torch.accelerator.current_accelerator()\n", "import torch_npu\n"]
)
def test_a_program_that_chooses_its_npus_gets_none(tmp_path: Path, text: str) -> None:
    files = {"train.py": f"import torch\nfrom net import net\nimport pick\n{MAIN}", "net.py": NET, "pick.py": text}
    done = port(tmp_path, files)
    assert done.changed == {}
    assert {("train.py", "PRT152", "chosen"), ("net.py", "PRT150", "chosen")} <= done.told


def test_a_module_that_brings_the_shim_chooses_nothing(tmp_path: Path) -> None:
    start = "from torch_npu.contrib import transfer_to_npu\nimport torch_npu"  # no newline at its end
    files = {"train.py": f"import torch\nimport start\nfrom net import net\n{MAIN}", "net.py": NET, "start.py": start}
    assert ("train.py", "PRT152", "chosen") not in port(tmp_path, files).told


def test_of_several_programs_one_may_choose_and_the_other_not(tmp_path: Path) -> None:
    files = {
        "a/train.py": f"import torch\nfrom anet import net\n{MAIN}", "a/anet.py": NET,
        "b/train.py": f"import torch\nfrom bnet import net\n{MAIN}", "b/bnet.py": NET + NPU,
    }  # fmt: skip
    assert list(port(tmp_path, files).changed) == ["a/train.py"]


def test_who_saves_scripts_is_told_to_take_another_style(tmp_path: Path) -> None:
    program = Path(__file__).parents[1] / "programs" / "jit_script" / "train.py"
    done = port(tmp_path, {"train.py": program.read_text()})
    assert ("train.py", "PRT149", "archive") in done.told


@pytest.mark.parametrize(
    ("text", "is_program"),
    [
        (f"from net import net\n\n\ndef test(model):\n    return model\n{MAIN}", True),
        (f"import argparse\nfrom net import net\n\n\ndef test_model():\n    argparse.ArgumentParser()\n{MAIN}", True),
        (f"from net import net\n\n\ndef test_model():\n    net()\n{MAIN}", False),
        ("import unittest\nfrom net import net\n\nnet().train()\n", False),
        ("from torch import nn\nfrom net import net\n\nprint(net())\n", True),
    ],
)
def test_what_is_called_like_a_test_may_be_a_program(tmp_path: Path, text: str, is_program: bool) -> None:
    done = port(tmp_path, {"test_model.py": text, "net.py": NET})
    assert ("test_model.py" in done.changed) == is_program


def test_a_file_that_no_program_leads_to_is_told(tmp_path: Path) -> None:
    files = {
        "train.py": f"from net import net\n{MAIN}",
        "net.py": NET,
        "plugins/loss.py": NET,
        "plugins/more.py": NET,
        "plugins/size.py": "SIZE = 2\n",
    }
    told = {path for path, code, why in port(tmp_path, files).told if (code, why) == ("PRT152", "library")}
    assert told == {"plugins/loss.py", "plugins/more.py"}


def test_a_library_has_no_program(tmp_path: Path) -> None:
    done = port(tmp_path, {"lib/__init__.py": "", "lib/net.py": NET})
    assert done.changed == {} and ("lib/net.py", "PRT152", "library") in done.told


@pytest.mark.parametrize("style", ["rename", "portable"])
def test_another_style_leaves_what_runs_with_the_shim(tmp_path: Path, style: str) -> None:
    files = {
        "train.py": f"import torch\n{IMPORTS}from net import net\n{MAIN}",
        "net.py": NET + "\n\nscripted = torch.jit.script(net)\n",
        "other.py": NET,
    }
    done = port(tmp_path, files, style)
    assert list(done.changed) == ["other.py"]
    assert {("train.py", "PRT152", "stands"), ("net.py", "PRT149", "script")} <= done.told


def test_a_port_in_another_style_is_left_alone(tmp_path: Path) -> None:
    files = {"train.py": f"import torch\nfrom net import net\n{MAIN}", "net.py": NET}
    for style in ("rename", "portable"):
        root = tmp_path / style
        there = {**files, **port(root, files, style).changed}
        assert there != files and port(root, there).changed == {}, style


def test_an_import_that_is_suppressed_or_off_is_not_made(tmp_path: Path) -> None:
    body = MAIN.replace("net()", "torch.ones(2).cuda()")
    assert not port(tmp_path / "a", {"train.py": f"import torch  # porter: ignore[PRT152] elsewhere\n{body}"}).changed
    assert not port(tmp_path / "b", {"train.py": f"import torch\n{body}"}, ignore=["PRT152"]).changed


@pytest.mark.parametrize(("style", "is_left"), [("shim", True), ("rename", False)])
def test_data_parallel_looks_for_its_module_on_a_gpu(style: str, is_left: bool) -> None:
    opened = open_session(target=Target(torch_npu="2.13.0", style=style))
    code = f"{HEAD}    return torch.nn.DataParallel(model)(x)\n"
    found = next(f for f in analyse("a.py", code.encode(), opened).findings if f.code == "PRT205")
    assert (dict(found.values).get("left_to_cuda") == "torch.nn.DataParallel") == is_left


NET_WITH_DATA = {
    "lib/data.py": """import torch
from lib.parallel import is_first, spread

SIZE = 4  # on each device


def parse(path):
    return open(path).read().split()


def batches(path):
    return spread(torch.tensor(parse(path)))
""",
    "lib/parallel.py": """import torch

BACKEND = "nccl"
torch.chosen_backend = "nccl"


def parse_mask(x):
    return torch.ones(2, device=x.device).to(torch.int64)


def is_first():
    return True


def spread(x):
    return x.cuda()
""",
}


@pytest.mark.parametrize(
    ("program", "is_edited"),
    [
        ("from lib.data import SIZE, parse\n", False),
        ("from lib.data import parse as batches\n", True),  # the name is that of one that moves tensors
        ("from lib.data import batches as parse, SIZE\n", True),
        ("from lib.data import *\n", False),
        ("from lib.data import parse, SIZE\nfrom lib.parallel import parse_mask\nprint(parse_mask)\n", False),
        ("import torch\nfrom lib.data import SIZE, parse\ntorch.set_num_threads(1)\n", False),
        ("from lib.data import SIZE, parse, batches\nprint(batches)\n", True),
        ("from lib import data\nname = 'SIZE'\nprint(getattr(data, name))\nparse = len\n", True),
        ("from lib.data import SIZE, parse\ndevice = None\n", True),
    ],
)
def test_a_program_that_cannot_come_to_cuda_gets_no_import(tmp_path: Path, program: str, is_edited: bool) -> None:
    said = "parse" if "batches" not in program.partition("import")[2] or "as parse" in program else "batches"
    text = f"{program}\nif __name__ == '__main__':\n    print(len({said}('a.txt')), 4)\n"
    done = port(tmp_path, {**NET_WITH_DATA, "check.py": text})
    assert ("check.py" in done.changed) == is_edited


@pytest.mark.parametrize(
    ("decorator", "is_edited"), [('@torch.autocast("cuda")', True), ("@spread", True), ("@torch.no_grad()", False)]
)
def test_a_decorator_may_lead_to_cuda(tmp_path: Path, decorator: str, is_edited: bool) -> None:
    rates = (
        f"import torch\nfrom lib.parallel import spread\n\n\n{decorator}\ndef rate(x):\n    return x + torch.ones(1)\n"
    )
    text = "import torch\nfrom lib.rates import rate\n\nif __name__ == '__main__':\n    print(rate(4))\n"
    done = port(tmp_path, {**NET_WITH_DATA, "lib/rates.py": rates, "check.py": text})
    assert ("check.py" in done.changed) == is_edited


def test_what_a_command_calls_is_a_program_and_loads_what_it_names(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "sound"\n\n[project.scripts]\nsplit = "sound.cli:split"\n',
        "sound/__init__.py": "",
        "sound/cli.py": "from sound import models\n\n\ndef split():\n    return models.make()\n",
        "sound/other.py": "from sound import models\n\n\ndef split():\n    return models.make()\n",
        "sound/models/__init__.py": 'import importlib\nimport torch\n\nfor name in ["a_model"]:\n    importlib.import_module(f"sound.models.{name}")\n',
        "sound/models/a_model.py": "import torch\n\n\ndef make():\n    return torch.zeros(2).cuda()\n",
    }
    assert set(port(tmp_path, files).changed) == {"sound/cli.py"}


def test_a_program_of_hydra_comes_to_the_classes_that_its_settings_name(tmp_path: Path) -> None:
    main = (
        "import hydra\nfrom tool.base import Base\n\n\n@hydra.main(config_path='conf')\ndef main(cfg):\n"
        "    hydra.utils.get_class(cfg._target_)(cfg).run()\n\n\nif __name__ == '__main__':\n    main()\n"
    )
    files = {
        "train.py": main,
        "plain.py": main.replace("hydra.utils.get_class(cfg._target_)(cfg).run()", "Base().run()"),
        "conf/train.yaml": "_target_: tool.work.Work\n",
        "tool/__init__.py": "",
        "tool/base.py": "import torch\n\n\nclass Base:\n    def run(self):\n        print(torch.zeros(1))\n",
        "tool/work.py": "import torch\n\n\nclass Work:\n    def run(self):\n        print(torch.zeros(1).cuda())\n",
    }
    assert set(port(tmp_path, files).changed) == {"train.py"}


def test_a_program_that_imports_what_an_option_names_comes_to_the_classes_in_settings(tmp_path: Path) -> None:
    main = (
        "import sys\nimport torch\n\n\ndef find(name):\n    found = __import__(name.split('.')[0])\n"
        "    for part in name.split('.')[1:]:\n        found = getattr(found, part)\n    return found\n\n\n"
        "if __name__ == '__main__':\n    print(find(sys.argv[1])(torch.zeros(1)))\n"
    )
    net = "import torch\n\n\nclass Net:\n    def __init__(self, x):\n        self.x = x.cuda()\n"
    files = {
        "main.py": main,
        "plain.py": "import torch\n\nif __name__ == '__main__':\n    print(torch.zeros(1))\n",
        "config/train.yaml": "phase: train\nmodel: net.shift.Net  # by name\nweights: net.other.pt\n",
        "net/__init__.py": "from . import shift\n",
        "net/shift.py": net,
    }
    ported = port(tmp_path, files)
    assert set(ported.changed) == {"main.py"}


def test_what_a_page_tells_people_to_start_is_a_program(tmp_path: Path) -> None:
    made = (
        "import torch\n\n\ndef main():\n    print(torch.zeros(2).cuda())\n\n\nif __name__ == '__main__':\n    main()\n"
    )
    files = {
        "README.md": "Sample:\n\n    $ python -m sample.generate --steps 3\n",
        "sample/generate.py": made,
        "sample/draw.py": made,
        "sample/edit.py": "from sample.generate import main as generate\nfrom sample.draw import main as draw\n\n\ndef edit():\n    generate()\n    draw()\n",
    }
    assert set(port(tmp_path, files).changed) == {"sample/generate.py"}


def _cell(source: str) -> dict[str, object]:
    return {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}


def test_in_a_notebook_the_import_stands_in_the_cell_of_what_it_precedes(tmp_path: Path) -> None:
    cells = [
        "def show(x):\n    print(x)",
        "from torch.utils import data\nx = 1",
        'import torch\ntorch.zeros(2, device="cuda")',
    ]
    book = {"cells": [_cell(cell) for cell in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    after = json.loads(port(tmp_path, {"a.ipynb": json.dumps(book, indent=1) + "\n"}).changed["a.ipynb"])["cells"]
    assert ["".join(cell["source"]) for cell in after] == [cells[0], IMPORTS + cells[1], cells[2]]


def test_a_notebook_about_cpus_gets_no_import(tmp_path: Path) -> None:
    for library, is_edited in (("openvino", False), ("intel_extension_for_pytorch as ipex", False), ("numpy", True)):
        cell = f"import {library}\nimport torch\nfrom net import Net\nNet()(torch.zeros(2))"
        book = {"cells": [_cell(cell)], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        done = port(tmp_path, {"net.py": NET, "look.ipynb": json.dumps(book, indent=1) + "\n"})
        assert ("look.ipynb" in done.changed) == is_edited


@pytest.mark.parametrize(
    ("line", "covered_since"),
    [
        ('torch.nn.Linear(2, 2, device="cuda")', ""),
        ("model.to_empty(device=torch.cuda.current_device())", ""),
        ("torch.get_autocast_gpu_dtype()", "2.7.1.post11"),
        ("torch.set_autocast_gpu_dtype(torch.bfloat16)", "2.7.1.post11"),
        ('dist.init_device_mesh("cuda", (2,))', "2.7.1.post11"),
        ('dist.device_mesh.DeviceMesh("cuda", [0, 1])', "2.7.1.post11"),
    ],
)
def test_what_the_shim_hands_on_inside_is_covered(line: str, covered_since: str) -> None:
    code = HEAD + f"    {line}\n"
    before, since = looked(code, "2.1.0.post17"), looked(code)
    assert not since.auto and not since.review
    assert bool(before.auto or before.review) == bool(covered_since)


def test_a_module_of_tests_that_knows_argparse_is_no_program(tmp_path: Path) -> None:
    code = """import argparse
import unittest

import torch

ARGUMENTS = argparse.ArgumentParser()


class TestNet(unittest.TestCase):
    def test_it(self):
        torch.ones(2).cuda()


if __name__ == "__main__":
    unittest.main()
"""
    assert port(tmp_path, {"tests/test_net.py": code}).changed == {}
    assert port(tmp_path, {"tests/test_net.py": code.replace("TestCase", "Case")}).changed
