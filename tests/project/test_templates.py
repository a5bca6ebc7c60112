"""Templates of programs are no Python: they are listed, and keep no edit of another file waiting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session

TEMPLATE = "{% if cookiecutter.torch %}\nimport torch\n{% endif %}\nfrom helpers import torch_device\n\nassert torch_device == 'cuda'\n"
HELPERS = 'import torch\n\ntorch_device = "cuda" if torch.cuda.is_available() else "cpu"\n'


@pytest.mark.parametrize("folder, listed", [("templates/{{cookiecutter.name}}", True), ("templates/name", False)])
def test_a_template_keeps_nothing_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, listed: bool
) -> None:
    porter = Porter(monkeypatch, tmp_path)
    write(tmp_path, {"porter.toml": "", f"{folder}/test_model.py": TEMPLATE, "helpers.py": HELPERS})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    statuses = {f["code"]: f["status"] for f in found["findings"] if f["path"] == "helpers.py"}
    assert statuses == dict.fromkeys(("PRT101", "PRT120"), "auto" if listed else "manual")
    told = [f["code"] for f in found["findings"] if f["path"] != "helpers.py"]
    assert told == ([] if listed else ["PRT002"])
    assert ("test_model.py" in json.dumps(found["left_alone"])) is listed


READER = """import torch
import yaml

from model import build

cfg = argparse_like(yaml.safe_load(open("a.yaml")))
if cfg.device == "cuda":
    print(build(device=torch.device(cfg.device)))
"""
MODEL = "import torch\n\n\ndef build(device):\n    return torch.nn.Linear(2, 2).to(device)\n"
GIVES = 'import torch\nfrom model import build\n\ndevice = "cuda"\nbuild(device=device)\nprint [.x]\n'
READS = 'import torch\nfrom model import build\n\ndevice = "cuda"\nif cfg.device == device: build(device)\nprint [.x]\n'


@pytest.mark.parametrize(
    "name, text, waits",
    [
        ("b.yaml", "run:\n    device: cuda\n  seed: 1\n", False),
        ("b.yaml", "run:\n    device: {{ device }}cuda\n  seed: 1\n", True),
        ("broken.py", GIVES, False),
        ("broken.py", READS, True),
    ],
)
def test_what_nothing_loads_keeps_nothing_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, waits: bool
) -> None:
    porter = Porter(monkeypatch, tmp_path)
    files = {"porter.toml": "", "a.yaml": "device: cuda\n", "main.py": READER, "model.py": MODEL, name: text}
    write(tmp_path, files)
    found = json.loads(porter("analyze", ".", "--format", "json").text)["findings"]
    statuses = {(f["path"], f["code"]): f["status"] for f in found if f["path"] in ("a.yaml", "main.py")}
    assert statuses["a.yaml", "PRT830"] == ("manual" if waits else "auto")
    (setting,) = (f["values"] for f in found if (f["path"], f["code"]) == ("a.yaml", "PRT830"))
    if waits:  # one decision, which the setting speaks of
        assert "main.py:" in setting["places"]
    else:
        assert statuses["main.py", "PRT122"] == "auto"
    assert [f["path"] for f in found if f["code"] == "PRT002"] == [name]


def test_copies_of_a_broken_setting_are_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    porter = Porter(monkeypatch, tmp_path)
    broken = {f"c{number}.yaml": "run:\n    device: cuda\n  seed: 1\n" for number in range(7)}
    write(tmp_path, {"porter.toml": "", "main.py": READER, "model.py": MODEL, **broken})
    found = json.loads(porter("analyze", ".", "--format", "json").text)["findings"]
    assert [f["path"] for f in found if f["code"] == "PRT002"] == ["c0.yaml"]


@pytest.mark.parametrize(
    ("head", "key"),
    [
        ("class {PROJECT}Dataset(torch.utils.data.Dataset):", "template"),
        ("from {PROJECT}.data import Dataset", "template"),
        ("class Dataset(", "syntax"),
        ('TEXT = """\nclass {name}:\n"""\nprint "made"', "python2"),
    ],
)
def test_names_that_are_filled_in_later(head: str, key: str) -> None:
    code = f"import torch\n\n\n{head}\n    device = 'cuda'\n"
    assert [f.why for f in analyse("new.py", code.encode(), open_session()).findings] == [key]
