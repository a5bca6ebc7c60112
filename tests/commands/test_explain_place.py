"""`porter explain FILE:LINE`: what is found in one line, what it becomes, and why."""

from __future__ import annotations

import pytest
from command_line import Porter, write

pytestmark = pytest.mark.slow  # each runs the command on a project

TRAIN = """\
import os

import torch


def main(model):
    torch.cuda.synchronize()
    capability = torch.cuda.get_device_capability()
    if torch.cuda.is_available() and torch.cuda.is_bf16_supported():
        model = (
            model
            .cuda()
        )
    torch.cuda.empty_cache()  # porter: ignore[PRT101] measured on GPUs
    return model, capability
"""


@pytest.fixture
def porter(tmp_path, monkeypatch):
    files = {"train.py": TRAIN, "clean.py": "x = 1\n", "empty.py": "", "setup.py": "", "sub/x.py": TRAIN}
    return Porter(monkeypatch, write(tmp_path / "r", files))


def test_the_finding_its_edit_and_the_rule(porter):
    got = porter("explain", "train.py:7")
    assert got.code == 0 and got.err == ""
    head = """\
train.py:7:5: PRT101 blocker auto
  use `torch.npu.synchronize`: `torch.cuda.synchronize` does not reach the NPU
 7 -     torch.cuda.synchronize()
         ^^^^^^^^^^^^^^^^^^^^^^
   +     torch.npu.synchronize()
  at run time: """
    assert got.text.startswith(head)
    rule = porter("explain", "PRT101").text
    prose = rule.partition("\n\n")[2].partition("\n\n")[0]
    assert "\n\nPRT101 cuda-namespace: " in got.text and prose in got.text and "porter: ignore[PRT101]" in got.text


def test_what_to_do_by_hand(porter):
    text = porter("explain", "train.py:8").text
    assert text.startswith("train.py:8:18: PRT110 blocker manual\n") and "\n 8 |     capability = torch" in text
    by_hand = porter("explain", "PRT110").text.partition("\nBy hand\n")[2].partition("\n\nFindings")[0]
    assert by_hand and by_hand in text and "porter explain" not in text
    assert "\nBy hand\n" not in porter("explain", "train.py:7").text


def test_several_findings_of_a_rule_have_its_explanation_once(porter):
    text = porter("explain", "train.py:9").text
    assert [line for line in text.splitlines() if line.startswith("train.py:")] == [
        "train.py:9:8: PRT101 wrong auto",
        "train.py:9:38: PRT101 wrong auto",
    ]
    assert text.count("PRT101 cuda-namespace") == 1 and text.count("porter: ignore[PRT101]") == 1


def test_a_column_chooses_and_one_that_is_in_none_does_not(porter):
    second = porter("explain", "train.py:9:40").text
    assert second.startswith("train.py:9:38: ") and "train.py:9:8: " not in second
    assert porter("explain", "train.py:9:1").out == porter("explain", "train.py:9").out
    assert porter("explain", "train.py:9:40:").text == second, "as -q prints it"


def test_every_line_of_a_statement_counts(porter):
    assert porter("explain", "train.py:12").out == porter("explain", "train.py:11").out
    assert porter("explain", "train.py:11").text.startswith("train.py:11:13: PRT130 ")


def test_what_is_suppressed_or_in_the_baseline_is_told_with_the_reason(porter):
    assert "\n  suppressed in the source: measured on GPUs\n" in porter("explain", "train.py:14").text
    porter("analyze", ".", "--write-baseline", "known.json")
    write(porter.folder, {"porter.toml": 'baseline = "known.json"\n'})
    assert "\n  known from the baseline\n" in porter("explain", "train.py:7").text


def test_a_line_without_a_finding_names_the_nearest(porter):
    for place, said in (
        ("train.py:1", "train.py:1: no finding here; the nearest is in line 7\n"),
        ("train.py:15:3", "train.py:15: no finding here; the nearest is in line 14\n"),
        ("clean.py:1", "clean.py:1: no finding here, nor anywhere in this file\n"),
    ):
        got = porter("explain", place)
        assert (got.code, got.text, got.err) == (0, said, "")
    assert "此处没有问题；最近的一处在第 7 行" in porter("explain", "train.py:1", "--lang", "zh").text


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("gone.py:3", "gone.py: no such file or directory"),
        ("torch.cuda.Event:3", "torch.cuda.Event: no such file or directory"),
        ("train.py:99", "train.py:99: there is no such line; the file has 15"),
        ("train.py:0", "train.py:0: there is no such line; the file has 15"),
        ("empty.py:1", "empty.py:1: the file is empty"),
        ("sub:1", "sub: not a regular file"),
        ("train.py", "train.py is a file: name a line of it, as in train.py:1"),
    ],
)
def test_what_is_no_place_is_one_line(porter, place, said):
    got = porter("explain", place)
    assert (got.code, got.out, got.err) == (2, b"", f"porter: {said}\n")


def test_names_stay_names(porter):
    write(porter.folder, {"torch.cuda.Event": "x\n", "flash_attn/a.py": "x = 1\n"})
    assert porter("explain", "torch.cuda.Event").text.startswith("torch.cuda.Event becomes torch.npu.Event")
    assert porter("explain", "flash_attn").text.startswith("flash_attn  has to be replaced")


def test_a_file_is_analysed_within_its_project_and_named_from_here(porter):
    inside = porter("explain", "x.py:7", cwd=porter.folder / "sub").text
    assert inside.startswith("sub/x.py:7:5: PRT101 ")
    assert porter("explain", str(porter.folder / "train.py") + ":7").out == porter("explain", "train.py:7").out


def test_it_hears_of_target_and_language(porter):
    text = porter("explain", "train.py:7", "--lang", "zh").text
    assert "train.py:7:5: PRT101 阻断 自动" in text and "级别：" in text
    assert "--target: no catalogue" in porter("explain", "train.py:7", "--target", "torch_npu=1").err
