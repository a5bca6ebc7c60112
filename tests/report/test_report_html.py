"""The HTML page: every number recomputed from the JSON, both languages everywhere, and what a browser makes of it."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser

import pytest
from command_line import git
from report_samples import HOSTILE, ORDINARY, document_of, made

from porter.finding import SEVERITIES, STATUSES
from porter.report import render_document
from porter.report.page import headline
from porter.report.sanitise import shown
from porter.report.source import WIDEST
from porter.report.treemap import HEIGHT, WIDTH, boxes
from porter.rulebook.table import load
from porter.rulebook.words import speaker, words

phrase = speaker("page")
PACKAGES = ("transformer_engine", "xformers", "pynvml", "tensorrt", "cupy", "pycuda", "flashinfer")
CALLS = """current_device device_count is_available synchronize empty_cache memory_allocated max_memory_allocated
    memory_reserved max_memory_reserved reset_peak_memory_stats current_stream default_stream manual_seed manual_seed_all
    seed seed_all initial_seed get_rng_state get_rng_state_all set_rng_state set_rng_state_all ipc_collect mem_get_info
    memory_stats memory_summary memory_snapshot init is_initialized is_bf16_supported get_device_name""".split()
SCRIPT = """\
import deepspeed
import torch

def main(model, optimizer):
    for x in torch.utils.data.DataLoader([]):
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())

if __name__ == "__main__":
    main()  # {n}
"""
VOID = {"meta", "input", "br", "img", "link"}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", ORDINARY)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return document_of(tmp_path_factory.mktemp("html"), ORDINARY)


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
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def counted(page: str, name: str) -> int:
    return int(re.search(rf'id="{name}">\s*(\d+)', page)[1])


def due_of(document: dict) -> list[dict]:
    found = document["findings"]
    return [f for f in found if f["suppressed"] is None and not f["baseline"] and not f["optional"]]


def counts(findings: list[dict], key: str, names: tuple[str, ...]) -> list[int]:
    return [sum(f[key] == name for f in findings) for name in names]


def table(page: str, name: str) -> list[list[str]]:
    """The cells of each row of a table, as text."""
    body = re.search(rf'<table class="{name}[" ].*?</table>', page, re.S)[0].partition("<tbody>")[2]
    return [
        [plain(cell) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.S)]
        for row in re.findall(r"<tr>.*?</tr>", body, re.S)
    ]


@pytest.mark.slow
def test_every_number_of_the_first_screen(document):
    page, due = render_document(document, "html"), due_of(document)
    places = [
        f
        for f in document["findings"]
        if f["suppressed"] is None and f["severity"] != "note" and f["code"][3] not in "06"
    ]
    for status in STATUSES:
        assert counted(page, f"count-{status}") == sum(f["status"] == status for f in places)
    assert counted(page, "percent") == 100 * sum(f["status"] == "auto" for f in places) // len(places)
    bar = re.search(r'<svg class="meter" viewBox="0 0 (\d+) 10".*?</svg>', page, re.S)
    assert int(bar[1]) == len(places)
    assert list(map(int, re.findall(r'width="(\d+)"', bar[0]))) == counts(places, "status", STATUSES)
    manual = [f for f in due if f["status"] == "manual" and not f["code"].startswith("PRT0")]
    assert counted(page, "left-stops") == sum(f["severity"] in ("blocker", "wrong") for f in manual) > 0
    assert counted(page, "left-slows") == sum(f["severity"] == "slow" for f in manual)
    assert counted(page, "edits-auto") == sum(f["status"] == "auto" for f in due) > 0
    assert f"for review: {sum(f['status'] == 'review' for f in due)}" in plain(page)
    assert 'id="days">{:g}–{:g}</b>'.format(*document["effort"]["days"]) in page


@pytest.mark.slow
def test_the_table_of_efforts_leads_to_its_findings(document):
    page, items = render_document(document, "html"), document["effort"]["items"]
    body = re.search(r'<table class="efforts.*?</table>', page, re.S)[0]
    rows = re.findall(r"<tr>(?:(?!</tr>).)*</tr>", body.partition("<tbody>")[2], re.S)
    assert len(rows) == len(items) > 5
    for row, item in zip(rows, items):
        wanted = {"automatic": "#findings?status=auto", "review": f"#findings?status=review&amp;code={item['code']}"}
        lead = wanted.get(item["kind"]) or (f"#f-{item['findings'][0]}" if item["findings"] else "")
        assert (f'href="{lead}"' in row) == bool(lead) == ("<a " in row), item
        assert (f'<td class="num">{len(item["findings"]) or ""}</td>') in row
    many = {**document, "effort": {**document["effort"], "items": items * 5}}
    assert phrase("all-efforts", "zh", n=5 * len(items)) in render_document(many, "html")
    old = {key: value for key, value in document.items() if key != "effort"}
    earlier = render_document(old, "html")
    assert 'id="effort"' not in earlier and 'id="days"' not in earlier, "a report of an earlier porter has none"


@pytest.mark.slow
def test_the_head_names_the_project_and_its_commit(porter, document):
    git(porter.folder, "init", "-q")
    git(porter.folder, "commit", "-q", "--allow-empty", "-m", "x")
    commit = git(porter.folder, "rev-parse", "HEAD").strip()
    checkout = json.loads(porter("analyze", ".", "--format", "json").out)
    assert document["project"] == {"name": "r"} and checkout["project"] == {"name": "r", "commit": commit}
    head = re.compile(r'<p class="project">(.*?)</p>')
    said = [
        plain(head.search(render_document({**document, "project": about}, "html"))[1])
        for about in (document["project"], checkout["project"], {"name": "<b>\n\u202e"})
    ]
    assert said == ["r", f"r commit 提交 {commit[:12]}", r"<b>\n\u202e"]
    old = {key: value for key, value in document.items() if key != "project"}
    assert not head.search(render_document(old, "html")), "a report of an earlier porter has none"
    assert "**Project**" not in render_document(old, "markdown")
    assert f"- **Project**: `r` `{commit[:12]}`\n" in render_document(checkout, "markdown")
    assert f"- **项目**：`r` `{commit[:12]}`\n" in render_document({**checkout, "language": "zh"}, "markdown")


def test_causes_hold_what_is_left_and_nothing_twice(document):
    due = due_of(document)
    manual = [
        f for f in due if f["status"] == "manual" and f["severity"] != "note" and not f["code"].startswith("PRT0")
    ]
    listed = [mark for cause in document["causes"] for mark in cause["findings"]]
    assert sorted(listed) == sorted(f["fingerprint"] for f in manual) and len(set(listed)) == len(listed) > 0
    page = render_document(document, "html")
    rows = re.findall(r'<li><a href="#f-(\w+)"><code class="place">', page)
    assert rows == [cause["findings"][0] for cause in document["causes"]], "few enough to stand on the first screen"


def test_every_number_of_the_tables(document):
    page, due = render_document(document, "html"), due_of(document)
    lines = {f["path"]: str(f["lines"]) for f in document["files"]}
    by_path = {path: [f for f in due if f["path"] == path] for path in sorted({f["path"] for f in due})}
    rows = table(page, "files")
    assert sorted(row[0] for row in rows) == list(by_path)
    for path, size, _, *numbers in rows:
        assert size == lines[path]
        assert list(map(int, numbers)) == [*counts(by_path[path], "status", STATUSES), len(by_path[path])]
    fields = re.findall(r'class="leaf" data-path="([^"]+)"><title>(\S+): (\d+)</title>', page)
    assert sorted(fields) == [(path, path, str(len(mine))) for path, mine in by_path.items()]
    for rule, summary in re.findall(r'id="rule-(PRT\d+)">(.*?)</summary>', page, re.S):
        mine = [f for f in document["findings"] if f["code"] == rule and f["suppressed"] is None]
        states = ["optional" if f["optional"] else f["status"] for f in mine]
        assert {k: int(n) for k, n in re.findall(r'st-(\w+)"><span class="n">(\d+)', summary)} == {
            s: states.count(s) for s in (*STATUSES, "optional") if s in states
        }
    assert [row[:3] for row in table(page, "apis")] == [
        [a["name"], str(a["count"]), str(a["files"])] for a in document["apis"]
    ]
    packages = table(page, "packages")
    assert [row[:2] for row in packages] == [[p["name"], str(p["files"])] for p in document["packages"]]
    for row, package in zip(packages, document["packages"]):
        used = [(part["name"], str(part["files"])) for part in package["names"]]
        assert re.findall(r"(\S+) \( ?(\d+) ?\)", row[3]) == used and row[4] == package["place"]
    assert any(package["names"] for package in document["packages"])
    variables = [f for f in due if f["code"] in ("PRT801", "PRT802", "PRT803")]
    names = {f["values"]["old"] for f in variables}
    assert {row[0]: row[1:3] for row in table(page, "variables")} == {
        name: [str(len(mine)), str(len({f["path"] for f in mine}))]
        for name in names
        for mine in [[f for f in variables if f["values"]["old"] == name]]
    }
    assert [[row[0].split()[0], *map(int, row[1:])] for row in table(page, "launchers")] == [
        [f"{o['path']}:{o['line']}", *counts(by_path.get(o["path"], []), "status", STATUSES)]
        for o in document["environment"]["launchers"]
    ]
    assert [row[:2] for row in table(page, "exports")] == [
        [o["variable"], o["value"]] for o in document["environment"]["exports"]
    ]


def test_every_number_in_a_sentence(document):
    """Each phrase that has room for a number, filled from the JSON, stands in the page in both languages."""
    page, due, summary = (
        plain(render_document(document, "html").replace("&#8239;", "")),
        due_of(document),
        document["summary"],
    )
    ready, codes = summary["readiness"], {f["code"] for f in due}
    evidence = document["route"]["evidence"][0]
    sentences = {
        "head.part": {**ready, "left": ready["places"] - ready["auto"]},
        "route.torch": {"files": evidence["files"]},
        "readiness.of": ready,
        "effort.paper": {"n": len(document["effort"]["items"]) - 5},
        "where.lead": {"found": len({f["path"] for f in due}), "scanned": len(document["files"])},
        "apis.lead": {"known": sum("code" in a for a in document["apis"]), "all": len(document["apis"])},
        "launchers.lead": {"n": len(document["environment"]["launchers"])},
        "suppressed.lead": {"n": sum(f["suppressed"] is not None for f in document["findings"])},
        "about.lead": {"version": document["porter"]},
        "about.read": {
            "scanned": len(document["files"]),
            "lines": sum(f["lines"] for f in document["files"]),
            "parsed": sum(f["parsed"] for f in document["files"]),
        },
        "origin.file": {"place": document["target"]["origin"]},
        "tile.auto": {"review": sum(f["status"] == "review" for f in due)},
    }
    assert codes and evidence["signal"] == "torch"
    for key, values in sentences.items():
        for lang in ("en", "zh"):
            assert plain(phrase(key, lang, **values).replace("`", " ")) in page, (key, lang)
    elsewhere = {  # test_numbers_of_other_repositories has them, test_headlines, and test_advice.py
        "style.counted",  # test_report_route.py
        "head.all", "head.none", "head.unseen", "route.seen", "baseline", "all-files", "all-apis", "all-launchers", "all-variables",
        "all-efforts", "head.resolved", "head.done", "progress.added", "progress.fixed",  # test_progress.py has these
        "entries.more", "tile.auto.one", "package.more", "left-alone.more", "left-alone.places", "exports.against", "advice.more", "left.places", "left.more",
    }  # fmt: skip
    labels = {"readiness.bar", "where.map", "verified.chart"}
    rooms = {key for key, en in words("page", "en").items() if "{" in en and not key.startswith("js.")}
    assert rooms == sentences.keys() | elsewhere | labels


@pytest.mark.slow
def test_numbers_of_other_repositories(tmp_path, monkeypatch):
    """Long tables say how long they are; a route of a framework says how many files speak for it."""
    files = {f"tool{n:02}.py": SCRIPT.format(n=n) for n in range(32)}
    moved = sorted(name for name, row in load().variables.items() if row.to)
    files |= {f"run{n:02}.sh": f"export {moved[n % len(moved)]}=1\npython tool{n:02}.py --train\n" for n in range(31)}
    files["one.py"] = "".join(f"from flash_attn import f{n}\n" for n in range(14))
    files["lib.py"] = "import torch\ntorch.nn.Linear\n" + "".join(f"torch.cuda.{name}()\n" for name in CALLS)
    files |= {
        f"wait{n}.py": f"import torch\n\ndef wrap():\n    torch.nn.DataParallel(torch.nn.Linear({n}, 1))\n\n\nwrap()\n"
        for n in range(3)
    }
    files |= {
        f"kernel{n}.py": f"import torch\nfrom {name} import run\n\ndef go():\n    run(1)\n"
        for n, name in enumerate(PACKAGES)
    }
    files["alone.sh"] = "taskset -c 0 python tool00.py --train\n"
    porter = made(monkeypatch, tmp_path / "r", {"setup.py": "", **files})
    porter("analyze", ".", "--write-baseline", "known.json", "--select", "PRT101")
    doc = json.loads(porter("analyze", ".", "--format", "json", "--baseline", "known.json").out)
    page = plain(render_document(doc, "html"))
    variables = {f["values"]["old"] for f in due_of(doc) if f["code"] in ("PRT801", "PRT802", "PRT803")}
    said = {
        "route.seen": {"files": doc["route"]["evidence"][0]["files"], "of": 43},
        "all-files": {"n": len({f["path"] for f in due_of(doc)})},
        "all-apis": {"n": len(doc["apis"])},
        "all-launchers": {"n": len(doc["environment"]["launchers"])},
        "all-variables": {"n": len(variables)},
        "entries.more": {"n": len(doc["entries"]) - 30},
        "package.more": {"n": 2},
        "baseline": {"n": sum(f["baseline"] for f in doc["findings"])},
        "exports.against": {"place": "alone.sh:1"},
        "left.places": {"n": 31},
        "left.more": {"n": sum(cause["severity"] == "blocker" for cause in doc["causes"]) - 6},
    }
    assert doc["route"]["name"] == "deepspeed" and doc["summary"]["baseline"] and len(doc["entries"]) == 32
    for key, values in said.items():
        for lang in ("en", "zh"):
            assert plain(phrase(key, lang, **values)) in page, (key, lang)


@pytest.mark.slow
def test_one_is_no_plural(tmp_path, monkeypatch):
    waits = "for x in loader:\n    loss = model(x.cuda())\n    loss.backward()\n    print(loss.item())\n"
    text = f"import torch\nfrom torch.nn import DataParallel\n\nmodel = DataParallel(net)\n{waits}"
    doc = json.loads(made(monkeypatch, tmp_path / "r", {"a.py": text})("analyze", ".", "--format", "json").out)
    assert doc["summary"]["left"] == {"stops": 1, "slows": 1, "aside": 0} and doc["summary"]["edits"]["automatic"] == 1
    page = plain(render_document(doc, "html"))
    for key, values in {"tile.stops.one": {}, "tile.slows.one": {}, "tile.auto.one": {"review": 0}}.items():
        assert plain(phrase(key, "en", **values)) in page, key


def test_headlines(document):
    def said(auto: int, places: int, **more) -> list[str]:
        ready = {"summary": {"readiness": {"auto": auto, "places": places}}}
        return [headline({**document, **ready, **more}, lang) for lang in ("en", "zh")]

    assert all("7" in text and "2" in text and "5" in text for text in said(2, 7))
    assert all("7" in text and "0" not in text for text in (*said(0, 7), *said(7, 7)))
    assert (
        said(0, 7)[0] != said(7, 7)[0] and said(0, 0)[0].startswith("Nothing") and "No file" in said(0, 0, files=[])[0]
    )
    head = {"en": "{auto} of {places}, {left} left", "zh": "{places} 处，{auto}，{left}"}
    assert said(2, 7, route={**document["route"], "head": head}) == ["2 of 7, 5 left", "7 处，2，5"]
    assert said(0, 0, route={**document["route"], "head": head})[0].startswith("Nothing")
    old = {**document["findings"][0], "code": "PRT002", "severity": "wrong", "suppressed": None}
    assert all("1" in text for text in said(0, 0, findings=[old])), "a file that was not analysed"
    assert said(0, 0, findings=[old], files=document["files"][:1])[0].startswith("No file could")
    assert said(0, 0, findings=[{**old, "severity": "note"}])[0].endswith("depends on CUDA.")


def test_the_script_has_every_finding(document):
    page = render_document(document, "html")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    mine, done = [], []
    for f in document["findings"]:
        (done if f["optional"] or f["status"] == "auto" else mine).append(f)
    assert mine and done, "what needs a person comes first, then as in the document"
    assert [row[0] for row in data["findings"]] == [f["fingerprint"] for f in (*mine, *done)]
    for row, f in zip(data["findings"], (*mine, *done)):
        assert data["paths"][row[1]] == f["path"] and row[2:4] == [f["line"], f["column"]]
        assert (SEVERITIES[row[5]], data["states"][row[6]]) == (
            f["severity"],
            "optional" if f["optional"] else f["status"],
        )
        values = data["values"][row[8]]
        text = data["whys"][row[4]][1] + "".join(more[1] for more in data["more"] if more[0] in values)
        assert re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), text) == f["message"]
        tags = [tag for tag, *_ in row[10]]
        assert ("+" in tags) == bool(f["edit"]) and ("*" in tags or "-" in tags)
    static = re.search(r"<noscript>(.*?)</noscript>", page, re.S)[1]
    assert re.findall(r'<li id="f-(\w+)"', static) and set(re.findall(r'<li id="f-(\w+)"', static)) == {
        f["fingerprint"] for f in document["findings"]
    }


@pytest.mark.slow
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


@pytest.mark.slow
def test_same_bytes(porter):
    first = porter("analyze", ".", "--format", "html").out
    assert porter("analyze", ".", "--format", "html", "-j", "2", "--no-cache").out == first
    assert str(porter.folder).encode() not in first


def test_what_cannot_be_seen_is_spelled_out():
    assert (
        shown("a\u202eb\x00\u200b\ufeff\udcff\U000e0041c\n\t中")
        == r"a\u202eb\x00\u200b\ufeff\xff\U000e0041c" + "\n\t中"
    )


@pytest.mark.slow
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
    sizes = {b.path: b.w * b.h / b.places for b in tops}
    assert max(sizes.values()) < 1.1 * min(sizes.values())
