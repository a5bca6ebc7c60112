"""The pages of the files in a browser: from the report and back, finding by finding, on any screen, for everybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser import Browser
from report_samples import HOSTILE, ORDINARY, made
from test_report_browser import AXE_FOUND, axe  # noqa: F401

from porter.report.pages import page_name

pytestmark = pytest.mark.slow
TRAIN = page_name("train.py")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        long = "a_long_name_of_a_module_" * 6
        more = {
            f"{long}/{long}.py": f"import torch\n\n\ndef f():\n    torch.cuda.{long}()\n    torch.cuda.synchronize()\n",
            "tall.py": "import torch\n\ntorch.cuda.synchronize()\n"
            + "x = 1\n" * 1_500,  # 1,503 lines, as the table has it
        }
        porter = made(patch, folder / "r", {**ORDINARY, **HOSTILE, **more})
        porter("analyze", ".", "--output", "../site/", "--source-url", "https://host/{path}#L{line}")
    return folder / "site"


def test_every_page_opens(browser: Browser, site):
    """No error, nothing asked for, nothing wider than the screen, wide or narrow."""
    pages = sorted(site.glob("*.html"))
    assert len(pages) > 10
    for file in pages:
        page = browser.open(file, 390)
        assert page.errors == page.asked == [], file.name
        for width in (390, 1280):
            page.show(width, False)
            assert page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, (
                file.name
            )
        assert file.name == "index.html" or page.run("document.querySelectorAll('.hit').length") > 0


KEYS = """
(function () {
  var at = [], press = function (key, more) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", Object.assign({ key: key, bubbles: true, cancelable: true }, more)));
    at.push([location.hash.slice(3), document.activeElement.id.slice(2)]);
  };
  "jjnkpp".split("").forEach(function (key) { press(key); });
  press("k");
  press("j", { ctrlKey: true });
  for (var n = 0; n < 99; n++) press("n");
  return { at: at, all: Array.from(document.querySelectorAll(".hit")).map(function (hit) { return hit.id.slice(2); }), steps: history.length };
})()
"""


def test_keys_lead_from_finding_to_finding(browser, site):
    page = browser.open(site / TRAIN)
    steps = page.run("history.length")
    said = page.run(KEYS)
    marks = said["all"]
    walk = [marks[n] for n in (0, 1, 2, 1, 0, 0, 0, 0)] + marks[1:]
    assert said["at"][: len(walk)] == [[mark, mark] for mark in walk]
    assert said["at"][-1] == [marks[-1]] * 2 and said["steps"] == steps, "Back leads out of the page"
    fresh = browser.open(site / TRAIN, hash=f"#f-{marks[2]}")
    fresh.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', bubbles: true }))")
    assert fresh.run("location.hash") == f"#f-{marks[1]}"
    links = page.run(
        "Array.from(document.querySelectorAll('.hit .steps a[href^=\"#\"]')).map(function (a) { return a.hash; })"
    )
    assert links == [
        f"#f-{mark}" for n in range(len(marks)) for mark in marks[max(n - 1, 0) : n + 2] if mark != marks[n]
    ]


THERE = """
(function () {
  var one = function (s) { return document.querySelector(s); };
  one('[data-lang="zh-Hans"]').click();
  document.querySelectorAll("#severity input")[0].click();
  var link = Array.from(document.querySelectorAll("#list .at a")).find(function (a) { return /^train\\.py:/.test(a.textContent); });
  link.dispatchEvent(new Event("pointerdown", { bubbles: true }));
  var table = one("table.files tbody a");
  table.dispatchEvent(new Event("pointerdown", { bubbles: true }));
  return [link.getAttribute("href"), link.textContent, table.getAttribute("href")];
})()
"""
BACK = """
Array.from(document.querySelectorAll("a[data-lead]")).map(function (a) { return [a.dataset.lead, a.getAttribute("href")]; })
"""


def test_the_way_back_keeps_the_filters(browser, site):
    href, text, table = browser.open(site / "index.html").run(THERE)
    assert href == f"{TRAIN}?lang=zh-Hans&severity=blocker#L{text.partition(':')[2]}"
    assert table.endswith(".html?lang=zh-Hans&severity=blocker")
    page = browser.open(site / TRAIN, hash=href.removeprefix(TRAIN))
    assert page.run("document.documentElement.lang") == "zh-Hans"
    leads = page.run(BACK)
    assert leads[0] == ["back", "index.html?lang=zh-Hans#findings?severity=blocker"]
    assert all(link.endswith(".html?lang=zh-Hans&severity=blocker") for kind, link in leads if kind == "file")
    assert all(link.startswith("index.html?lang=zh-Hans#rule-PRT") for kind, link in leads if not kind)
    page.run("document.querySelector('[data-lang=en]').click()")
    assert page.run(BACK)[0][1] == "index.html?lang=en#findings?severity=blocker" and page.run(
        "document.title"
    ).endswith("train.py")
    index = browser.open(site / "index.html", hash=leads[0][1].removeprefix("index.html"))
    assert index.run(
        "[document.documentElement.lang, document.querySelectorAll('#severity input:checked').length]"
    ) == ["zh-Hans", 1]
    assert page.errors == index.errors == []


def test_an_address_that_means_harm_does_none(browser, site):
    for asked in (
        "?lang=fr&<b>=<script>",
        "?lang=zh-Hans%22&q=%22%3E%3Cimg%20src=x%3E#f-",
        "?javascript:alert(1)//&&&=#L%00",
    ):
        page = browser.open(site / TRAIN, hash=asked)
        assert page.errors == [] and page.run("document.documentElement.lang") == "en"
        back = page.run("document.querySelector('[data-lead=back]').href")
        assert back.startswith((site / "index.html").as_uri() + "?lang=en#findings")
        assert page.run("document.querySelectorAll('img, b script').length") == 0


SORTED = """
(function () {
  var heads = Array.from(document.querySelectorAll("table.files th .sorts"));
  var cells = function (at) { return Array.from(document.querySelectorAll("table.files tbody tr")).map(function (row) { return row.cells[at].textContent; }); };
  return heads.map(function (head) {
    var cell = head.parentNode, at = cell.cellIndex, said = [];
    head.click();
    said.push([cell.getAttribute("aria-sort"), cells(at)]);
    head.click();
    said.push([cell.getAttribute("aria-sort"), cells(at)]);
    return [at, said, document.querySelectorAll("[aria-sort]").length];
  });
})()
"""


def test_the_table_of_files_can_be_sorted(browser, site):
    columns = browser.open(site / "index.html").run(SORTED)
    assert len(columns) == 6
    for at, said, marked in columns:
        key = str if at == 0 else lambda text: int(text.replace(",", ""))
        (_, first), (_, second) = said
        assert [way for way, _ in said] == (["ascending", "descending"] if at == 0 else ["descending", "ascending"])
        assert list(map(key, first)) == sorted(map(key, first), reverse=at > 0) and marked == 1
        assert list(map(key, second)) == sorted(map(key, first), reverse=at == 0)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide-light", "narrow-dark"])
def test_nobody_is_shut_out(browser, axe, site, width, dark):  # noqa: F811
    for name in (TRAIN, page_name("lib/attention.py"), page_name("wide.py"), page_name("run.sh"), "index.html"):
        page = browser.open(site / name, width, dark)
        page.run(axe + "; document.querySelectorAll('details').forEach(function (node) { node.open = true; }); 0")
        for lang in ("en", "zh-Hans") if name == TRAIN else ("en",):
            page.run(f"document.querySelector('[data-lang={json.dumps(lang)}]').click()")
            found = page.run(f"axe.run(document).then({AXE_FOUND})")
            assert found["rules"] > 15 and found["serious"] == [], (name, lang)
