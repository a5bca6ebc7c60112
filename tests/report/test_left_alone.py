"""What nobody has to act on is in the inventory, in both languages, and in no list of findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

TRAIN = 'import torch\n\nprint(torch.ones(3, device="cuda"))\n'
RUN = "export NCCL_P2P_DISABLE=1\nexport NCCL_DEBUG=INFO\npython train.py\n"


@pytest.fixture
def porter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Porter:
    write(tmp_path, {"porter.toml": "", "train.py": TRAIN, "run.sh": RUN, "more/run.sh": RUN})
    return Porter(monkeypatch, tmp_path)


def test_a_variable_that_does_no_harm(porter: Porter) -> None:
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    [row] = [row for row in found["left_alone"] if row["code"] == "PRT803"]
    assert row["places"] == ["more/run.sh:1", "run.sh:1"], "one row for a program"
    assert row["values"]["old"] == "NCCL_P2P_DISABLE" and row["message"].keys() == {"en", "zh"}
    assert {f["values"]["old"] for f in found["findings"] if f["code"] == "PRT803"} == {"NCCL_DEBUG"}


@pytest.mark.slow
def test_the_page_has_it_folded(porter: Porter) -> None:
    page = porter("analyze", ".", "--format", "html").text
    listed = page.partition('id="inventory"')[2].partition("</section>")[0]
    assert "<details>" in listed and "NCCL_P2P_DISABLE" in listed and "and 1 more" in listed


def test_it_fails_no_run_and_a_comment_suppresses_it_all_the_same(porter: Porter) -> None:
    write(porter.folder, {"run.sh": "export NCCL_P2P_DISABLE=1\n", "more/run.sh": "", "train.py": "import torch\n"})
    assert porter("analyze", ".", "--fail-on", "note").code == 0
    write(porter.folder, {"run.sh": "export NCCL_P2P_DISABLE=1  # porter: ignore[PRT803] ours\n"})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    assert not found["left_alone"] and [f["suppressed"] for f in found["findings"]] == ["ours"]


@pytest.mark.parametrize("path", [".github/workflows/build.sh", ".gitlab/build.sh"])
def test_services_that_build_for_gpus(porter: Porter, path: str) -> None:
    write(porter.folder, {path: "export CUDA_HOME=/usr/local/cuda\n"})
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    assert [f"{path}:1"] in [row["places"] for row in found["left_alone"]]


def test_waits_with_one_cure_are_one_finding(porter: Porter) -> None:
    waits = """import torch


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x.cuda(), y.cuda())
        loss.backward()
        optimizer.step()
        print(loss.item())
        if loss > 3:
            break
        scale = float(loss.detach())
        print(scale)


def again(model, loader, optimizer):
    for x, y in loader:
        loss = model(x.cuda(), y.cuda())
        loss.backward()
        optimizer.step()
        print(loss.item())


train(torch.nn.Linear(3, 3), [], None)
again(torch.nn.Linear(3, 3), [], None)
"""
    write(porter.folder, {"train.py": waits})
    found = [
        f for f in json.loads(porter("analyze", ".", "--format", "json").text)["findings"] if f["code"] == "PRT630"
    ]
    assert {(f["line"], f["values"].get("also", "")) for f in found} == {(9, "12, 21"), (10, "")}


def test_the_file_with_most_waits_speaks_for_the_program(porter: Porter) -> None:
    loop = "import torch\n\n\ndef train(model, loader):\n    for x in loader:\n        loss = model(x.cuda())\n        loss.backward()\n"
    once, twice = (
        loop + "        print(loss.item())\n",
        loop + "        a = loss.item()\n        b = loss.tolist()\n        print(a, b)\n",
    )
    write(
        porter.folder,
        {"a.py": once, "b.py": twice, "other/c.py": once} | {"other/requirements.txt": "torch\n"},
    )
    found = [
        f for f in json.loads(porter("analyze", ".", "--format", "json").text)["findings"] if f["code"] == "PRT630"
    ]
    assert [(f["path"], f["line"], f["values"].get("also"), f["values"].get("places")) for f in found] == [
        ("b.py", 8, "9", "a.py:8"),
        ("other/c.py", 8, None, None),
    ]
