"""Old findings stay quiet: by their line, wherever it moves."""

from __future__ import annotations

import json

import pytest
from command_line import Porter, write

pytestmark = pytest.mark.slow  # each runs the command on a project

TRAIN = """\
import torch

torch.cuda.synchronize()
x = torch.zeros(2).cuda()
torch.cuda.synchronize()
"""


@pytest.fixture
def porter(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    made = Porter(monkeypatch, write(tmp_path / "r", {"train.py": TRAIN}))
    got = made("analyze", ".", "--write-baseline", "base.json")
    assert got.code == 0 and "base.json: 3 findings written." in got.err
    return made


def new(porter, *args: str) -> list[str]:
    return [
        line.split(": ")[0] for line in porter("analyze", ".", "-q", "--baseline", "base.json", *args).text.splitlines()
    ]


@pytest.mark.slow
def test_everything_known(porter):
    got = porter("analyze", ".", "--baseline", "base.json")
    assert got.code == 0 and "Known from the baseline: 3" in got.text
    assert new(porter) == []
    assert porter("analyze", ".").code == 1
    document = json.loads(porter("analyze", ".", "--baseline", "base.json", "--format", "json").out)
    assert [f["baseline"] for f in document["findings"]] == [True] * 3


@pytest.mark.slow
def test_lines_that_move_and_layout_that_changes(porter):
    moved = "import os\n" * 7 + TRAIN.replace("x = torch", "if os:\n\n    x  =  torch").replace("\n", "\r\n")
    write(porter.folder, {"train.py": moved})
    assert new(porter) == []


@pytest.mark.slow
def test_a_new_finding_and_one_more_of_the_same(porter):
    write(porter.folder, {"train.py": TRAIN + "torch.cuda.synchronize()\ntorch.cuda.empty_cache()\n"})
    assert new(porter) == ["train.py:6:1", "train.py:7:1"]


@pytest.mark.slow
def test_an_edited_line_is_new(porter):
    write(porter.folder, {"train.py": TRAIN.replace("zeros(2)", "zeros(3)")})
    assert [place.split(":")[1] for place in new(porter)] == ["4"]


def test_another_file_is_new(porter):
    write(porter.folder, {"copy.py": TRAIN})
    assert len(new(porter)) == 3


def test_what_is_gone_is_no_concern(porter):
    write(porter.folder, {"train.py": "import torch\n"})
    assert new(porter) == []


def test_suppressed_findings_are_not_in_it(porter):
    write(porter.folder, {"train.py": TRAIN.replace("ze()\nx", "ze()  # porter: ignore[PRT101] old\nx")})
    got = porter("analyze", ".", "-q", "--write-baseline", "other.json")
    assert "PRT003" not in got.text, got.text
    assert len(json.loads((porter.folder / "other.json").read_text())["findings"]) == 2


@pytest.mark.slow
def test_its_fingerprints_are_those_of_the_report(porter):
    """Also where a line stands twice, and the first of both is suppressed."""
    twice = TRAIN.replace("torch.cuda.sync", "# porter: ignore[PRT101] kept\ntorch.cuda.sync", 1)
    write(porter.folder, {"train.py": twice})
    assert porter("analyze", ".", "--write-baseline", "base.json").code == 0
    known = {f["fingerprint"] for f in json.loads((porter.folder / "base.json").read_bytes())["findings"]}
    report = json.loads(porter("analyze", ".", "--format", "json").out)["findings"]
    assert known == {f["fingerprint"] for f in report if f["suppressed"] is None}


def test_the_file_is_stable_and_has_a_version(porter):
    first = (porter.folder / "base.json").read_bytes()
    assert json.loads(first)["porter-baseline"] == 1
    write(porter.folder, {"train.py": "\n\n" + TRAIN})
    porter("analyze", ".", "--write-baseline", "base.json", "--no-cache")
    assert (porter.folder / "base.json").read_bytes() == first
    assert str(porter.folder).encode() not in first


@pytest.mark.slow
def test_written_from_another_place(porter):
    write(porter.folder, {"setup.py": "", "sub/b.py": TRAIN, "porter.toml": 'baseline = "base.json"\n'})
    porter("analyze", ".", "--write-baseline", "base.json")
    assert porter("analyze", "sub", "-q").out == b""
    assert porter("analyze", "b.py", "-q", cwd=porter.folder / "sub").out == b""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "base.json: not a baseline: "),
        ("[]", "base.json: not a baseline of version 1"),
        ('{"porter-baseline": 2}', "base.json: not a baseline of version 1; write it anew with --write-baseline"),
        ('{"porter-baseline": 1, "findings": [1]}', "base.json: damaged"),
        (b"\xff\xfe", "base.json: not a baseline"),
    ],
)
def test_mistakes(porter, text, said):
    write(porter.folder, {"base.json": text})
    got = porter("analyze", ".", "--baseline", "base.json")
    assert got.code == 2 and got.err.startswith("porter: " + said) and got.err.count("\n") == 1
    (porter.folder / "base.json").unlink()
    assert "base.json: no such file" in porter("analyze", ".", "--baseline", "base.json").err
