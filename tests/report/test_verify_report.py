"""The chapter of the report about a verified run: what the terminal says, in both languages, and the losses drawn."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from command_line import Porter

from porter.report.late_shapes import joined
from porter.report.verified import chapter
from porter.verify.compare import compare
from porter.verify.install import Device
from porter.verify.launch import Outcome
from porter.verify.records import Error, Operator, Point, Records
from porter.verify.result import Result, as_json, data
from porter.verify.show import text

DEVICE = Device("2.13.0", "2.13.0", None, Path("s"), Path("l"))


def outcome(*losses: float, code: int = 0, errors: tuple[Error, ...] = ()) -> Outcome:
    points = [Point(loss, f"train.py:{n}") for n, loss in enumerate(losses)]
    slow = Operator("aten::lgamma", "m.py:7", "cpu_fallback", False, 5, 5, "Float", 1, ())
    return Outcome(
        code, "said\n", Records({"loss": points}, {"a.pt:w": ["f", [1], str(losses)]}, [slow], list(errors), steps=3)
    )


def run(ported: Outcome, original: Outcome) -> Result:
    both = compare(original, ported) if original.ran and ported.ran else None
    return Result(DEVICE, 1, ported, original, both, ("m.py:3: PRT140 manual: `major` of an NPU is None",))


PARTS = run(outcome(1.0, 0.75, 0.6), outcome(1.0, 0.75, 0.5))
FAILED = run(outcome(code=1, errors=(Error(0, "TypeError", "a < b & `c`", "m.py:3"),)), outcome(1.0, 0.5))
NAN = run(outcome(float("nan"), float("inf"), 1.0), outcome(float("nan"), float("inf"), 1.0))


@pytest.fixture
def porter(monkeypatch, tmp_path) -> Porter:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "m.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    monkeypatch.chdir(tmp_path)
    porter = Porter(monkeypatch, tmp_path)
    assert porter("analyze", "project", "--output", "findings.json").code == 1
    return porter


def page(porter: Porter, result: Result, folder: Path) -> str:
    (folder / "verify.json").write_text(as_json(result), encoding="utf-8")
    done = porter("report", "findings.json", "--verified", "verify.json", "--output", "report.html")
    assert done.code == 0, done.err
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("result", [PARTS, FAILED, NAN], ids=["parts", "failed", "nan"])
def test_the_page_says_what_the_terminal_says(porter, tmp_path, result):
    html = page(porter, result, tmp_path)
    section = re.search(r'<section id="verified">.*?</section>', html, re.DOTALL)[0]
    assert '<a href="#verified">' in html
    shown = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", section))).replace(" `", "`")
    for lang in ("en", "zh"):
        for line in text(json.loads(as_json(result)), lang):
            for part in filter(None, re.split(r"  +|`", line.strip())):
                assert part.strip() in shown, (lang, part)
    assert "<b &" not in section
    if chapter(data(result))["chart"]:
        assert 'data-en="loss of both runs" data-zh="两次运行的 loss"' in section


def test_the_losses_are_drawn_up_to_where_they_part():
    chart = chapter(data(PARTS))["chart"]
    assert chart["original"].split() == ["0.0,0.0", "300.0,60.0", "600.0,120.0"]
    assert chart["ported"].split() == ["0.0,0.0", "300.0,60.0", "600.0,96.0"]
    assert (chart["at"], chart["low"], chart["top"]) == ("600.0", "0.5", "1")
    assert chapter(data(FAILED))["chart"] is None
    assert chapter(data(NAN))["chart"]["original"] == "600.0,120.0"


def test_of_several_losses_the_one_that_parts_first_is_drawn():
    found = data(PARTS)
    (loss,) = found["curves"]

    def curve(name: str, parts_at: int | None) -> dict[str, object]:
        return {**loss, "name": name, "parts_at": parts_at}

    for names in (("loss", "loss of rank 1"), ("eval_loss", "loss")):
        for parts, drawn in (((2, 1), 1), ((1, 2), 0), ((None, 2), 1)):
            found["curves"] = [curve(name, part) for name, part in zip(names, parts)]
            assert chapter(found)["chart"]["name"] == names[drawn]
    found["curves"] = [curve("eval_loss", 2), curve("loss", 2)]
    assert chapter(found)["chart"]["name"] == "loss"


def test_a_report_without_a_run_has_no_such_chapter(porter, tmp_path):
    assert porter("report", "findings.json", "--output", "report.html").code == 0
    assert "verified" not in re.sub(
        r"<style>.*?</style>|<script.*?</script>", "", (tmp_path / "report.html").read_text(), flags=re.DOTALL
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such file"),
        ("{}", "not what `porter verify --output verify.json` writes"),
        ('{"format": 1}', "format 1, this porter reads 2"),
        ('{"format": 2}', "'verdict' is missing"),
    ],
)
def test_another_file_is_one_clear_line(porter, tmp_path, content, says):
    if content is not None:
        (tmp_path / "verify.json").write_text(content)
    done = porter("report", "findings.json", "--verified", "verify.json", "--output", "report.html")
    assert done.code == 2 and "verify.json" in done.err and says in done.err
    assert not (tmp_path / "report.html").exists()


MODEL = """\
import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x):
        picked = x[x > 0.5]
        y = picked * 2
        return self.rest(y)

    def rest(self, y):
        z = y.view(-1)
        return z.exp().sum()


class Tail(nn.Module):
    def forward(self, x):
        return x.cos()
"""


@pytest.mark.slow
@pytest.mark.parametrize("compared", [True, False], ids=["original", "port alone"])
def test_late_shapes_are_joined_with_what_foretells_them(porter, tmp_path, compared):
    (tmp_path / "project" / "head.py").write_text(MODEL)
    assert porter("analyze", "project", "--output", "findings.json").code == 1
    late = ("[0]", "[5]")
    seen = [
        Operator("aten::index", "head.py:7", "native", True, 9, 7, "Float", 1, ()),
        Operator("aten::mul", "head.py:8", "native", False, 9, 7, "Float", 6, late),
        Operator("aten::exp", "head.py:13", "native", False, 9, 7, "Float", 7, late),
        Operator("aten::cos", "head.py:18", "native", False, 9, 7, "Float", 3, late),
        Operator("aten::ones_like", "m.py:2", "native", False, 9, 7, "Float", 1, ()),
        Operator("aten::mul", "m.py:2", "native", False, 9, 7, "Float", 6, late),
        Operator("aten::sin", "m.py:1", "native", False, 9, 7, "Float", 6, late),
    ]
    watched = Outcome(0, "", Records({"loss": [Point(1.0, "m.py:9")]}, {}, seen, [], steps=9))
    verified = data(run(outcome(1.0), watched) if compared else Result(DEVICE, 1, watched))
    document = joined(json.loads((tmp_path / "findings.json").read_text()), verified)
    found = {f["line"]: f["values"].get("seen") for f in document["findings"] if f["code"] == "PRT601"}
    assert found == {7: "7"}
    rest = [o["where"] for o in document["verified"]["unexplained"]]
    assert rest == (["head.py:18", "m.py:1"] if compared else ["head.py:18"])  # m.py is edited: a port has other lines
    (tmp_path / "verify.json").write_text(json.dumps(verified), encoding="utf-8")
    assert porter("report", "findings.json", "--verified", "verify.json", "--output", "report.html").code == 0
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"seen":"7"' in html.replace(" ", "") and "其中没有任何发现提到的位置" in html
    assert "head.py:18  aten::cos  3 shapes" in html


def test_only_html_shows_a_run(porter, tmp_path):
    (tmp_path / "verify.json").write_text(as_json(PARTS))
    done = porter("report", "findings.json", "--verified", "verify.json")
    assert done.code == 2 and "--output report.html" in done.err
