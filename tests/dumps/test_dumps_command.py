"""`porter compare --dumps` as a user runs it: exit codes, formats, languages, the repository."""

from __future__ import annotations

import json
import re

import pytest
from command_line import Porter, write
from dumps_world import net

from porter.dumps.verdict import REASONS
from porter.rulebook.words import words

pytestmark = pytest.mark.slow  # each runs the command on a project

HAN = re.compile(r"[\u4e00-\u9fff]")
CODE = "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return self.fc(x).cuda()\n"


@pytest.fixture
def porter(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    for name, changed in (
        ("gpu", {}),
        ("same", {}),
        ("fault", {"blocks.1.up": 1.1}),
        ("inside", {"blocks.0 between": 1.1}),
        ("backward", {"blocks.1.down backward": 2.0}),
        ("lookup", {"embed": 1.2}),
    ):
        net(changed).write(folder / name / "step0" / "rank0")
    write(folder, {"repo/net.py": CODE.replace("\n\n", "\n", 1)})
    return Porter(monkeypatch, folder)


@pytest.mark.parametrize(
    ("candidate", "code"), [("same", 0), ("fault", 1), ("inside", 1), ("backward", 1), ("lookup", 4)]
)
def test_exit_codes_texts_and_languages(porter, candidate, code):
    words_ = ("compare", "--dumps", "gpu", candidate)
    answer, chinese = porter(*words_), porter(*words_, "--lang", "zh")
    assert (answer.code, answer.err, chinese.code) == (code, "", code)
    assert answer.out == porter(*words_).out
    assert not HAN.search(answer.text) and HAN.search(chinese.text)
    assert len(answer.text.splitlines()) == len(chinese.text.splitlines())


def test_the_text_names_module_numbers_and_place(porter):
    text = porter("compare", "--dumps", "gpu", "fault").text
    assert "verdict: blocks.1.up (Linear): the first of the forward pass whose outputs differ" in text
    assert "step 0, rank 0, forward pass" in text
    assert "/data/repo/net.py:4 forward: return self.fc(x).cuda()" in text and "/usr/lib" not in text
    assert re.search(r"> Module\.blocks\.1\.up\.Linear\.forward\.0 +0 +0\.1 +[\d.]+e-05", text)
    assert "16 calls are on both sides, of 16 and 16" in text


@pytest.mark.slow
def test_json_says_the_same_and_has_no_infinity(porter):
    net({"head": float("nan")}).write(porter.folder / "nan")
    for candidate in ("same", "fault", "backward", "nan"):
        answer = porter("compare", "--dumps", "gpu", candidate, "--format", "json")
        found = json.loads(answer.out, parse_constant=pytest.fail)
        assert found["outcome"] == REASONS[found["reason"]] and found["schema"] == 1
        assert found["sentence"] in porter("compare", "--dumps", "gpu", candidate).text
    assert found["place"]["baseline"] == "Module.head.Linear.forward.0" and found["is_at_fault"]


@pytest.mark.slow
def test_findings_at_the_lines_of_the_stack(porter):
    found = json.loads(porter("compare", "--dumps", "gpu", "fault", "--repo", "repo", "--format", "json").out)
    about = found["repository"]
    assert [spot["path"] for spot in about["spots"]] == ["repo/net.py"] and about["spots"][0]["line"] == 4
    assert [(place["path"], place["line"]) for place in about["places"]] == [("repo/net.py", 4)]
    text = porter("compare", "--dumps", "gpu", "fault", "--repo", "repo").text
    assert "porter's findings there, in repo" in text and "repo/net.py:4: PRT" in text


@pytest.mark.slow
def test_the_page_has_both_languages_and_needs_no_network(porter):
    answer = porter("compare", "--dumps", "gpu", "fault", "--repo", "repo", "-o", "why.html")
    page = (porter.folder / "why.html").read_text("utf-8")
    assert answer.code == 1 and "blocks.1.up" in page and HAN.search(page)
    assert not re.search(r"""(src|href)=["']https?:""", page) and "repo/net.py" in page
    assert porter("compare", "--dumps", "gpu", "fault", "--repo", "repo", "--format", "html").text == page
    for name in ("why.json", "why.txt"):
        porter("compare", "--dumps", "gpu", "fault", "-o", name)
        assert "blocks.1.up" in (porter.folder / name).read_text("utf-8")


def test_a_hostile_name_is_shown_and_not_obeyed(porter):
    made = net({"head": 1.1})
    name = "Module.<script>\x1b[31m\u202ex.Linear.forward.0"
    for folder, side in (("gpu", net()), ("npu", made)):
        side.data = {name if "head.Linear.forward" in key else key: row for key, row in side.data.items()}
        side.write(porter.folder / "hostile" / folder)
    answer = porter("compare", "--dumps", "hostile/gpu", "hostile/npu", "-o", "why.html")
    assert answer.code == 1 and "\x1b" not in answer.text and "\u202e" not in answer.text
    page = (porter.folder / "why.html").read_text("utf-8")
    assert "<script>\\x1b" not in page and "\x1b" not in page and "\u202e" not in page


@pytest.mark.parametrize(
    "more",
    [["--rerun", "same"], ["--profiles"], ["--format", "xml"], ["-o", "why.doc"]],
)
def test_what_does_not_go_together(porter, more):
    answer = porter("compare", "--dumps", "gpu", "fault", *more)
    assert answer.code == 2 and len(answer.err.splitlines()) == 1


def test_one_folder_is_not_enough(porter):
    answer = porter("compare", "--dumps", "gpu")
    assert answer.code == 2 and "give both folders" in answer.err


def test_every_reason_has_its_sentence_and_its_next():
    texts = words("dumps", "en")
    for reason, outcome in REASONS.items():
        assert f"why.{reason}" in texts and (outcome == "none" or f"next.{reason}.1" in texts)
        assert texts[f"why.{reason}"].startswith("not ") == (outcome == "unsure")
