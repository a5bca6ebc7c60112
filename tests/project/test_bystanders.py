"""A package is told where it needs a device; who takes names alone from it is counted there, and nobody is left out."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.python.host_uses import only_on_host
from porter.rulebook.table import load

pytestmark = pytest.mark.slow  # each runs the command on a project

CALLS = "from fairseq.modules import LayerNorm\nimport torch\n\nnorm = LayerNorm(torch.Size([2]))\n"
NAMES = "from fairseq.criterions import register_criterion\n\n\n@register_criterion('x')\nclass X:\n    pass\n"
BASE = "from fairseq.data import FairseqDataset\n\n\nclass Data(FairseqDataset):\n    pass\n"
PROJECT = {"porter.toml": "", "b.py": CALLS, "a.py": NAMES, "c.py": BASE}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """path -> what is counted there, of all places of PRT401, be it a finding or what may stay."""

    def look(files: dict[str, str], *paths: str, stdin: str = "") -> dict[str, str]:
        write(tmp_path, files)
        how = ("-", "--stdin-filename", *paths) if stdin else paths or (".",)
        text = Porter(monkeypatch, tmp_path)("analyze", *how, "--format", "json", stdin=stdin.encode())
        told = json.loads(text.text)
        found = [f for f in told["findings"] if f["code"] == "PRT401"]
        assert len({f["path"] for f in found}) == len(found)
        stays = [row for row in told["left_alone"] if row["code"] == "PRT401" and row["why"] in ("on-host", "harmless")]
        for f in found:
            assert ("bystanders" in f["values"]) is ("for names, base classes" in f["message"])
        places = {
            place.rpartition(":")[0]: "" for f in found for place in f["values"].get("places", "").split(", ") if place
        }
        places |= {f["path"]: f["values"].get("bystander_files", "") for f in found}
        alone = {
            place.rpartition(":")[0]: row["values"].get("bystander_files", "")
            for row in stays
            for place in row["places"]
        }
        assert not places.keys() & alone.keys()
        return places | alone

    return look


def test_the_file_that_calls_speaks_for_those_that_do_not(told) -> None:
    assert told(PROJECT) == {"b.py": "a.py, c.py"}
    assert told(PROJECT, "b.py") == {"b.py": "a.py, c.py"}, "a hook and a run over all agree"
    assert told(PROJECT, "a.py", "c.py") == {}


ALONE = {
    "nobody calls": ({"b.py": NAMES}, {"a.py": "b.py, c.py"}),
    "one file": ({"b.py": "", "c.py": ""}, {"a.py": ""}),
    "two files call": ({"d.py": CALLS}, {"b.py": "a.py, c.py", "d.py": ""}),
    "a test calls": ({"b.py": "", "test_b.py": CALLS, "d.py": CALLS}, {"d.py": "a.py, c.py", "test_b.py": ""}),
    "a test alone calls": ({"b.py": "", "test_b.py": CALLS}, {"test_b.py": "a.py, c.py"}),
    "a call that is suppressed": (
        {"b.py": CALLS.replace("rNorm\n", "rNorm  # porter: ignore[PRT401] ported\n", 1), "d.py": CALLS},
        {"b.py": "", "d.py": "a.py, c.py"},
    ),
    "what only checks types": (
        {
            "c.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from fairseq.data import FairseqDataset\n"
        },
        {"b.py": "a.py"},
    ),
    "a star": ({"a.py": "from fairseq.data import *\n"}, {"a.py": "c.py", "b.py": ""}),
    "a name handed on": (
        {"c.py": "", "lib/__init__.py": "from fairseq.data import Dictionary\n"},
        {"b.py": "a.py, lib/__init__.py"},
    ),
    "an unknown name handed on": (
        {"c.py": "", "lib/__init__.py": "from fairseq.trainer import Trainer\n"},
        {"b.py": "a.py", "lib/__init__.py": ""},
    ),
    "many": (
        {f"d{n}.py": BASE for n in range(3)},
        {"b.py": "a.py, c.py, d0.py (+2)"},
    ),
    "a program of its own": (
        {"part/setup.py": "#", "part/a.py": NAMES, "part/b.py": CALLS, "other/setup.py": "#", "other/a.py": NAMES},
        {"b.py": "a.py, c.py, other/a.py", "part/b.py": "part/a.py"},
    ),
    "its own copy": (
        {"b.py": "", "copy/fairseq/__init__.py": "", "copy/run.py": CALLS},
        {"a.py": "c.py"},
    ),
}


@pytest.mark.parametrize("case", ALONE)
def test_who_speaks(told, case: str) -> None:
    files, expected = ALONE[case]
    assert told({**PROJECT, **files}) == expected


USES = [
    ("from fairseq.trainer import Trainer\n\nTrainer()\n", False),
    ("from fairseq.trainer import Trainer\n\n\ndef f(t: Trainer) -> 'Trainer': ...\n", True),
    (
        "import fairseq\n\n\ndef f(t) -> fairseq.trainer.Trainer:\n    return isinstance(t, fairseq.trainer.Trainer)\n",
        True,
    ),
    ("import fairseq as f\n\nf.data.Dictionary()\n", True),
    ("import fairseq.data as d\n\nd.Dictionary()\n", True),
    ("import fairseq.data as d\n\nd.iterators.EpochBatchIterator()\n", False),
    ("from fairseq import tasks\n\n\n@tasks.register_task('x', dataclass=tasks.Any)\ndef f(): ...\n", False),
    ("from fairseq.optim.fused_lamb import FairseqLAMB\n\n\nclass A(FairseqLAMB): ...\n", False),
    ("from fairseq.data import iterators, Dictionary\n\nkinds = [Dictionary, iterators]\n", False),
]


@pytest.mark.parametrize(("text", "is_bystander"), USES)
def test_what_needs_no_device(text: str, is_bystander: bool) -> None:
    assert only_on_host(ast.parse(text), "fairseq", load().packages) is is_bystander


def test_what_is_piped_in_is_weighed_itself(told) -> None:
    assert told(PROJECT, "a.py", stdin=NAMES) == {}
    assert told(PROJECT, "a.py", stdin=CALLS) == {"a.py": ""}


MOVED = (
    "import torch\nfrom dgl.data import CoraGraphDataset\n\ngraph = CoraGraphDataset()[0].to(torch.device('cuda'))\n"
)
READ = "import torch\nfrom dgl.data import CoraGraphDataset\n\ngraph = CoraGraphDataset()[0]\n"
ASKED = "\n\ndef move(x):\n    return x.to('cuda') if isinstance(x, dgl.DGLGraph) else x\n"
SCATTERS = "import torch\nfrom torch_scatter import scatter\n\nx = scatter(torch.zeros(2), torch.zeros(2))\n"
UNUSED = "import torch\nfrom torch_scatter import scatter\n"
LISTS = {
    "what is moved to a device": ({"a.py": MOVED}, "dgl", True),
    "what is a graph where it is moved": ({"a.py": "import dgl\nimport torch\n" + ASKED}, "dgl", True),
    "what is read on the host": ({"a.py": READ}, "dgl", False),
    "what nobody imports": ({"a.py": "import torch\n"}, "torch-sparse", False),
    "what is called": ({"a.py": SCATTERS}, "torch-scatter", True),
    "what is imported and not used": ({"a.py": UNUSED}, "torch-scatter", False),
    "what another folder calls": ({"other/a.py": SCATTERS, "part/b.py": "import torch\n"}, "torch-scatter", False),
    "what calls from below": ({"part/src/a.py": SCATTERS}, "torch-scatter", True),
    "a folder without programs": ({"a.py": SCATTERS}, "torch-scatter", True),
    "a folder with a helper": ({"a.py": SCATTERS, "part/b.py": "import os\n"}, "torch-scatter", True),
    "a notebook": (
        {
            "a.ipynb": '{"cells": [{"cell_type": "code", "source": ["import torch_scatter"]}]}',
            "part/b.py": "import torch\n",
        },
        "torch-scatter",
        True,
    ),
    "what does not install": ({"a.py": "import torch\n"}, "spconv", True),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_list_is_told_where_a_program_needs_it_on_a_device(told, case: str) -> None:
    files, package, expected = LISTS[case]
    script, plain = f"pip install torch\npip install {package}\n", f"{package}\n"
    found = told({"porter.toml": "", **files, "part/install.sh": script, "part/requirements.txt": plain})
    assert ("part/install.sh" in found, "part/requirements.txt" in found) == (expected, expected)


def test_only_read_on_the_host_may_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, found, stays in ((READ, [], ["on-host"]), (MOVED, ["blocker"], [])):
        write(tmp_path, {"porter.toml": "", "a.py": text})
        told = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
        assert [f["severity"] for f in told["findings"] if f["code"] == "PRT401"] == found
        assert [row["why"] for row in told["left_alone"] if row["code"] == "PRT401"] == stays
