"""`porter analyze --statistics`: how often each rule has something to say."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from report_samples import ORDINARY, made

from porter.terminal import columns

# a fused operator is an opportunity, a suppression that suppresses nothing is a note
MORE = {
    "norm.py": "import torch\n\n\ndef norm(x, w):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w\n",
    "stale.py": "import torch\nx = 1  # porter: ignore[PRT101] old\n",
}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", {**ORDINARY, **MORE})


@pytest.mark.slow
def test_the_numbers_are_those_of_the_open_findings(porter):
    found = json.loads(porter("analyze", ".", "--format", "json").out)["findings"]
    got = porter("analyze", ".", "--statistics", "--format", "json")
    rows = json.loads(got.out)["rules"]
    still = [f for f in found if f["suppressed"] is None]
    assert len(still) < len(found) and got.code == 1
    assert {row["code"]: row["places"] for row in rows} == Counter(f["code"] for f in still)
    for row in rows:
        own = [f for f in still if f["code"] == row["code"]]
        assert row["auto"] + row["review"] + row["manual"] + row["optional"] == row["places"] == len(own)
        assert row["auto"] == sum(f["status"] == "auto" for f in own) and row["files"] == len({f["path"] for f in own})
        assert row["slug"] == own[0]["slug"] and row["severity"] in {f["severity"] for f in own}
    assert [(-row["places"], row["code"]) for row in rows] == sorted((-row["places"], row["code"]) for row in rows)
    assert sum(row["optional"] for row in rows) == sum(f["optional"] for f in still) > 0
    assert any(row["auto"] for row in rows) and any(row["manual"] for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_table_says_the_same(porter, lang):
    rows = json.loads(porter("analyze", ".", "--statistics", "--format", "json").out)["rules"]
    head, *body, total = porter("analyze", ".", "--statistics", "--lang", lang).text.splitlines()
    keys = ("places", "auto", "review", "manual", "optional")
    assert len(body) == len(rows)
    for line, row in zip(body, rows):
        assert line.split()[:5] == [str(row[key] or "-") for key in keys] and f"  {row['code']}  " in line
        assert f"{row['code']}  {row['title'][lang]}"[:20] in line
    assert total.split()[0] == str(sum(row["places"] for row in rows))
    places = [columns(line.partition("PRT")[0]) for line in body]
    assert set(places) == {columns(head.rpartition("code" if lang == "en" else "编号")[0])}
    titles = {columns(line.partition(row["code"])[0]) + len("PRT101  ") for line, row in zip(body, rows)}
    assert titles == {columns(head.rpartition("rule" if lang == "en" else "检查项")[0])}
    assert all(columns(line) <= 100 for line in (head, *body, total))


@pytest.mark.slow
def test_it_hears_of_select_and_of_the_baseline(porter):
    rows = json.loads(porter("analyze", ".", "--statistics", "--format", "json", "--select", "PRT101").out)["rules"]
    assert [row["code"] for row in rows] == ["PRT101", "PRT001", "PRT002"], "what porter says of itself stays"
    porter("analyze", ".", "--write-baseline", "../b.json")
    known = porter("analyze", ".", "--statistics", "--baseline", "../b.json")
    assert known.text == "No findings.\n" and known.code == 0
    assert "optional" not in porter("analyze", "train.py", "--statistics").text


def test_it_is_text_or_json(porter):
    for name in ("html", "grouped"):
        got = porter("analyze", ".", "--statistics", "--format", name)
        assert got.code == 2 and f"'{name}' is none of text, json" in got.err and got.out == b""
