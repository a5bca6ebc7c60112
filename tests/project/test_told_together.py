"""What is said of several files for one cause is one finding, which names the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Porter, write

pytestmark = pytest.mark.slow  # each runs the command on a project

WRAPS = "import torch\n\nmodel = torch.nn.DataParallel(torch.nn.Linear(1, 1).cuda())\nprint(model)\n"
WRAPPED = "import torch\nfrom torch.nn.parallel import DataParallel\n\n\ndef test_wrapped():\n    DataParallel(torch.nn.Linear(1, 1).cuda())\n"
COPIED = "from sync_batchnorm import DataParallelWithCallback\n\n\ndef test_sync(net):\n    DataParallelWithCallback(net.cuda())\n"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def look(files: dict[str, str], *codes: str) -> list[dict[str, Any]]:
        codes = codes or ("PRT205",)
        write(tmp_path, {"porter.toml": "", **files})
        text = Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text
        return [f for f in json.loads(text)["findings"] if f["code"] in codes]

    return look


def test_a_test_goes_with_the_program_that_does_the_same(found) -> None:
    (told,) = found({"train.py": WRAPS, "tests/test_model.py": WRAPPED})
    assert (told["path"], told["severity"]) == ("train.py", "blocker")
    assert told["values"]["places"] == "tests/test_model.py:6"


def test_a_test_is_told_by_itself_where_no_program_does_the_same(found) -> None:
    (told,) = found({"train.py": "import torch\n", "tests/test_model.py": WRAPPED})
    assert (told["path"], told["severity"]) == ("tests/test_model.py", "note")


def test_a_test_of_a_copied_package_is_none_of_the_port(found) -> None:
    assert not found({"tests/test_sync.py": COPIED, "train.py": "import torch\n"})
    assert [f["path"] for f in found({"train.py": COPIED.replace("def test_sync", "def wrapped")})] == ["train.py"]


ENCODER = """import onnxruntime as ort
import torch


class Encoder:
    def __init__(self, path, device="cuda"):
        self.device = device
        provider = {"cuda": 1, "gpu": 2}[device]
        self.session = ort.InferenceSession(path, providers=provider)

    def run(self, x):
        if self.device == "cuda":
            x = torch.tensor(x).cuda()
        return torch.tensor(self.session.run(None, {"x": x})[0], device=self.device)
"""


def test_the_places_of_a_value_that_wait_for_one_place_are_told_once(found) -> None:
    """Whoever decides what becomes of the table changes the default and the comparison with it."""
    codes = ("PRT120", "PRT122")
    told = found({"encoder.py": ENCODER, "train.py": "from encoder import Encoder\nprint(Encoder(1).run(2))\n"}, *codes)
    assert [(f["line"], f["severity"], f["values"]["also"]) for f in told] == [(6, "blocker", "12")]


def test_a_name_that_transformers_lost_is_told_once(found) -> None:
    files = {
        "tune.py": "from transformers import AdamW, AutoModel\n\nmodel = AutoModel.from_pretrained('a')\nprint(AdamW(model.parameters()))\n",
        "eval.py": "from transformers import (AutoModel, AdamW)\n\nmodel = AutoModel.from_pretrained('b')\nprint(AdamW(model.parameters()))\n",
    }
    (told,) = found(files, "PRT717")
    assert (told["path"], told["values"]["places"]) == ("eval.py", "tune.py:1")


def test_settings_that_no_style_writes_are_one_finding_of_their_folder(found) -> None:
    """The style portable leaves them to a person, who changes them all or none."""
    settings = "dist_params:\n  backend: nccl\n  port: 29500\n"
    (told,) = found(
        {
            "train.py": "import torch\n\ntorch.distributed.init_process_group(backend='nccl')\n",
            "porter.toml": 'style = "portable"\n',
            "options/large.yml": "depth: 8\n" + settings,
            "options/small.yml": settings,
        },
        "PRT830",
    )
    assert (told["path"], told["values"]["places"]) == ("options/large.yml", "options/small.yml:2")
