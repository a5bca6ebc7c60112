"""What a portable port says of advice: no device is written out, and what is for NPUs alone stands behind a question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter

pytestmark = pytest.mark.slow  # each runs the command on a project

CODE = """import torch
from apex import amp


def train(net, loader):
    optimizer = torch.optim.SGD(net.cuda().parameters(), lr=0.1)
    net, optimizer = amp.initialize(net, optimizer)
    for row in loader:
        optimizer.zero_grad()
        net(row.cuda()).sum().backward()
        optimizer.step()
"""


@pytest.fixture
def porter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Porter:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(CODE)
    return Porter(monkeypatch, tmp_path / "work")


@pytest.mark.parametrize(("lang", "alone"), [("en", "for NPUs alone"), ("zh", "只用于 NPU")])
def test_advice_of_a_portable_port_fits_every_device(porter: Porter, lang: str, alone: str) -> None:
    said = {}
    for style in ("rename", "portable"):
        answer = porter("analyze", ".", "--style", style, "--format", "json", "--no-cache", "--lang", lang)
        found = json.loads(answer.text)["findings"]
        said[style] = {f["code"]: (f["message"], f["details"]) for f in found if f["status"] != "auto"}
    usual, portable = said["rename"], said["portable"]
    assert 'GradScaler("npu")' in usual["PRT350"][0] and alone not in usual["PRT610"][1]
    assert '("npu"' not in "".join(portable["PRT350"]) and "GradScaler(accelerator_type)" in portable["PRT350"][0]
    assert alone in portable["PRT610"][1] and alone not in "".join(portable["PRT350"] + portable["PRT355"])


@pytest.mark.slow
def test_a_report_in_another_language_says_the_same(porter: Porter, tmp_path: Path) -> None:
    answers = [
        json.loads(porter("analyze", ".", "--style", "portable", "--format", "json", "--no-cache", "--lang", lang).text)
        for lang in ("en", "zh")
    ]
    (tmp_path / "en.json").write_text(json.dumps(answers[0]))
    again = porter("report", str(tmp_path / "en.json"), "--format", "json", "--lang", "zh")
    findings = json.loads(again.text)["findings"]
    assert [f["details"] for f in findings] == [f["details"] for f in answers[1]["findings"]]


@pytest.mark.parametrize("command", ["report", "diff"])
def test_a_report_that_lacks_what_the_other_language_asks_is_said_to_be_damaged(
    porter: Porter, tmp_path: Path, command: str
) -> None:
    whole = json.loads(porter("analyze", ".", "--style", "portable", "--format", "json", "--no-cache").text)
    paths = [tmp_path / "whole.json", tmp_path / "damaged.json"]
    paths[0].write_text(json.dumps(whole))
    paths[1].write_text(json.dumps({**whole, "target": {}}))
    files = map(str, paths if command == "diff" else paths[1:])
    answer = porter(command, *files, "--lang", "zh")
    assert answer.code == 2 and "damaged.json" in answer.err and "损坏" in answer.err
