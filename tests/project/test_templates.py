"""Templates of programs are no Python: they are listed, and keep no edit of another file waiting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

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
