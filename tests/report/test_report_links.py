"""--source-url: places of the report lead to where the files can be read, and no template leads elsewhere."""

from __future__ import annotations

import html
import json
import os
import re

import pytest
from command_line import git
from report_samples import ORDINARY, made

from porter.report import render_document
from porter.report.links import Links

GITHUB = "https://github.com/o/r/blob/{commit}/{path}#L{line}"
COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(
        monkeypatch, tmp_path / "r", {**ORDINARY, 'a b/c#&"é{line}.py': "import torch\ntorch.cuda.synchronize()\n"}
    )


def linked(page: str) -> set[str]:
    return {html.unescape(link) for link in re.findall(r'href="([^"]+)"', page) if "host/" in link}


@pytest.mark.slow
def test_places_of_the_page_link_there(porter):
    template = "https://host/o/r/blob/main/{path}?x=1#L{line}"
    document = json.loads(porter("analyze", ".", "--format", "json", "--source-url", template).out)
    assert document["project"] == {"name": "r", "source_url": template}
    page = porter("analyze", ".", "--format", "html", "--source-url", template).text
    assert page.strip() == render_document(document, "html").strip(), "porter report makes the same page"
    shown = {
        f"https://host/o/r/blob/main/{path}?x=1#L{line}"
        for path, line in [("train.py", 8), ("lib/old.py", 2), ("run.sh", 3)]
    }
    odd = "https://host/o/r/blob/main/a%20b/c%23%26%22%C3%A9%7Bline%7D.py?x=1#L2"
    assert shown | {odd} <= linked(page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert odd.replace("#L2", "#L{line}") in data["links"] and len(data["links"]) == len(data["paths"])
    assert "--source-url &#39;https://host" in page, "the command that makes it again"


@pytest.mark.slow
def test_the_commit_is_filled_in(porter):
    git(porter.folder, "init", "-q")
    git(porter.folder, "commit", "-q", "--allow-empty", "-m", "x")
    commit = git(porter.folder, "rev-parse", "HEAD").strip()
    page = porter("analyze", ".", "--format", "html", "--source-url", "https://host/{commit}/{path}").text
    assert f"https://host/{commit}/train.py" in linked(page)


@pytest.mark.slow
def test_without_it_nothing_links(porter):
    page = porter("analyze", ".", "--format", "html").text
    assert '"links":[]' in page and 'rel="noreferrer"><code class="place">' not in page


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("https://github.com/o/r", "{path} is missing"),
        ("github.com/{path}", "no web address"),
        ("javascript:alert(1)//{path}", "no web address"),
        ("ftp://host/{path}", "no web address"),
        ("file:///{path}", "no web address"),
        ("https://{path}/x", "no web address"),
        ("https://host{path}", "no web address"),
        ("https://user:word@host/{path}", "no web address"),
        ('https://host/"onclick=x/{path}', "no web address"),
        ("https://host/{path}\n", "no web address"),
        ("https://host/{pat}", "{pat} is none of {path}, {line}, {commit}; did you mean 'path'?"),
        ("https://host/{path}/{}", "{} is none of"),
        ("https://host/{path!r}", "braces stand around path, line or commit"),
        ("https://host/{path:9}", "braces stand around path, line or commit"),
        ("https://host/{{path}}", "braces stand around path, line or commit"),
        ("https://host/{path", "braces stand around path, line or commit"),
        ("https://host/{commit}/{path}", "name a branch or a tag instead of {commit}"),
    ],
)
def test_a_bad_template_is_one_line(porter, template, said):
    answer = porter("analyze", ".", "--output", "r.html", "--source-url", template)
    assert answer.code == 2 and answer.out == b"" and not (porter.folder / "r.html").exists()
    assert said in answer.err and len(answer.err.strip().splitlines()) == 1
    chinese = porter("analyze", ".", "--source-url", template, "--lang", "zh")
    assert chinese.code == 2 and chinese.err != answer.err and len(chinese.err.strip().splitlines()) == 1
    about = {"name": "r", "source_url": template}
    assert Links({"project": about}).of("a.py:1") == "", "nor from a file that somebody wrote by hand"


def test_values_are_encoded():
    links = Links({"project": {"commit": COMMIT, "source_url": GITHUB}})
    start = f"https://github.com/o/r/blob/{COMMIT}/"
    assert links.of("a/b.py:12") == f"{start}a/b.py#L12"
    assert links.of("tools") == f"{start}tools#L1"
    assert links.of("50%25 <b>?#.py:3") == f"{start}50%2525%20%3Cb%3E%3F%23.py#L3"
    assert links.of("a:b:7") == f"{start}a%3Ab#L7"
    assert links.of(os.fsdecode(b"\xe9.py:1")) == f"{start}%E9.py#L1"
    assert links.of("\u202e{commit}.py:1") == f"{start}%E2%80%AE%7Bcommit%7D.py#L1"
