"""The HTML page: every number recomputed from the JSON, both languages everywhere, and what a browser makes of it."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_samples import HOSTILE, ORDINARY, made

from porter.finding import SEVERITIES, STATUSES
from porter.report import render_document
from porter.report.page_words import PAGE
from porter.report.shown import shown
from porter.report.source import WIDEST
from porter.report.treemap import HEIGHT, WIDTH, boxes
from porter.resources import templates_dir

VOID = {"meta", "input", "br", "img", "link"}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", ORDINARY)


@pytest.fixture
def document(porter):
    return json.loads(porter("analyze", ".", "--format", "json").out)


class Page(HTMLParser):
    """Balanced tags, ids, languages, and the text below an id."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        self.sources += [values[key] for key in ("src", "srcset", "data", "action", "poster") if key in values]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:], self.getpos())
        self.open.pop()


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def counted(page: str, name: str) -> int:
    return int(re.search(rf'id="{name}">\s*(\d+)', page)[1])


def test_every_number_comes_from_the_json(document):
    page = render_document(document, "html")
    places = [
        f
        for f in document["findings"]
        if f["suppressed"] is None and f["severity"] != "note" and f["code"][3] not in "06"
    ]
    for status in STATUSES:
        assert counted(page, f"count-{status}") == sum(f["status"] == status for f in places)
    assert counted(page, "percent") == 100 * sum(f["status"] == "auto" for f in places) // len(places)
    due = [f for f in document["findings"] if f["suppressed"] is None and not f["baseline"] and not f["optional"]]
    for effort, count in document["summary"]["efforts"].items():
        mine = [f for f in due if f["status"] == "manual" and f["effort"] == effort and f["severity"] != "note"]
        assert count == len(mine)
        assert not count or counted(page, f"effort-{effort}") == count
    for severity in ("blocker", "wrong"):
        rows = re.findall(
            rf'code=(PRT\d+)&amp;severity={severity}&amp;status=review,manual" data-filter><span class="n">(\d+)', page
        )
        left = [f["code"] for f in due if f["severity"] == severity and f["status"] != "auto"]
        assert {code: int(n) for code, n in rows} == {code: left.count(code) for code in set(left)}
    table = re.search(r'<table class="files.*?</table>', page, re.S)[0]
    for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", table, re.S):
        path, lines, *counts = plain(row).split()
        mine = [f for f in due if f["path"] == path]
        assert int(lines) == next(f["lines"] for f in document["files"] if f["path"] == path)
        assert list(map(int, counts)) == [*(sum(f["status"] == s for f in mine) for s in STATUSES), len(mine)]
    assert table.count('<th scope="row">') == len({f["path"] for f in due})
    for rule in re.findall(r'<details class="rule" id="rule-(PRT\d+)">.*?</summary>', page, re.S):
        summary = re.search(rf'id="rule-{rule}">.*?</summary>', page, re.S)[0]
        mine = [f for f in due if f["code"] == rule]
        shown_counts = dict(re.findall(r'st-(\w+)"><span class="n">(\d+)', summary))
        assert {k: int(n) for k, n in shown_counts.items()} == {
            s: n for s in STATUSES if (n := sum(f["status"] == s for f in mine))
        }
    apis = re.search(r'<table class="apis.*?</table>', page, re.S)[0]
    assert [plain(r).split()[:3] for r in re.findall(r"<tr><th scope=.row.*?</tr>", apis, re.S)] == [
        [a["name"], str(a["count"]), str(a["files"])] for a in document["apis"]
    ]


def test_the_script_has_every_finding(document):
    page = render_document(document, "html")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    assert [row[0] for row in data["findings"]] == [f["fingerprint"] for f in document["findings"]]
    for row, f in zip(data["findings"], document["findings"]):
        assert data["paths"][row[1]] == f["path"] and row[2:4] == [f["line"], f["column"]]
        assert (SEVERITIES[row[5]], data["states"][row[6]]) == (f["severity"], f["status"])
        text = data["whys"][row[4]][1]
        assert re.sub(r"\{(\w+)\}", lambda m: row[8].get(m[1], m[0]), text) == f["message"]
        tags = [tag for tag, *_ in row[10]]
        assert ("+" in tags) == bool(f["edit"]) and ("*" in tags or "-" in tags)
    static = re.search(r"<noscript>(.*?)</noscript>", page, re.S)[1]
    assert re.findall(r'<li id="f-(\w+)"', static) and set(re.findall(r'<li id="f-(\w+)"', static)) == {
        f["fingerprint"] for f in document["findings"]
    }


def test_one_well_formed_page_that_asks_for_nothing(document):
    for lang in ("en", "zh"):
        text = render_document({**document, "language": lang}, "html")
        page = Page(text)
        assert len(page.ids) == len(set(page.ids))
        assert page.sources == [] and "@import" not in text and "url(" not in text
        assert all(link.startswith(("#", "https://")) for link in page.links)
        anchors = {link[1:].split("?")[0] for link in page.links if link.startswith("#")}
        assert anchors <= set(page.ids)
        assert f'<html lang="{"zh-Hans" if lang == "zh" else "en"}">' in text


def test_the_words_of_the_page():
    used = "".join(path.read_text("utf-8") for path in sorted(templates_dir().iterdir()))
    used += "".join(
        p.read_text("utf-8") for p in sorted(Path("porter/report").resolve().glob("*.py")) if p.name != "page_words.py"
    )
    made_of_parts = (
        "family.",
        "state.",
        "origin.",
        "effort.",
        "js.sort.",
        *(s + ".long" for s in (*STATUSES, "optional")),
    )
    for key, (en, zh) in PAGE.items():
        assert not re.search(r"[一-鿿]", en) and re.search(r"[一-鿿]|^API$", zh), key
        assert set(re.findall(r"\{(\w+)\}", en)) == set(re.findall(r"\{(\w+)\}", zh)), key
        known = key.startswith(made_of_parts) or key in (
            "minutes",
            "hours",
            "rewrite",
            "blocker",
            "wrong",
            "slow",
            "note",
        )
        assert known or f'"{key}"' in used or f"'{key}'" in used, f"nothing says {key}"


def test_same_bytes(porter):
    first = porter("analyze", ".", "--format", "html").out
    assert porter("analyze", ".", "--format", "html", "-j", "2", "--no-cache").out == first
    assert str(porter.folder).encode() not in first


def test_what_cannot_be_seen_is_spelled_out():
    assert (
        shown("a\u202eb\x00\u200b\ufeff\udcff\U000e0041c\n\t中")
        == r"a\u202eb\x00\u200b\ufeff\xff\U000e0041c" + "\n\t中"
    )


def test_long_lines_are_cut_around_what_was_found(tmp_path, monkeypatch):
    porter = made(monkeypatch, tmp_path / "r", HOSTILE)
    doc = json.loads(porter("analyze", "wide.py", "--format", "json").out)
    (run,) = doc["sources"]["wide.py"]
    assert max(map(len, run["text"])) == WIDEST and "torch.cuda.synchronize()" in run["text"][1]
    assert run["cut"] == {"2": 100_031 - WIDEST + 1} or run["text"][1].endswith("torch.cuda.synchronize()")


def test_fields_of_the_map_are_as_large_as_what_they_stand_for():
    files = {"a/b.py": (6, 0), "a/c.py": (2, 1), "d.py": (8, 8), "e/f/g.py": (4, 2), "none.py": (0, 0)}
    leaves = {box.path: box for box in boxes(files) if box.path in files}
    assert set(leaves) == set(files) - {"none.py"}
    assert {p: b.tone for p, b in leaves.items()} == {"a/b.py": 0, "a/c.py": 2, "d.py": 4, "e/f/g.py": 2}
    for box in boxes(files):
        assert box.x >= 0 and box.y >= 0 and box.x + box.w <= WIDTH + 0.2 and box.y + box.h <= HEIGHT + 0.2
    tops = [b for b in boxes(files) if b.path in ("a/", "d.py", "e/f/")]
    sizes = {b.path: b.w * b.h / b.count for b in tops}
    assert max(sizes.values()) < 1.1 * min(sizes.values())
