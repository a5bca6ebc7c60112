"""How far a port is: since an earlier report, and since porter edited the files."""

from __future__ import annotations

import json

import pytest
from command_line import Porter, write
from hypothesis import given
from hypothesis import strategies as st

from porter.report import render_document
from porter.report.progress import of_documents, of_edits

TRAIN = """\
import torch

model = torch.nn.Linear(2, 2).cuda()
torch.cuda.synchronize()
major = torch.cuda.get_device_capability()[0]
if major >= 8:
    raise SystemExit
"""
UTIL = "import torch\n\n\ndef wait():\n    torch.cuda.synchronize()\n"


@pytest.fixture
def porter(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Porter(monkeypatch, write(tmp_path / "r", {"train.py": TRAIN, "lib/util.py": UTIL, "porter.toml": ""}))


def document(porter, *args: str) -> dict:
    return json.loads(porter("analyze", ".", "--format", "json", *args).out)


def places(doc: dict) -> int:
    return doc["summary"]["readiness"]["places"]


@pytest.mark.slow
def test_nothing_is_known_at_first(porter):
    doc = document(porter)
    assert doc["progress"] is None and "Progress" not in porter("analyze", ".").text
    assert 'id="progress"' not in render_document(doc, "html")


@pytest.mark.slow
def test_the_edits_that_porter_made_count(porter):
    before = document(porter)
    auto = before["summary"]["readiness"]["auto"]
    assert 0 < auto < places(before)
    assert porter("migrate", ".", "--inplace").code == 0
    doc = document(porter)
    assert doc["progress"] == {
        "resolved": auto, "initial": places(before), "new": 0, "since": "", "fixed": [], "added": [],
    }  # fmt: skip
    percent = 100 * auto // places(before)
    said = f"{auto} of {places(before)} places resolved ({percent} %): porter edited them here"
    assert said in " ".join(porter("analyze", ".").text.split())
    page = render_document(doc, "html")
    assert said in page and f"{auto} of {places(before)} CUDA-dependent places are resolved" in page
    alone = json.loads(porter("analyze", "lib/util.py", "--format", "json").out)
    assert alone["progress"]["resolved"] == alone["progress"]["initial"] == 1, "of the files that are asked for"
    assert "All 1 CUDA-dependent places are resolved." in render_document(alone, "markdown")
    porter("undo")
    assert document(porter)["progress"] is None


@pytest.mark.slow
def test_a_second_run_adds_to_the_first(porter):
    first = places(document(porter))
    porter("migrate", "lib/util.py", "--inplace")
    assert document(porter)["progress"]["resolved"] == 1
    porter("migrate", ".", "--inplace")
    made = document(porter)["progress"]
    assert made["resolved"] > 1 and made["initial"] == first


@pytest.mark.slow
def test_since_an_earlier_report(porter, tmp_path):
    then = tmp_path / "then.json"
    porter("analyze", ".", "-o", str(then))
    earlier = json.loads(then.read_text("utf-8"))
    (porter.folder / "lib/util.py").write_text("import torch\n\n\ndef wait():\n    torch.cuda.nvtx.mark('x')\n")
    answer = porter("analyze", ".", "--since", str(then))
    left = places(document(porter))
    said = f"1 of {left + 1} places resolved since then.json ({100 // (left + 1)} %); 1 of those left are new"
    assert said in " ".join(answer.text.split())
    doc = document(porter, "--since", str(then))
    assert [(f["path"], f["line"]) for f in doc["progress"]["fixed"]] == [("lib/util.py", 5)]
    (mark,) = doc["progress"]["added"]
    assert f'<a href="#f-{mark}"' in render_document(doc, "html")
    assert "since then.json" in render_document(doc, "markdown")
    later = {**doc, "progress": None}
    assert of_documents(earlier, "then.json", later).document == doc["progress"]


@pytest.mark.slow
def test_a_difference_as_a_report(porter, tmp_path):
    """`porter diff` writes the page that `analyze --since` writes."""
    names = {name: str(tmp_path / name) for name in ("then.json", "now.json", "both.html", "since.html")}
    porter("analyze", ".", "-o", names["then.json"])
    (porter.folder / "lib/util.py").write_text("import torch\n")
    porter("analyze", ".", "-o", names["now.json"])
    assert porter("diff", names["then.json"], names["now.json"], "-o", names["both.html"]).text.startswith(
        "1 fixed, 0 new"
    )
    porter("analyze", ".", "--since", names["then.json"], "-o", names["since.html"])
    pages = [(tmp_path / name).read_text("utf-8") for name in ("both.html", "since.html")]
    assert pages[0] == pages[1] and "none is new" in pages[0]


def test_what_is_no_report(porter, tmp_path):
    (tmp_path / "x.json").write_text("[]")
    for name in ("x.json", "missing.json"):
        answer = porter("analyze", ".", "--since", str(tmp_path / name))
        assert answer.code == 2 and answer.err.count("\n") == 1 and name in answer.err


def test_both_languages(porter, tmp_path):
    porter("analyze", ".", "-o", str(tmp_path / "then.json"))
    text = porter("analyze", ".", "--since", str(tmp_path / "then.json"), "--lang", "zh").text
    assert "自 then.json 以来" in text and "没有新增" in text


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_all_is_said_of_a_port_that_is_done_alone(edited, left):
    made = of_edits(edited, left)
    assert (made is None) == (edited == 0)
    if made is not None:
        percent = 100 * made.resolved // made.initial
        assert (percent == 100) == (left == 0)
