"""What is said of code that nothing uses is listed in the inventory, and is no finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.project.unused import Uses

pytestmark = pytest.mark.slow  # each analyses a project by the command

MODULE = """import torch


def cached(size):
    return torch.zeros(size, dtype=torch.float64, device="cuda")


def shown(size):
    return cached(size)


class Sampler(torch.nn.Module):
    def forward(self, size):
        return torch.ones(size, dtype=torch.float64, device="cuda")


def live(size):
    return torch.arange(size, dtype=torch.float64, device="cuda")
"""
TRAIN = """import torch

from lib.parts import live

print(live(2).cuda())
"""
FILES = {"porter.toml": "", "lib/parts.py": MODULE, "train.py": TRAIN}


Place = tuple[str, str]


def both(porter: Porter, *paths: str) -> tuple[list[Place], list[tuple[Place, dict[str, str]]]]:
    """Code and file of what is told, and of what is left alone, with what that names."""
    found = json.loads(porter("analyze", *paths, "--format", "json").text)
    rows = [((row["code"], row["places"][0].rpartition(":")[0]), row["values"]) for row in found["left_alone"]]
    return [(f["code"], f["path"]) for f in found["findings"]], rows


@pytest.fixture
def unused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What nothing uses, by the findings of lib/parts.py; each other finding is more than a note."""

    def look(more: dict[str, str], *paths: str) -> set[str]:
        write(tmp_path, {**FILES, **more})
        told, alone = both(Porter(monkeypatch, tmp_path), *(paths or (".",)))
        advice = [place for place in told if place == ("PRT307", "lib/parts.py")]
        resting = [why for place, why in alone if place == ("PRT307", "lib/parts.py")]
        assert len(advice) + len(resting) == 3
        return {why["unused"] for why in resting}

    return look


def test_what_no_file_mentions(unused) -> None:
    assert unused({}) == {"cached", "Sampler"}
    assert unused({}, "lib/parts.py") == {"cached", "Sampler"}, "a hook and a run over all agree"


SETUP = "from setuptools import setup\n\nsetup(name='the-lib')\n"
FINDING = (
    "from setuptools import find_packages, setup\n\nsetup(name='the-lib', packages=find_packages())\nclassifiers = []\n"
)
PROGRAM = "from lib.parts import live\n\nif __name__ == '__main__':\n    live(3)\n"

CALLERS = "from lib.parts import Sampler\n\n\ndef idle():\n    return Sampler()\n\n\ndef used():\n    return 3\n"
USES = {
    "another file": ({"eval.py": "from lib import parts\n\nparts.shown(3)\n"}, {"Sampler"}),
    "a method of the same name": (
        {"eval.py": "from lib.parts import live\n\nrows.shown(live(3))\nf(rows).shown(3)\n"},
        {"cached", "Sampler"},
    ),
    "an alias of the module": ({"eval.py": "import lib.parts as p\n\np.shown(3)\n"}, {"Sampler"}),
    "all its names": ({"eval.py": "from lib.parts import *\n\nshown(3)\n"}, {"Sampler"}),
    "another class under another name": (
        {"eval.py": "from other import Sampler as Other\n\nOther()\n", "other.py": "class Sampler:\n    pass\n"},
        {"cached", "Sampler"},
    ),
    "another class under its name": (
        {"eval.py": "from lib.more import Plain as Sampler\n\nSampler()\n", "lib/more.py": "class Plain:\n    pass\n"},
        {"cached", "Sampler"},
    ),
    "its class under another name": ({"eval.py": "from lib.parts import Sampler as Other\n\nOther()\n"}, {"cached"}),
    "a comment": ({"eval.py": "# parts.shown(3)\n"}, {"cached", "Sampler"}),
    "a text in settings": ({"config.yaml": "model: lib.parts.Sampler\n"}, {"cached"}),
    "a notebook": ({"a.ipynb": '{"cells": [{"cell_type": "code", "source": ["parts.Sampler()"]}]}'}, {"cached"}),
    "words about it": ({"README.md": "Call `shown` or `Sampler`.\n"}, set()),
    "sentences and tables": (
        {"README.md": "Trained with the Sampler. Results are shown below:\n\n| Sampler | 3 |\n"},
        {"cached", "Sampler"},
    ),
    "a command of a page": ({"README.md": "    python eval.py shown Sampler\n"}, set()),
    "a setting of a page": ({"README.md": "    model: Sampler\n\nIt is shown.\n"}, {"cached"}),
    "a statement that runs": ({"lib/parts.py": MODULE + "\n\nprint(shown(3))\n"}, {"Sampler"}),
    "a registry": ({"lib/parts.py": MODULE.replace("class Sampler", "@register\nclass Sampler")}, {"cached"}),
    "a decorator that only writes its docstring": (
        {"lib/parts.py": MODULE.replace("class Sampler", "@add_start_docstrings('Samples.', DOC)\nclass Sampler")},
        {"cached", "Sampler"},
    ),
    "a sentence of its own file": (
        {"lib/parts.py": MODULE + "\n\nprint('a text that is shown by no Sampler')\n"},
        {"cached", "Sampler"},
    ),
    "a call in a text of its own file": (
        {"lib/parts.py": MODULE + "\n\nexec('a = 3; b = shown(a) if a else 3')\n"},
        {"Sampler"},
    ),
    "a list of names of its own file": (
        {"lib/parts.py": MODULE + "\n\nNAMES = 'live shown and others'.split()\n"},
        {"Sampler"},
    ),
    "a function of another module that is called like it": (
        {"lib/parts.py": "import torch.distributed as dist\n" + MODULE + "\n\ndist.shown(3)\n"},
        {"cached", "Sampler"},
    ),
    "a name made at run time": ({"eval.py": "import lib.parts\n\ngetattr(lib.parts, name)(3)\n"}, set()),
    "one in a module that has another name here": (
        {"eval.py": "import lib.parts as p\n\ngetattr(p, name)(3)\n"},
        set(),
    ),
    "one in a file of a package": ({"eval.py": "from lib import parts as p\n\np.__dict__[name](3)\n"}, set()),
    "one in an object that is called as the module is": (
        {"eval.py": "def ask(parts, name):\n    return getattr(parts, name)(3)\n"},
        {"cached", "Sampler"},
    ),
    "one in a part of an object": (
        {"eval.py": "def ask(net, name):\n    return net.parts.__dict__[name](3)\n"},
        {"cached", "Sampler"},
    ),
    "a name of the file itself": ({"lib/parts.py": MODULE + "\n\nglobals()[name](3)\n"}, set()),
    "what an object holds": (
        {"lib/parts.py": MODULE + "\n\nclass Config:\n    def put(self, key):\n        self.__dict__[key] = 1\n"},
        {"cached", "Sampler"},
    ),
    "what an argument holds": (
        {"lib/parts.py": MODULE + "\n\ndef tensors(module):\n    return module.__dict__.items()\n"},
        {"cached", "Sampler"},
    ),
    "what an imported module holds": (
        {"lib/parts.py": MODULE + "\n\nfrom lib import parts\n\nparts.__dict__[name](3)\n"},
        set(),
    ),
    "what a module holds": ({"lib/parts.py": MODULE + "\n\nimport lib.parts as me\n\nme.__dict__[name](3)\n"}, set()),
    "a module loaded by name": ({"lib/load.py": "import importlib\n\nmodule = importlib.import_module(name)\n"}, set()),
    "a module loaded by name for what it does": (
        {"lib/load.py": "import importlib\n\nimportlib.import_module(name)\n"},
        {"cached", "Sampler"},
    ),
    "a class loaded by its path": (
        {"lib/load.py": 'module, cls = path.rsplit(".", 1)\nmade = getattr(import_module(module), cls)()\n'},
        {"cached", "Sampler"},
    ),
    "a class whose path stands in settings": (
        {
            "lib/load.py": 'module, cls = path.rsplit(".", 1)\nmade = getattr(import_module(module), cls)()\n',
            "a.yaml": "target: lib.parts.Sampler\n",
        },
        {"cached"},
    ),
    "a module loaded for its name": ({"lib/load.py": "importlib.import_module('lib.x')\n"}, {"cached", "Sampler"}),
    "one whose name stands on the next line": (
        {"lib/load.py": "importlib.import_module(\n    'lib.x'\n)\n"},
        {"cached", "Sampler"},
    ),
    "a module loaded from another folder": (
        {"lib/load.py": "import importlib\n\nimportlib.import_module(f'lib.data.{name}')\n"},
        {"cached", "Sampler"},
    ),
    "a module loaded from its folder": (
        {"lib/load.py": "import importlib\n\nmodule = importlib.import_module('lib.' + name)\n"},
        set(),
    ),
    "a star and a lookup": ({"eval.py": "from lib.parts import *\n\neval(name)(3)\n"}, set()),
    "whoever installs it": ({"setup.py": "from setuptools import setup\n\nsetup(name='lib')\n"}, set()),
    "whoever installs the packages that are found": ({"setup.py": FINDING, "lib/__init__.py": ""}, set()),
    "nobody who installs the packages that are found elsewhere": (
        {"setup.py": FINDING, "other/__init__.py": ""},
        {"cached", "Sampler"},
    ),
    "a module loaded from a copy of a file of settings": (
        {"lib/load.py": "import tempfile\nfrom importlib import import_module\n\nmod = import_module(temp_name)\n"},
        {"cached", "Sampler"},
    ),
    "whoever installs a folder that is named": (
        {"setup.py": FINDING.replace("find_packages()", "['lib']")},
        set(),
    ),
    "nobody who installs it, if it is private": (
        {
            "setup.py": "from setuptools import setup\n\nsetup(name='lib')\n",
            "lib/parts.py": MODULE.replace("Sampler", "_Sampler").replace("cached", "_cached"),
        },
        {"_Sampler"},
    ),
    "whoever installs it, with a program that uses it": (
        {"setup.py": SETUP, "tools/run.py": PROGRAM},
        {"cached", "Sampler"},
    ),
    "whoever it is published for": ({"setup.py": SETUP + "classifiers = []\n", "tools/run.py": PROGRAM}, set()),
    "nobody, if its description was copied with it": (
        {
            "setup.py": SETUP.replace(")", ", url='https://github.com/one/the-lib', classifiers=[])"),
            "tools/run.py": PROGRAM,
            "README.md": "git clone https://github.com/two/ours.git\n",
        },
        {"cached", "Sampler"},
    ),
    "whoever clones it": (
        {
            "setup.py": SETUP.replace(")", ", url='https://github.com/one/the-lib', classifiers=[])"),
            "tools/run.py": PROGRAM,
            "README.md": "git clone https://github.com/one/the-lib\ngit clone https://github.com/three/data\n",
        },
        set(),
    ),
    "whoever is told to install it": (
        {"setup.py": SETUP, "tools/run.py": PROGRAM, "README.md": "pip install -U the-lib\n"},
        set(),
    ),
    "whoever installs it, with a text about it": (
        {"setup.py": SETUP, "tools/run.py": PROGRAM, "README.md": "pip install -e .\n\nSee `Sampler`.\n"},
        {"cached"},
    ),
    "whoever installs it, with an example": ({"setup.py": SETUP, "examples/run.py": PROGRAM}, set()),
    "whoever installs it, with a program of its own": ({"setup.py": SETUP, "lib/run.py": PROGRAM}, set()),
    "whoever installs it, with no main part": (
        {"setup.py": SETUP, "tools/run.py": "from lib.parts import live\n"},
        set(),
    ),
    "nobody it is handed on to": (
        {"lib/__init__.py": "from .parts import (\n    Sampler,\n    live,\n)\n\n__all__ = ['Sampler', 'live']\n"},
        {"cached", "Sampler"},
    ),
    "nobody its own list is for": ({"lib/parts.py": "__all__ = ['Sampler']\n" + MODULE}, {"cached", "Sampler"}),
    "who takes it from where it is handed on": (
        {"lib/__init__.py": "from .parts import Sampler\n", "eval.py": "from lib import Sampler\n\nSampler()\n"},
        {"cached"},
    ),
    "who takes it as a part of the package": (
        {"lib/__init__.py": "from .parts import Sampler\n", "eval.py": "import lib\n\nlib.Sampler()\n"},
        {"cached"},
    ),
    "who hands it on under another name": (
        {"lib/__init__.py": "from .parts import Sampler as S\n", "eval.py": "import lib\n\nlib.S()\n"},
        {"cached"},
    ),
    "nobody who defines the name": (
        {"eval.py": "import torch\n\n\nclass Sampler:\n    pass\n\n\nprint(Sampler())\n"},
        {"cached", "Sampler"},
    ),
    "nobody who has the name from a package": (
        {"eval.py": "from timm.layers import Sampler\n\nSampler()\n"},
        {"cached", "Sampler"},
    ),
    "nobody who has the name from another file": (
        {"lib/own.py": "class Sampler:\n    pass\n", "eval.py": "from lib.own import Sampler\n\nSampler()\n"},
        {"cached", "Sampler"},
    ),
    "who has both": (
        {"eval.py": "from lib import parts\n\n\nclass Sampler(parts.Sampler):\n    pass\n"},
        {"cached"},
    ),
    "nobody who says the word of another thing": (
        {"eval.py": "import torch\n\ntorch.ops.x.cached(3)\n"},
        {"cached", "Sampler"},
    ),
    "a registry that is asked for a text": ({"eval.py": "import torch\n\nbuild('Sampler')\n"}, {"cached"}),
    "who has it from nobody knows where": ({"eval.py": "from . import Sampler\n\nSampler()\n"}, {"cached"}),
    "what nothing uses, in another file": (
        {"lib/more.py": CALLERS, "eval.py": "from lib.more import used\n\nused()\n"},
        {"cached", "Sampler"},
    ),
    "what something uses, in another file": (
        {"lib/more.py": CALLERS, "eval.py": "from lib.more import idle\n\nidle()\n"},
        {"cached"},
    ),
    "what a third file uses": (
        {
            "lib/more.py": CALLERS,
            "lib/most.py": "from .more import idle\n\n\ndef most():\n    return idle()\n",
            "eval.py": "from lib.most import most\n\nmost()\n",
        },
        {"cached"},
    ),
    "a program": (
        {"lib/more.py": CALLERS + "\n\nif __name__ == '__main__':\n    idle()\n"},
        {"cached"},
    ),
    "two files that need each other": (
        {
            "lib/parts.py": MODULE
            + "\n\ndef back(size):\n    from lib.more import idle\n\n    return idle() + Sampler()\n",
            "lib/more.py": "from lib.parts import Sampler, back\n\n\ndef idle():\n    return back(Sampler())\n",
            "eval.py": "import lib.more\n",
        },
        {"cached"},
    ),
    "whoever installs another part": (
        {"other/setup.py": "from setuptools import setup\n\nsetup()\n"},
        {"cached", "Sampler"},
    ),
}


@pytest.mark.parametrize("use", USES)
def test_what_uses_it(unused, use: str) -> None:
    files, expected = USES[use]
    assert unused(files) == expected


REGISTRY = """class Registry:
    def __init__(self, name):
        self.name, self.held = name, {}

    def register(self):
        return lambda made: self.held.setdefault(made.__name__, made)

    def build(self, name):
        return self.held[name]()
"""
SAMPLERS = "from lib.registry import Registry\n\nSAMPLERS = Registry('SAMPLERS')\n"
WITH_REGISTRY = {
    "lib/registry.py": REGISTRY,
    "lib/samplers.py": SAMPLERS,
    "lib/parts.py": MODULE.replace("class Sampler", "@SAMPLERS.register()\nclass Sampler").replace(
        "import torch\n", "import torch\nfrom lib.samplers import SAMPLERS\n", 1
    ),
}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"cached", "Sampler"}),
        ({"eval.py": "from lib.samplers import SAMPLERS\n\nprint(SAMPLERS.build(input()))\n"}, {"cached"}),
        ({"eval.py": "from lib import samplers\n\nprint(build(input(), samplers.SAMPLERS))\n"}, {"cached"}),
        ({"eval.py": "from lib import samplers\n\nprint(getattr(samplers, input()).build(input()))\n"}, {"cached"}),
        ({"eval.py": "print(build('Sampler'))\n"}, {"cached"}),  # the name stands somewhere
        ({"run.yaml": "registry: SAMPLERS\n"}, {"cached"}),
        ({"lib/samplers.py": SAMPLERS.replace("lib.registry", "fvcore.registry")}, {"cached"}),
        ({"lib/parts.py": WITH_REGISTRY["lib/parts.py"].replace("lib.samplers", "timm.samplers")}, {"cached"}),
        ({"lib/samplers.py": SAMPLERS.replace("('SAMPLERS')", "('SAMPLERS', parent=build(1))")}, {"cached"}),
        ({"lib/registry.py": REGISTRY.replace("class Registry", "class Registry(Listed)")}, {"cached"}),
        ({"lib/registry.py": REGISTRY.replace("self.name, ", "ALL[name], self.name, ").replace("= name,", "= self, name,")}, {"cached"}),
    ],
)  # fmt: skip
def test_a_registry_that_nobody_asks(unused, more: dict[str, str], expected: set[str]) -> None:
    assert unused({**WITH_REGISTRY, **more}) == expected


def test_tests_are_found_by_their_names(tmp_path: Path, monkeypatch) -> None:
    case = MODULE.replace("class Sampler(torch.nn.Module)", "class SamplerTest(TestCase)")
    text = f"from unittest import TestCase\n{case}\n\nprint(live(3))\n"
    write(tmp_path, {"porter.toml": "", "tests/test_parts.py": text, "train.py": "import torch\n"})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    assert not [why for _, why in alone if "unused" in why]


KERNEL = """
#include <torch/extension.h>
__global__ void bend_kernel(float* x) { x[0] = 1; }
void bend(at::Tensor x) { bend_kernel<<<1, 1>>>(x.data_ptr<float>()); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("bend", &bend, "bends"); }
"""
BUILD = """from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

setup(name="bending", ext_modules=[CUDAExtension("bending", ["bend.cu"])])
"""
CALLS = """import bending
from torch.autograd import Function


class Bend(Function):
    @staticmethod
    def forward(ctx, x):
        if not x.is_cuda:
            raise NotImplementedError
        return bending.bend(x)


curve = Bend.apply


def twice(x):
    return bending.bend(bending.bend(x))


def straight(x):
    return x
"""


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("straight", set()),
        ("twice", {10, 17}),  # one of two places is used
        ("curve", {8, 10, 17}),
    ],
)
def test_a_kernel_that_nothing_ends_in(tmp_path: Path, monkeypatch, use: str, told: set[int]) -> None:
    """A setup.py that only builds the extension offers its Python files to nobody."""
    train = f"import torch\nfrom ops.calls import {use}\n\n{use}(x)\n"
    files = {"ops/bend.cu": KERNEL, "ops/setup.py": BUILD, "ops/calls.py": CALLS, "train.py": train}
    write(tmp_path, {"porter.toml": "", **files})

    def found() -> set[int]:
        """What the kernel's finding has among its places: its calls and their guards."""
        rows = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)["findings"]
        (kernel,) = [f for f in rows if f["code"] == "PRT850"]
        assert not [f for f in rows if f["code"] in ("PRT132", "PRT411")]
        places = kernel["values"].get("places", "").split(", ")
        return {int(place.rpartition(":")[2]) for place in places if place.startswith("ops/calls.py:")}

    assert found() == told
    write(tmp_path, {"ops/setup.py": BUILD.replace("ext_modules", "packages=['ops'], ext_modules")})
    assert found() == {8, 10, 17}, "others may install them"
    write(tmp_path, {"ops/setup.py": BUILD, "train.py": "import torch\n"})
    assert found() == {8, 10, 17}, "nobody knows for whom it is there"


IDLE = """import torch
from torch_cluster import grid_cluster


def thinned(points):
    torch.linalg.eigh(points)
    return grid_cluster(points, torch.ones(3, dtype=torch.float64, device="cuda"))
"""
BESIDE = "import torch\n\n\ndef live(x):\n    return x\n"
REGISTERED = IDLE.replace("def thinned", "@register('thin')\ndef thinned")
BESIDE_IT = {"util.py": BESIDE, "train.py": "from util import live\n\nif __name__ == '__main__':\n    live(3)\n"}
STARTED = "from lib.parts import live\n\nif __name__ == '__main__':\n    live(3)\n"


@pytest.mark.parametrize(
    ("files", "idle"),
    [
        ({}, True),
        ({"lib/settings.yaml": "pruned: 1\n", "README.md": "The cloud is thin.\n"}, True),
        ({"eval.py": "from lib.thin import thinned\n\nthinned(2)\n"}, False),
        ({"eval.py": "def later():\n    from lib import thin\n\n    thin.thinned(2)\n\n\nlater()\n"}, False),
        ({"eval.py": "load('lib.thin:thinned')\n"}, False),
        ({"eval.py": "from clouds.thin import f\n\nf(2)\n"}, True),  # of another package
        ({"eval.py": "from clouds.thin import f\n\nf(2)\n", "clouds/a.txt": ""}, True),
        ({"eval.py": "from more.thin import f\n\nf(2)\n", "clouds/more/a.py": ""}, False),  # may be on the path
        ({"eval.py": "from clouds.thin import f\n\nf(2)\n", "setup.py": "package_dir = {'clouds': 'lib'}\n"}, False),
        ({"README.md": "Run `python -i lib/thin.py`.\n"}, False),
        ({"run.yaml": "part: thin\n"}, False),
        (
            {
                "run.yaml": "part: cloud\n",
                "lib/cloud.py": "from lib.thin import thinned\n\n\ndef f():\n    thinned(2)\n",
            },
            False,
        ),
        ({"lib/cloud.py": "from lib.thin import thinned\n\n\ndef f():\n    thinned(2)\n"}, True),  # nor who imports it
        ({"make.py": "entries = ['thin = lib.thin:thinned']\n"}, False),
        ({"lib/load.py": "import importlib\n\nimportlib.import_module(name)\n"}, False),
        ({"lib/load.py": "import importlib\n\nimportlib.import_module(f'lib.{name}')\n"}, False),
        (
            {
                "lib/load.py": "import importlib\n\nfor name in listed('lib'):\n    if name.endswith('_arch.py'):\n"
                "        importlib.import_module(f'lib.{name[:-3]}')\n"
            },
            True,
        ),
        (
            {
                "arch/load.py": "import importlib\n\nimportlib.import_module(f'arch.{name}')\n",
                "arch/cloud.py": "from lib.thin import thinned\n\n\ndef f():\n    thinned(2)\n",
            },
            False,
        ),  # whoever is loaded by name runs what it imports
        ({"lib/setup.py": "extension(name='thin_ext', module='lib.thin', sources=['thin.cpp'])\n"}, True),
        ({"lib/__init__.py": "", "lib/thin.py": f"from lib.parts import register\n{REGISTERED}"}, True),
        ({"lib/__init__.py": "", "lib/thin.py": f"from fairseq.tasks import register\n{REGISTERED}"}, False),
        ({"lib/thin.py": f'SOURCES = ["thin.cpp", "src/thin.cu"]\n{IDLE}'}, True),
        ({"lib/setup.py": "entries = ['thin = lib.thin:thinned']\n"}, False),
        ({"lib/thin.py": IDLE + "\n\nprint(thinned(2))\n"}, False),
        ({"lib/thin.py": f"try:\n    import clouds\nexcept ImportError:\n    pass\n{IDLE}"}, True),
        (
            {
                "lib/thin.py": f"try:\n    import clouds\nexcept ImportError:\n    clouds = None\nelse:\n    clouds.f()\n{IDLE}"
            },
            False,
        ),
        ({"lib/thin.py": IDLE.replace("def thinned", "@register\ndef thinned")}, False),
        ({"train.py": "from lib.parts import live\n"}, False),  # no program: all of it may be for others
        ({"train.py": "from other.parts import live\n\nif __name__ == '__main__':\n    live(3)\n"}, True),
        ({"train.py": "import torch\n\nif __name__ == '__main__':\n    print(torch)\n"}, False),
        (
            {"train.py": "# from lib.thin import thinned\nif __name__ == '__main__':\n    print(1)\n"},
            True,
        ),  # once it was used
        ({**BESIDE_IT, "lib/__init__.py": ""}, True),  # a package beside what the program imports
        (BESIDE_IT, False),
        ({"train.py": "# import thin\nif __name__ == '__main__':\n    print(1)\n"}, False),
        ({"lib/more.py": "from .thin import *\n\n\ndef f():\n    thinned(2)\n"}, True),  # nor what takes all of it
        ({"setup.py": SETUP + "classifiers = []\n"}, False),
    ],
)
def test_a_file_that_nothing_runs(tmp_path: Path, monkeypatch, files: dict[str, str], idle: bool) -> None:
    """Its packages stand in nobody's way, and its operators cost no run anything."""
    write(tmp_path, {"porter.toml": "", "lib/thin.py": IDLE, "lib/parts.py": BESIDE, "train.py": STARTED, **files})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    for place in (("PRT401", "lib/thin.py"), ("PRT307", "lib/thin.py")):
        assert (place in told) is not idle
        assert (place in [known for known, why in alone if why.get("unused") == "lib/thin.py"]) is idle


APPLE = """import torch


def handed_over(x):
    import mlx.core as mx

    return mx.array(torch.zeros(3, dtype=torch.float64, device="cuda"))


def kept(x):
    return torch.zeros(x, dtype=torch.float64, device="cuda")
"""


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (APPLE, {7}),
        ("import mlx.nn\n" + APPLE, {8, 12}),
        (f"try:\n    import mlx.nn\nexcept ImportError:\n    mlx = None\n{APPLE}", {11}),
        (APPLE.replace("import mlx.core", "import mxnet.core"), set()),
    ],
)
def test_code_for_apples_machines(tmp_path: Path, monkeypatch, text: str, notes: set[int]) -> None:
    program = "from lib.arrays import handed_over, kept\n\nhanded_over(kept(3))\n"
    write(tmp_path, {"porter.toml": "", "lib/arrays.py": text, "train.py": program})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    told = [f for f in found["findings"] if f["code"] == "PRT307" and f["path"] == "lib/arrays.py"]
    alone = [row for row in found["left_alone"] if row["code"] == "PRT307" and "apple" in row["values"]]
    assert {row["places"][0] for row in alone} == {f"lib/arrays.py:{line}" for line in notes}
    assert len(told) == 2 - len(notes)


SHOWN = """import torch


class Table(torch.nn.Module):
    def forward(self, x):
        return x


if __name__ == "__main__":
    print(Table()(torch.ones(3, dtype=torch.float64, device="cuda")))
"""


@pytest.mark.parametrize(
    ("train", "demo"),
    [("from lib.table import Table\n\nprint(Table())\n", True), ("import torch\n\nprint(torch)\n", False)],
)
def test_a_demonstration_below_a_module(tmp_path: Path, monkeypatch, train: str, demo: bool) -> None:
    """Where nobody imports it, it is the program."""
    write(tmp_path, {"porter.toml": "", "lib/table.py": SHOWN, "train.py": train})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT307", "lib/table.py") in told) is not demo
    assert ((("PRT307", "lib/table.py"), "lib/table.py") in [(place, why.get("demo")) for place, why in alone]) is demo


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, False),
        ({"train.py": "from lib.sets import Kept, Longer\nfrom torch.utils.data import DataLoader\n\nx = DataLoader(Kept())\n"}, True),
        ({"train.py": "from lib.sets import Longer\nimport lib.other\n\nx = lib.other.Loader(Longer())\n"}, True),
        ({"tests/test_sets.py": "from lib.sets import Kept\nfrom torch.utils.data import DataLoader\n\nDataLoader(Kept())\n"}, False),
        ({"lib/sets.py": "%s"}, False),
        ({"lib/sets.py": "%s", "a.py": "from importlib.machinery import SourceFileLoader\n# our dataloader for mapping\n"}, False),
        ({"lib/sets.py": "%s", "a.py": "for batch in dataloader:\n    print(batch)\n"}, True),
        ({"lib/sets.py": "%s", "lib/other.py": "from torch.utils.data import DataLoader\n"}, True),
    ],
)  # fmt: skip
def test_a_data_set_that_no_loader_gets(tmp_path: Path, monkeypatch, more: dict[str, str], told: bool) -> None:
    sets = """from torch.utils.data import Dataset


class Kept(Dataset):
    def __getitem__(self, at):
        return self.x[at].to(device=self.device)

    def sample(self):
        return self[self.drawn()]


class Longer(Kept):
    pass
"""
    files = {
        "porter.toml": "",
        "lib/sets.py": sets,
        "train.py": "from lib.sets import Kept\n\nprint(Kept().sample())\n",
    }
    without = sets.replace("def sample(", "def shown(")  # nobody says how else its items are taken
    write(tmp_path, {**files, **{path: text.replace("%s", without) for path, text in more.items()}})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    assert ("PRT636" in {f["code"] for f in found["findings"]}) == told
    assert [row["values"]["unloaded"] for row in found["left_alone"] if row["code"] == "PRT636"] == ["Kept"] * (
        not told
    )


LOADERS = """import torch
import torchvision
from torch.utils.data import DataLoader


def forever(loader):
    while True:
        yield from loader


def several(rows):
    train_loader = DataLoader(rows, 4, shuffle=True)
    other_loader = DataLoader(rows, 4)
    return train_loader, other_loader


def train(net, rows):
    for x in rows:
        net(x.cuda()).backward()
"""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", False),
        ("\nrows = lib.loaders.several([1])\n", True),
        ("\n\ndef one(rows):\n    return DataLoader(rows, 4)\n", False),
        ("\n\ndef one(rows):\n    return DataLoader(rows, 4, shuffle=True)\n", True),
    ],
)
def test_loaders_that_nobody_makes(tmp_path: Path, monkeypatch, more: str, told: bool) -> None:
    """One of them speaks for all of the file, so that none may be in use."""
    train = "import lib.loaders\n\nlib.loaders.train(net, lib.loaders.forever(rows))\n"
    inside = more if "def one" in more else ""
    train += more if not inside else "lib.loaders.one([1])\n"
    write(tmp_path, {"porter.toml": "", "lib/loaders.py": LOADERS + inside, "train.py": train})
    found, _ = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT633", "lib/loaders.py") in found) is told


ADAM = """import torch


def optimizer(name, params):
    if name == "sparse_adam":
        return torch.optim.SparseAdam(params)
    return torch.optim.Adam(params)


optimizer(input(), torch.nn.Linear(2, 2).cuda().parameters())
"""


@pytest.mark.parametrize(
    ("more", "works"),
    [
        ({}, False),
        ({"model.py": "import torch\n\nlayer = torch.nn.Embedding(9, 3, sparse=False)\nw_sparse = 1\n"}, False),
        ({"model.py": "sparse = False\n\n\ndef layer(n, sparse: bool = False):\n    pass\n"}, False),
        ({"model.py": "import torch\n\nlayer = torch.nn.Embedding(9, 3, sparse=True)\n"}, True),
        ({"config.yaml": "embedding:\n  sparse: true\n"}, True),
    ],
)
def test_sparse_adam_where_no_gradient_is_sparse(
    tmp_path: Path, monkeypatch, more: dict[str, str], works: bool
) -> None:
    """It raises for all other gradients, on GPUs as well."""
    write(tmp_path, {"porter.toml": "", "train.py": ADAM, **more})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT706", "train.py") in told) is works
    assert [why.get("never") for place, why in alone if place == ("PRT706", "train.py")] == (
        [] if works else ["sparse=True"]
    )


PINNED = """import torch
from torch.utils.data import DataLoader

from steps import step

for rows in DataLoader(list(range(9)), shuffle=True, num_workers=4):
    step(torch.nn.Linear(1, 1).cuda(), rows).backward()
"""


@pytest.mark.parametrize(
    ("copies", "works"), [("x.to(device)", False), ("x.to(device, non_blocking=True)", True), ("prepare(x)", False)]
)
def test_pinned_memory_where_every_copy_waits(tmp_path: Path, monkeypatch, copies: str, works: bool) -> None:
    """What copies the batches may stand in another file."""
    steps = f"def step(model, x, device='cuda'):\n    return model({copies}).sum()\n"
    write(tmp_path, {"porter.toml": "", "train.py": PINNED.replace(".cuda()", ""), "steps.py": steps})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT633", "train.py") in told) is works
    assert [why.get("off") for place, why in alone if place == ("PRT633", "train.py")] == (
        [] if works else ["non_blocking=True"]
    )


@pytest.mark.parametrize(
    ("path", "stays"), [("scripts/setup_colab.sh", True), ("colab.sh", True), ("scripts/setup_collab.sh", False)]
)
def test_scripts_for_google_colab(tmp_path: Path, monkeypatch, path: str, stays: bool) -> None:
    """No machine there has an NPU."""
    write(tmp_path, {"porter.toml": "", path: "pip install tensorflow-gpu==1.12\n"})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT843", path) in told) is not stays
    assert (("PRT843", path) in [place for place, _ in alone]) is stays


@pytest.mark.parametrize(
    ("path", "stays"),
    [("dev/packaging/build_wheel.sh", True), ("packaging/pkg_helpers.bash", True), ("scripts/wheel.sh", False)],
)
def test_scripts_that_build_wheels_for_gpus(tmp_path: Path, monkeypatch, path: str, stays: bool) -> None:
    """A release for GPUs is built on machines with GPUs."""
    write(tmp_path, {"porter.toml": "", "train.py": TRAIN, path: "export CUDA_HOME=/usr/local/cuda\npython train.py\n"})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT803", path) in told) is not stays
    assert (("PRT803", path) in [place for place, _ in alone]) is stays


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ("    torch.cuda.set_device(local)\n", False),
        ("    print(local)\n    torch.cuda.set_device(local)\n", False),
        ("    print(local)\n", True),
        # the process has its device by then
        ("    torch.cuda.set_device(local)\n    lib.groups.setup(\n        rank, 3)\n    print(local)\n", False),
    ],
)
def test_a_group_whose_callers_choose_the_device(tmp_path: Path, monkeypatch, after: str, told: bool) -> None:
    makes = "import torch.distributed as dist\n\n\ndef setup(rank, size, backend='nccl'):\n    dist.init_process_group(backend, rank=rank, world_size=size)\n"
    train = f"import torch\nimport lib.groups\n\n\ndef main(local, rank):\n    lib.groups.setup(rank, max(2, 1))\n{after}    torch.nn.Linear(2, 2).cuda()\n\n\nmain(0, 0)\n"
    write(tmp_path, {"porter.toml": "", "lib/groups.py": makes, "train.py": train})
    found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
    assert ("PRT204" in {f["code"] for f in found["findings"]}) == told
    aside = [row["values"]["chosen"] for row in found["left_alone"] if row["code"] == "PRT204"]
    assert aside == ["train.py"] * (not told)


@pytest.mark.parametrize(
    ("path", "stays"),
    [("docker/install_apex.sh", True), ("dev/packaging/apex_conda/build.sh", True), ("docker/install_all.sh", False)],
)
def test_scripts_that_build_apex(tmp_path: Path, monkeypatch, path: str, stays: bool) -> None:
    """A port has none."""
    write(tmp_path, {"porter.toml": "", path: "nvcc -c a.cu -o a.o\npython setup.py install --cuda_ext\n"})
    told, alone = both(Porter(monkeypatch, tmp_path), ".")
    assert (("PRT820", path) in told) is not stays
    assert (("PRT820", path) in [place for place, _ in alone]) is stays


@pytest.mark.parametrize(
    ("setup", "path", "is_installed"),
    [
        (FINDING, "lib/parts.py", True),
        (FINDING, "run/lib/parts.py", False),
        (FINDING.replace("find_packages()", "find_packages('run')"), "run/lib/parts.py", True),
        (FINDING.replace("find_packages()", "['run.lib']"), "run/lib/parts.py", True),
    ],
)
@pytest.mark.parametrize("more", [(), ("__init__.py",)])
def test_packages_that_are_found_have_packages_above_them(
    setup: str, path: str, is_installed: bool, more: tuple[str, ...]
) -> None:
    texts = {"setup.py": setup, path: MODULE, path.replace("parts", "__init__"): "", **dict.fromkeys(more, "")}
    uses = Uses(lambda: sorted(texts), lambda name: texts[name].encode())
    assert uses.is_installed(path) is is_installed
