"""Ranks, shared obstacles, and what changed since an earlier fleet."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from porter.errors import UserError
from porter.fleet import show, summary
from porter.fleet.entries import Entry
from porter.fleet.libraries import of_summary, row_of
from porter.fleet.page import page
from porter.fleet.row import of_failure, of_report
from porter.fleet.summary import best, document, read
from porter.report.sanitise import as_json

HAN = re.compile(r"[\u4e00-\u9fff]")


def obstacle(name: str, kind: str = "package", severity: str = "blocker") -> dict:
    title = {"en": name, "zh": name}
    return {"kind": kind, "name": name, "title": title, "severity": severity, "minutes": [60, 240], "places": 1}


def row(*obstacles: dict, minutes: tuple[int, int] = (480, 960), auto: int = 5, route: str = "rename") -> dict:
    return {
        "schema": 1, "key": "k", "is_new": True, "state": "done", "why": None, "porter": "1", "commit": "c",
        "target": {"torch_npu": "2.7.1", "soc": "A2", "style": "rename"}, "left": {"stops": 3, "slows": 0}, "lines": 100,
        "route": {"name": route, "title": {"en": route, "zh": "路线"}}, "readiness": {"auto": auto, "places": 10}, "files": 2,
        "minutes": list(minutes), "obstacles": list(obstacles),
    }  # fmt: skip


def made(rows: dict[str, dict], lang: str = "en", against=None) -> dict:
    listed = [Entry(f"l.txt:{n}", f"src/{name}", f"{name}-1", name) for n, name in enumerate(rows, 1)]
    return document(listed, {f"{name}-1": one for name, one in rows.items()}, lang, against)


FLASH, VLLM, KERNEL = obstacle("flash-attn"), obstacle("vllm"), obstacle("PRT850", "rule")
ROWS = {
    "dear": row(minutes=(4800, 9600)),
    "cheap": row(),
    "one": row(FLASH),
    "kernel": row(FLASH, KERNEL),
    "two": row(FLASH, VLLM),
    "wrong": row(obstacle("torch.x", "api", "wrong"), minutes=(1, 2)),
    "none": row(minutes=(0, 0), route="nothing"),
    "bad": of_failure("it hangs", "卡住了"),
}


def test_what_can_start_comes_first_then_what_is_blocked_least_then_what_costs_least():
    found = made(ROWS)
    names = [(one["rank"], one["name"], one["stage"]) for one in found["repositories"]]
    assert names == [
        (1, "wrong", "clear"), (2, "cheap", "clear"), (3, "dear", "clear"), (4, "one", "blocked"), (5, "kernel", "blocked"),
        (6, "two", "blocked"), (None, "none", "nothing"), (None, "bad", "failed"),
    ]  # fmt: skip
    totals = found["totals"]
    assert [totals[key] for key in ("repositories", "clear", "blocked", "nothing", "failed")] == [8, 3, 3, 1, 1]
    assert totals["minutes"] == [4800 + 4 * 480 + 1, 9600 + 4 * 960 + 2] and totals["lines"] == 700


def test_shared_obstacles_and_what_one_mending_frees():
    found = made(ROWS)
    counted = {at["name"]: (at["repositories"], at["frees"], at["alone"]) for at in found["obstacles"]}
    # `kernel` has flash-attn and work of its own; `two` waits for two packages
    assert counted == {"flash-attn": (3, 2, 1), "vllm": (1, 0, 0), "PRT850": (1, 0, 0)}
    assert (
        found["obstacles"][0]["ids"] == ["one-1", "kernel-1", "two-1"]
        and best(found["obstacles"])["name"] == "flash-attn"
    )
    assert best([]) is None


def test_the_trend_since_an_earlier_fleet(tmp_path):
    earlier = made({**ROWS, "gone": row()})
    (tmp_path / "fleet.json").write_text(as_json(earlier), "utf-8")
    now = {**ROWS, "one": row(auto=9, minutes=(60, 480)), "fresh": row(), "two": of_failure("x", "x")}
    found = made(now, against=("old", read(str(tmp_path / "fleet.json"))))
    trends = {one["name"]: one["trend"] for one in found["repositories"]}
    assert trends["one"] == {"is_new": False, "stops": 0, "blockers": -1, "percent": 40, "days": -1.0}
    assert trends["fresh"] == {"is_new": True} and trends["two"] is None and trends["cheap"]["percent"] == 0
    assert [one["name"] for one in found["gone"]] == ["gone"] and found["against"] == "old"
    text = page(found)
    assert "ready +40 %, blockers -1, days -1" in text and "No longer there: gone" in text and "as before" in text
    with pytest.raises(UserError, match="schema 2"):
        (tmp_path / "x.json").write_text(as_json({**earlier, "schema": 2}), "utf-8")
        read(str(tmp_path / "x.json"))
    for damaged in ([{}], [3]):
        (tmp_path / "x.json").write_text(as_json({**earlier, "repositories": damaged}), "utf-8")
        with pytest.raises(UserError, match="a repository lacks a part"):
            read(str(tmp_path / "x.json"))


def test_a_new_revision_is_the_same_repository_by_its_name():
    one = Entry("l:1", "r", "r-old", "r", revision="v1")
    other = Entry("l:1", "r", "r-new", "r", revision="v2")
    earlier = json.loads(as_json(document([one], {"r-old": row(FLASH)}, "en", None)))
    found = document([other], {"r-new": row()}, "en", ("old", earlier))
    assert found["repositories"][0]["trend"]["blockers"] == -1 and found["gone"] == []


def test_bytes_do_not_depend_on_the_order_in_which_rows_came():
    backwards = dict(reversed(ROWS.items()))
    listed = [Entry(f"l.txt:{n}", f"src/{name}", f"{name}-1", name) for n, name in enumerate(ROWS, 1)]
    ids = [{f"{name}-1": ROWS[name] for name in names} for names in (ROWS, backwards)]
    assert as_json(document(listed, ids[0], "en", None)) == as_json(document(listed, ids[1], "en", None))


@pytest.mark.slow
def test_json_holds_its_schema():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: it is in the `dev` extra")
    schema = json.loads((Path(summary.__file__).parent / "schema.json").read_text("utf-8"))
    found = made({**ROWS, "fresh": row()}, against=("old", json.loads(as_json(made(ROWS)))))
    kit = row_of({"library": "kit", "version": "", "target": "t", "functions": {}, "modules": {}})
    found["libraries"] = [of_summary(Entry("--library", "kit", "kit-1", "kit"), kit)]
    for one in (made(ROWS), found):
        jsonschema.validate(json.loads(as_json(one)), schema)
        for extra in (one, one["totals"], one["repositories"][0], one["obstacles"][0], *one["libraries"]):
            extra["more"] = 1
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(one, schema)
            del extra["more"]


class Read(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.rows, self.links, self.open = 0, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.rows += tag == "tr"
        self.links += [value for key, value in attrs if key in ("href", "src")]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_links_each_report_and_needs_no_network(lang):
    text = page(made(ROWS, lang))
    read = Read(text)
    assert read.rows == 2 + 3 + len(ROWS)
    assert {link for link in read.links if not link.startswith("#")} == {
        f"repositories/{name}-1/report.html" for name in ROWS if name != "bad"
    }
    assert (
        "http" not in text.replace("http-equiv", "")
        and HAN.search(text)
        and "8 repositories: 3 can be ported now" in text
    )
    assert f'<html lang="{ {"en": "en", "zh": "zh-Hans"}[lang] }">' in text


def test_names_of_a_list_are_text_everywhere():
    evil = "<script>alert(1)</script>=cmd|' /C calc'!A0"
    listed = [Entry("l.txt:1", "=x", "id-1", f"={evil}")]
    found = document(listed, {"id-1": row(obstacle(evil))}, "en", None)
    assert "<script>alert" not in page(found)
    (cells,) = [*csv.reader(io.StringIO(show.as_csv(found).removeprefix("\ufeff")))][1:]
    assert cells[1] == f"'={evil}" and cells[19] == "'=x"


def test_the_terminal_and_the_spreadsheet():
    english, chinese = (made(ROWS, lang) for lang in ("en", "zh"))
    text = "\n".join("".join(piece for piece, _ in line) for line in show.lines(english))
    assert "3 of 8 wait for flash-attn" in text and "l.txt:8: it hangs" in text and not HAN.search(text)
    assert "卡住了" in str(show.lines(chinese)) and HAN.search(show.as_csv(chinese))
    rows = [*csv.reader(io.StringIO(show.as_csv(english).removeprefix("\ufeff")))]
    assert (
        rows[0] == list(show.COLUMNS) and len(rows) == 1 + len(ROWS) and {len(line) for line in rows} == {len(rows[0])}
    )
    assert rows[4][:5] == ["4", "one", "blocked", "rename", "50"] and rows[-1][-1] == "it hangs"


def test_a_row_has_what_only_a_person_can_take_away_and_that_is_no_matter_of_minutes():
    finding = {"fingerprint": "a", "severity": "blocker"}
    common = {
        "minutes": [60, 240],
        "aside": [0, 0],
        "findings": ["a"],
        "code": "PRT401",
        "subject": "x",
        "what": "other",
    }
    items = [
        {**common, "what": "package", "kind": "hours", "subject": "flash-attn"},
        {**common, "kind": "hours", "subject": "torch.foo"},
        {**common, "kind": "rewrite", "what": "kernel", "subject": "k1", "code": "PRT850"},
        {**common, "kind": "rewrite", "what": "kernel", "subject": "k2", "code": "PRT850"},
        {**common, "kind": "minutes"},
        {**common, "kind": "hours", "minutes": [0, 0], "aside": [60, 240]},
        {**common, "kind": "review", "what": "edits"},
        {**common, "kind": "checks", "what": "checks", "findings": []},
    ]
    found = of_report({
        "summary": {"readiness": {"auto": 1, "places": 2}, "left": {"stops": 1, "slows": 0}, "lines": 1, "scanned": 1},
        "effort": {"minutes": [1, 2], "items": items}, "route": None, "target": {"torch_npu": "2", "soc": "A2", "style": "rename"},
        "findings": [finding], "rules": [{"code": c, "title": {"en": c, "zh": c}} for c in ("PRT401", "PRT850")],
        "project": {}, "porter": "1",
    })["obstacles"]  # fmt: skip
    assert [(o["kind"], o["name"], o["minutes"], o["places"]) for o in found] == [
        ("rule", "PRT850", [120, 480], 2), ("api", "torch.foo", [60, 240], 1), ("package", "flash-attn", [60, 240], 1),
    ]  # fmt: skip
