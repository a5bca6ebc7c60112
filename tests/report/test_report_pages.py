"""The report as a folder: a page for each file, safe names, and nothing of anybody else's touched."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path

import pytest
from report_samples import HOSTILE, ORDINARY, made
from test_report_html import Page, plain

from porter.files.pages import HEADER, RECORD
from porter.report.pages import page_name

pytestmark = pytest.mark.slow  # a tenth of a second each

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# not code"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["import torch\n", "x = torch.ones(2)"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["y = x.cuda()\n", "print('\\u4e2d')"]},
    ],
    "metadata": {"kernelspec": {"name": "python3", "language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
KINDS = {
    "train.ipynb": json.dumps(NOTEBOOK, indent=1),
    "flat.ipynb": json.dumps(NOTEBOOK),
    "Dockerfile": "FROM nvidia/cuda:12.1.0-devel-ubuntu22.04\nRUN nvidia-smi\n",
    "conf/run.yaml": "backend: nccl\ndevice: cuda\n",
    "latin.py": "# -*- coding: latin-1 -*-\nimport torch\nname = '\xe9t\xe9'\ntorch.cuda.synchronize()\n".encode(
        "latin-1"
    ),
    "zero.py": b"import torch\x00\ntorch.cuda.synchronize()\n",
}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", ORDINARY)


def written(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text("utf-8") for file in sorted(folder.iterdir()) if file.suffix == ".html"}


def rows(page: str) -> dict[str, str]:
    """The text of each line that has an anchor."""
    found = re.findall(r'<p[^>]*><a id="(L\d+)" href="#\1" tabindex="-1">\d+</a>(.*?)</p>', page)
    return {anchor: html.unescape(re.sub(r"<[^>]+>", "", code)) for anchor, code in found}


def test_a_page_for_each_file_with_findings(porter):
    answer = porter("analyze", ".", "--output", "site/")
    document = json.loads(porter("analyze", ".", "--format", "json").out)
    pages = written(porter.folder / "site")
    paths = {f["path"] for f in document["findings"]}
    assert answer.code == 1 and pages.keys() == {"index.html", *map(page_name, paths)}
    for path in paths:
        page, mine = pages[page_name(path)], [f for f in document["findings"] if f["path"] == path]
        assert list(rows(page).values()) == ORDINARY[path].splitlines()
        hits = re.findall(r'<article class="hit edge-(\w+)" id="f-(\w+)".*?</article>', page, re.S)
        assert sorted(hits) == sorted((f["severity"], f["fingerprint"]) for f in mine)
        for f in mine:
            before = page[: page.index(f'id="f-{f["fingerprint"]}"')]
            assert re.findall(r'id="L(\d+)"', before)[-1] == str(f["line"])
            # a tag is a space in plain text: `x`: y
            assert f["message"].replace("`", "").replace(" ", "") in plain(page).replace(" ", "")
        edited = sum(bool(f["edit"]) for f in mine)
        assert page.count('class="r plus"') >= edited and (edited or 'class="r plus"' not in page)
    assert "measured on GPUs" in plain(pages[page_name("train.py")]), "the reason of what is suppressed"


def test_links_lead_somewhere(porter):
    porter("analyze", ".", "--output", "site/", "--source-url", "https://host/r/{path}#L{line}")
    texts = written(porter.folder / "site")
    pages = {name: Page(text) for name, text in texts.items()}
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)) and page.sources == []
        for link in page.links:
            if link.startswith("https://"):
                continue
            target, _, anchor = link.partition("#")
            assert not anchor or anchor.partition("?")[0] in pages[target or name].ids, (name, link)
        assert "index.html#findings" in page.links or name == "index.html"
    index = texts["index.html"]
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', index, re.S)[1])
    assert data["links"] == [f"{page_name(path)}#L{{line}}" for path in data["paths"]]
    assert f'<th scope="row"><a href="{page_name("train.py")}">train.py</a></th>' in index
    assert "https://host/r/train.py#L8" in pages[page_name("train.py")].links


def test_both_languages(porter):
    porter("analyze", ".", "--output", "zh/", "--lang", "zh")
    porter("analyze", ".", "--output", "en/")
    zh, en = (written(porter.folder / lang)[page_name("train.py")] for lang in ("zh", "en"))
    assert '<html lang="zh-Hans">' in zh and 'aria-label="源码"' in zh
    assert '<html lang="en">' in en and 'aria-label="Source"' in en
    for page in (zh, en):
        assert "返回报告" in page and "Previous finding" in page


def test_same_bytes(porter):
    porter("analyze", ".", "--output", "one/")
    porter("analyze", ".", "--output", "two/", "-j", "2", "--no-cache")
    assert written(porter.folder / "one") == written(porter.folder / "two")
    assert not any(str(porter.folder) in text for text in written(porter.folder / "one").values())


def test_the_report_as_one_page_stays_what_it_is(porter):
    one = porter("analyze", ".", "--format", "html").out.decode()
    porter("analyze", ".", "--output", "site/")
    assert "data-lead" not in one and ".sheet" not in one and '"links":[]' in one
    assert porter("analyze", ".", "--format", "html").out.decode() == one


def test_every_kind_of_file(tmp_path, monkeypatch):
    porter = made(monkeypatch, tmp_path / "r", {"setup.py": "", **HOSTILE, **KINDS})
    porter("analyze", ".", "--output", "../site/")
    document = json.loads(porter("analyze", ".", "--format", "json").out)
    pages = written(tmp_path / "site")
    assert {f["path"] for f in document["findings"]} >= {*HOSTILE, *KINDS} - {"setup.py"}
    for path in {*HOSTILE, *KINDS} - {"setup.py"}:
        page = Page(pages[page_name(path)])
        assert {f"f-{f['fingerprint']}" for f in document["findings"] if f["path"] == path} <= set(page.ids), path
    cells = rows(pages[page_name("train.ipynb")])
    assert list(cells.values()) == ["import torch", "x = torch.ones(2)", "y = x.cuda()", r"print('\u4e2d')"]
    assert "not code" not in pages[page_name("train.ipynb")] and "Cell 2" in pages[page_name("train.ipynb")]
    flat = pages[page_name("flat.ipynb")]
    assert rows(flat) == {"L1": "import torch"} and "torch.ones" in plain(flat).replace(" ", "")
    assert flat.index("y = x.") < flat.index('class="hit ')
    assert rows(pages[page_name("latin.py")])["L3"] == "name = 'été'"
    assert rows(pages[page_name("bad.py")])["L2"] == r"x = '\xff\xfe'"
    zero = pages[page_name("zero.py")]
    assert rows(zero) == {} and "The source is not shown" in zero
    wide = pages[page_name("wide.py")]
    assert len(wide) < 100_000 and "more characters" in wide
    changed = [plain(row) for row in re.findall(r'<span class="r \w+">(.*?)</span></span>', wide)]
    assert [re.sub("y+", "y", row) for row in changed] == [
        "2 − … y'; torch.cuda.synchronize() …",
        "+ … y'; torch.npu.synchronize() …",
    ]


def test_hostile_sources_stay_text(tmp_path, monkeypatch):
    porter = made(monkeypatch, tmp_path / "r", HOSTILE)
    porter("analyze", ".", "--output", "../site/")
    for page in written(tmp_path / "site").values():
        assert "<img" not in page and "<script>document" not in page
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)
        assert page.count("<script") == page.count("</script>") == 3
    name = "a<b>&'x.py"
    page = written(tmp_path / "site")[page_name(name)]
    assert html.escape(name, quote=True).replace("&#x27;", "&#39;") in page
    assert r"\u202eevil\x07" in rows(page)["L2"]


@pytest.mark.slow
def test_a_large_file(tmp_path, monkeypatch):
    text = (
        "import torch\n"
        + "x = 1  # what a program of two megabytes is made of\n" * 40_000
        + "torch.cuda.synchronize()\n"
    )
    porter = made(monkeypatch, tmp_path / "r", {"large.py": text})
    porter("analyze", ".", "--output", "../site/")
    page = written(tmp_path / "site")[page_name("large.py")]
    assert len(text) > 2_000_000 and len(page) < 3 * len(text)
    assert len(rows(page)) == 40_002 and page.index('id="L40002"') < page.index('class="hit ')


@pytest.mark.parametrize("kept", [64_000_000, 0])
def test_a_file_that_changed_meanwhile(porter, monkeypatch, kept):
    """A page shows the lines that were analysed, where the run still has them."""
    from porter.files import read
    from porter.report import pages

    monkeypatch.setattr(read, "_KEPT", kept)

    ask = pages.document_of

    def then_saved(report):
        document = ask(report)
        (porter.folder / "lib/util.py").write_text("# saved by an editor\n")
        return document

    monkeypatch.setattr(pages, "document_of", then_saved)
    porter("analyze", ".", "--output", "site/")
    page = written(porter.folder / "site")[page_name("lib/util.py")]
    assert "saved by an editor" not in page and 'class="hit ' in page
    assert (rows(page) == {}) is ("has changed since it was analysed" in page) is (kept == 0)


NAMES = ["con.py", "CON.py", "Con.py", "a/b.py", "a_b.py", "a\\b.py", "A/b.py", "aux", "nul.txt", "x.", "x ", "x", ".",
         "index.html", "e\u0301.py", "\xe9.py", "\udcff.py", "\ud800.py", "a" * 250, "中/文.py", "a:b", "a?b", "-rf", "~"]  # fmt: skip


def test_names_of_pages():
    names = [page_name(path) for path in NAMES]
    assert len({name.lower() for name in names}) == len(NAMES)
    for name in names:
        assert re.fullmatch(r"[a-z0-9][a-z0-9_]*-[a-z2-7]{24}\.html", name) and len(name) <= 80
    assert (
        page_name("lib/util.py")
        == names_again(page_name("lib/util.py"))
        == "lib_util_py-" + page_name("lib/util.py")[12:]
    )


def names_again(name: str) -> str:
    """What a file system that keeps no case, and no dot at the end, makes of it."""
    return name.lower().rstrip(". ")


def test_what_porter_wrote_is_replaced(porter):
    site = porter.folder / "site"
    porter("analyze", ".", "--output", "site/")
    first = written(site)
    (site / "CNAME").write_text("mine")
    (porter.folder / "lib/util.py").unlink()
    (porter.folder / "new.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    answer = porter("analyze", ".", "--output", "site")
    assert answer.code == 1 and answer.err == ""
    second = written(site)
    assert second.keys() == first.keys() - {page_name("lib/util.py")} | {page_name("new.py")}
    assert (site / "CNAME").read_text() == "mine" and second["index.html"] != first["index.html"]


def refused(porter, folder: str = "site/") -> str:
    """What is said; exit 2, in one line, and nothing is written."""
    before = {file: file.lstat() for file in sorted(porter.folder.rglob("*"))}
    contents = {file: file.read_bytes() for file in before if file.is_file()}
    answer = porter("analyze", ".", "--output", folder)
    assert answer.code == 2 and answer.err.count("\n") == 1 and answer.err.startswith("porter: ")
    after = {file for file in porter.folder.rglob("*") if file.name != RECORD + ".lock"}
    assert after == before.keys() and contents == {file: file.read_bytes() for file in contents}
    return answer.err


def test_a_folder_of_somebody_elses(porter):
    (porter.folder / "site").mkdir()
    porter("analyze", ".", "--output", "site/")
    assert written(porter.folder / "site"), "an empty one is taken"
    assert "not empty" in refused(porter, "lib/") and "not empty" in refused(porter, ".")
    (porter.folder / "file.html").write_text("mine")
    assert "cannot be written" in refused(porter, "file.html/")


@pytest.mark.parametrize(
    "record",
    [b"", b"[]", b'{"porter-pages": 2}\n', HEADER + b'["../x.html", "00"]\n', HEADER + b'["a/b.html", "00"]\n', HEADER + b"[1, 2]\n",
     HEADER + b'["CON.html", "00"]\n', HEADER + b"x\n", HEADER + b"[" * 100_000 + b"\n", b"\xff\x00"],
)  # fmt: skip
def test_a_record_that_porter_did_not_write(porter, record):
    (porter.folder / "site").mkdir()
    (porter.folder / "site" / RECORD).write_bytes(record)
    assert "not empty" in refused(porter)


@pytest.mark.slow
def test_a_page_that_somebody_changed(porter):
    porter("analyze", ".", "--output", "site/")
    page = porter.folder / "site" / page_name("train.py")
    page.write_text("mine")
    assert "changed by someone" in refused(porter)
    page.unlink()
    page.mkdir()
    assert "in the way" in refused(porter)
    page.rmdir()
    assert porter("analyze", ".", "--output", "site/").code == 1 and page.read_text() != "mine"
    page.write_text("mine")
    (porter.folder / "train.py").write_text("")
    assert porter("analyze", ".", "--output", "site/").code == 1 and page.read_text() == "mine", (
        "it is nobody's page now"
    )


@pytest.mark.skipif(os.name == "nt", reason="links need a right of their own")
def test_links_in_the_folder_are_not_followed(porter, tmp_path):
    porter("analyze", ".", "--output", "site/")
    site, outside = porter.folder / "site", tmp_path / "outside"
    outside.write_bytes((site / "index.html").read_bytes())
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(outside)
    assert "in the way" in refused(porter) and "porter" in outside.read_text("utf-8")
    (site / "index.html").unlink()
    kept = outside.read_bytes()
    for name in (".new", ".tmp"):
        (site / (RECORD + name)).symlink_to(outside)
    assert porter("analyze", ".", "--output", "site/").code == 1 and outside.read_bytes() == kept
    (site / RECORD).rename(tmp_path / "record")
    (site / RECORD).symlink_to(tmp_path / "record")
    assert "not empty" in refused(porter)


@pytest.mark.slow
def test_a_run_that_was_killed(porter, monkeypatch):
    """Whatever was written up to there is known to the next run."""
    from porter.report.pages import Site

    for stops in (1, 2, 4):
        porter("analyze", ".", "--output", "site/", "--lang", "en")
        pages = Site.pages

        def some(site, pages=pages, stops=stops):
            for n, page in enumerate(pages(site)):
                if n == stops:
                    raise KeyboardInterrupt
                yield page

        with monkeypatch.context() as patch:
            patch.setattr(Site, "pages", some)
            porter("analyze", ".", "--output", "site/", "--lang", "zh")
        assert porter("analyze", ".", "--output", "site/", "--lang", "zh").code == 1
        texts = written(porter.folder / "site").values()
        assert all('<html lang="zh-Hans">' in text for text in texts) and len(texts) > 4


def test_migrate_writes_pages_of_what_was_found(porter):
    answer = porter("migrate", ".", "--inplace", "--output", "../site/", "--allow-dirty")
    pages = written(porter.folder.parent / "site")
    assert answer.code == 0 and "torch.npu" in (porter.folder / "lib/util.py").read_text()
    assert rows(pages[page_name("lib/util.py")])["L5"] == "    torch.cuda.synchronize()"


def test_a_report_from_a_file_has_no_pages(porter):
    porter("analyze", ".", "--output", "found.json")
    answer = porter("report", "found.json", "--output", "site/")
    assert answer.code == 2 and "porter analyze" in answer.err and not (porter.folder / "site").exists()
    assert "or / for a folder" in porter("analyze", ".", "--output", "site").err
