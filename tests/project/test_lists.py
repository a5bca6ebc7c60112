"""Which lists of requirements a project has, and for whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import write

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.run.gather import gather


def _facts(root: Path, files: dict[str, str]):
    write(root, files)
    return gather(root, sorted(files))


def test_lists_for_machines_without_gpus(tmp_path):
    names = (
        "environment_cpu.yml",
        "environment_gpu.yml",
        "a/requirements-cpu.txt",
        "a/requirements-cuda.txt",
        "cpu.yml",
        "b/env-cpu.yml",
        "c/requirments_cpu.txt",
        "c/requirments_cu118.txt",
        "cu118/requirements-cpu.txt",
        "d/environment-cpu-linux.yml",
        "d/environment-gpu-linux-cuda10.yml",
        "e/environment-cpu.yml",
        "e/requirements-gpu.txt",
    )
    facts = _facts(tmp_path, dict.fromkeys(names, "torch\n"))
    assert facts.accelerators.for_cpus == (
        "a/requirements-cpu.txt",
        "c/requirments_cpu.txt",
        "d/environment-cpu-linux.yml",
        "environment_cpu.yml",
    )


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("requirements.txt", True),
        ("requirements-osx.txt", False),
        ("envs/macos/requirements.txt", True),  # what it says of a folder is not sure
        ("requirements_mac.txt", False),
        ("requirements-machine.txt", True),
    ],
)
def test_lists_for_machines_of_apple(path, found):
    assert bool(analyse(path, b"torch==2.7.1+cu118\n", open_session()).findings) is found


def test_lists_that_a_package_is_installed_with(tmp_path):
    setup = 'from setuptools import setup\n\nsetup(install_requires=open("requirements.txt").read().split())\n'
    files = {
        "setup.py": setup,
        "requirements.txt": "torch\n",
        "requirements-dev.txt": "pytest\n",
        "b/requirements.txt": "torch\n",
    }
    assert _facts(tmp_path, files).lists.installed == ("requirements.txt",)
    files["setup.py"] = 'print("requirements.txt")\n'
    assert _facts(tmp_path, files).lists.installed == ()


def test_packages_that_a_file_imports_and_uses_nothing_of(tmp_path):
    idle = "import torch\nimport dgl\n"
    files = {
        "a.py": idle,
        "b.py": idle,
        "c.py": f"{idle}dgl.graph(x)\n",
        "d.py": f"{idle}g.ndata\n",
        "__init__.py": idle,
    }
    assert _facts(tmp_path, files).lists.idle == (("dgl", "a.py", 1),)


def test_packages_that_nobody_imports(tmp_path):
    asked = {
        "requirements.txt": "fairscale==0.4\npynvml\ntriton==2.2.0\ncuda-python\nxformers\n",
        "a.py": "import torch\n",
    }
    facts = _facts(tmp_path, asked)
    assert {"fairscale", "pynvml", "triton", "cuda.cudart", "xformers"} < {
        *facts.lists.unimported
    } and not facts.lists.imported
    users = {
        "b.py": "from cuda import cudart\nimport os, fairscale\n",
        "c.ipynb": '{"cells": [{"source": ["import pynvml"]}]}\n',
        "d.py": "def f():\n    import triton.language as tl\n",
    }
    facts = _facts(tmp_path, {**asked, **users})
    assert {"fairscale", "pynvml", "triton", "cuda.cudart"}.isdisjoint(facts.lists.unimported)
    assert facts.lists.users("triton", "requirements.txt") == "d.py"
    assert facts.lists.users("fairscale", "setup.py") == "b.py"
    assert gather(tmp_path, ["a.py", "requirements.txt"], loose=True).lists.unimported == ()


def test_one_file_speaks_for_all_that_set_a_variable_without_effect(tmp_path):
    text = 'import os\n\nimport torch\n\nos.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"\nx = torch.zeros(2)\n'
    facts = _facts(tmp_path, {"a.py": text, "b.py": text})
    found = {path: analyse(path, text.encode(), open_session(facts=facts)).findings for path in ("a.py", "b.py")}
    assert [(f.code, f.why) for f in found["a.py"]] == [("PRT803", "elsewhere")] and not found["b.py"]


@pytest.mark.parametrize(
    ("lists", "met"),
    [
        ({"setup.py": 'deps = ["torch", "transformers>=4.53.3"]\nneeds = [deps["transformers"]]\n'}, True),
        ({"requirements.txt": "transformers[torch]==4.51.*\n", "setup.cfg": "    transformers ~= 4.52\n"}, True),
        (
            {
                "setup.py": '    "transformers>=4.53",\n',
                "setup.cfg": "[isort]\nknown_third_party =\n    transformers\n\n[options]\nzip_safe = 0\n",
            },
            True,
        ),
        ({"environment.yml": "  - pip:\n    - transformers>4.51,<5  # new\n"}, True),
        ({"pyproject.toml": 'transformers = "^4.53"\n'}, False),  # where nobody looks
        ({"requirements.txt": "transformers>=4.53\n", "old/requirements.txt": "transformers\n"}, True),
        ({"requirements.txt": "transformers>=4.53\n", "setup.py": 'x = {"old": ["transformers==4.40"]}\n'}, False),
        ({"requirements.txt": "transformers<5,>=4.50.3\n"}, False),
        ({"requirements.txt": "# transformers>=4.53\nsentence-transformers>=5\n"}, False),
        ({"requirements.txt": "transformers @ git+https://github.com/x/transformers@v4.30\n"}, False),
        ({"install.sh": "pip install -U 'transformers[torch]==4.51.3' peft\n"}, True),
        ({"Dockerfile": "FROM x\nRUN pip install transformers>=4.52 && ls\n", "requirements.txt": "numpy\n"}, True),
        ({"install.sh": "pip install transformers==4.51.3\n", "old/run.sh": "pip install transformers\n"}, False),
        ({"install.sh": "pip install transformers==4.51.3\n", "requirements.txt": "transformers\n"}, False),
        ({"install.sh": "pip install sentence-transformers==5.0\n# pip install\ntransformers==4.51\n"}, False),
    ],
)
def test_the_version_that_an_option_waits_for(tmp_path, lists, met):
    assert _facts(tmp_path, {**lists, "a.py": "import torch\n"}).lists.has_least("transformers>=4.51", "a.py") is met


@pytest.mark.parametrize(
    ("lists", "below"),
    [
        ({"requirements.txt": "transformers==4.37.0\n"}, "transformers==4.37.0"),
        (
            {"requirements.txt": "transformers<4.50\n", "setup.py": '    "transformers==4.40",\n'},
            "transformers<4.50, transformers==4.40",
        ),
        (
            {"requirements.txt": "transformers==4.37.0\n", "old/requirements.txt": "transformers\n"},
            "transformers==4.37.0",
        ),
        ({"new/requirements.txt": "transformers==4.37.0\n", "old/requirements.txt": "transformers\n"}, ""),
        ({"requirements.txt": "transformers>=4.37.0\n"}, ""),
        ({"requirements.txt": "transformers==4.51.3\n"}, ""),
        ({"requirements.txt": "numpy\n"}, ""),
        ({"examples/run.sh": "pip install transformers==4.37.0\n"}, ""),
    ],
)
def test_lists_that_take_only_older_versions(tmp_path, lists, below):
    assert _facts(tmp_path, {**lists, "a.py": "import torch\n"}).lists.below("transformers>=4.51", "a.py") == below


@pytest.mark.parametrize(
    ("path", "below", "met"),
    [
        ("old/train.py", "transformers== 4.15.0", False),
        ("old/deep/train.py", "transformers== 4.15.0", False),
        ("new/train.py", "", True),
        ("wide/train.py", "", False),  # a later one may be there, and an older one
        ("train.py", "", False),  # no list is for it: all are asked
    ],
)
def test_a_list_is_for_the_programs_of_its_folder(tmp_path, path, below, met):
    lists = {
        "old/requirements.txt": "transformers == 4.15.0\n",
        "new/requirements/base.txt": "transformers==5.9.0\n",
        "new/setup.py": 'setup(install_requires=["transformers>=4.10"])\n',
        "wide/requirements.txt": "transformers>=4.31,!=4.33.2\n",
    }
    asked = _facts(tmp_path, {**lists, "a.py": "import torch\n"}).lists
    assert asked.below("transformers>=4.51", path) == below
    assert asked.has_least("transformers>=4.51", path, frozen=True) is met
    assert not asked.has_least("transformers>=4.51", path)
