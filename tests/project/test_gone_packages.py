"""Of files that need a package which torch no longer brings, the import alone is told, and not even that where it is tried first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

API = """import torch
from caffe2.python import core


def exported(net, impl="cuda"):
    words = {"cuda": core}
    return words[impl].Net(net, device="cuda")
"""
TRIED = """try:
    from caffe2.python import core
except ImportError:
    pass
else:
    from .api import exported
"""
TEST = """import unittest

import torch

from geo.api import exported


class TestNet(unittest.TestCase):
    @unittest.skipIf(not torch.cuda.is_available(), "no GPU")
    def test_net(self):
        exported(torch.ones(2).cuda())
"""
TRAIN = "import torch\n\nfrom geo import {name}\n\nprint(torch.ones(2).cuda(), {name})\n"
INSIDE = """import torch


def exported(net):
    from caffe2.python import core

    return core.Net(net)


def flags(net):
    if str(net.value).startswith("cuda"):
        return torch.nn.DataParallel(net)
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def look(files: dict[str, str]) -> set[tuple[str, str]]:
        write(tmp_path, {"porter.toml": "", "train.py": TRAIN.format(name="api"), **files})
        found = json.loads(Porter(monkeypatch, tmp_path)("analyze", ".", "--format", "json").text)
        return {(f["code"], f["path"]) for f in found["findings"] if f["path"] != "train.py"}

    return look


def test_the_import_alone_is_told(told) -> None:
    assert told({"geo/__init__.py": "", "geo/api.py": API}) == {("PRT401", "geo/api.py")}


def test_a_folder_that_tries_the_package_first_is_told_nothing(told) -> None:
    assert told({"geo/__init__.py": TRIED, "geo/api.py": API, "tests/test_geo.py": TEST}) == set()


def test_an_import_in_a_function_stops_that_alone(told) -> None:
    found = told(
        {"geo/__init__.py": "", "geo/api.py": INSIDE, "eval.py": "from geo.api import *\n\nexported(flags(3))\n"}
    )
    assert ("PRT401", "geo/api.py") in found
    assert len(found) > 1
