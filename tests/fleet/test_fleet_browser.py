"""The page of a fleet in a browser: sorted, searched, in both languages, on a narrow screen; nothing fetched, no error."""

from __future__ import annotations

import pytest
from test_summary import FLASH, ROWS, VLLM, made, obstacle, row

from porter.fleet.page import page

pytestmark = pytest.mark.slow
MANY = 5_000
SEARCHED = "document.querySelector('#find').dispatchEvent(new Event('input'))"

STEPS = """
(async function () {
  var said = {}, all = function (s) { return Array.from(document.querySelectorAll(s)); };
  var body = function () { return all("table.repositories tbody tr"); };
  var seen = function () { return body().filter(function (r) { return r.getClientRects().length; }).map(function (r) { return r.cells[1].textContent; }); };
  var find = function (text) { var box = document.querySelector("#find"); box.value = text; box.dispatchEvent(new Event("input")); };
  said.first = seen().length;
  find("r-4321");
  said.found = seen();
  said.met = document.querySelector("#met").textContent;
  find("");
  said.cleared = seen().length;
  var head = all("table.repositories thead button")[5];
  head.click();
  said.dearest = seen()[0];
  head.click();
  said.cheapest = seen()[0];
  find("r-4321");
  document.querySelector("[data-unclip=repositories]").click();
  said.whole = seen().length;
  document.querySelector('[data-lang="zh-Hans"]').click();
  said.title = document.querySelector("h1").innerText + document.title;
  return said;
})()
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rows = {f"r-{n}": row(*([FLASH, VLLM][: n % 3]), minutes=(n, 480 + n * 7 % 90_001)) for n in range(MANY)}
    found = tmp_path_factory.mktemp("page") / "index.html"
    found.write_text(page(made(rows)), "utf-8")
    return found, rows


def test_five_thousand_rows_are_sorted_and_searched(browser, file):
    path, rows = file
    shown = browser.open(path)
    said = shown.run(STEPS)
    by_cost = sorted(rows, key=lambda name: rows[name]["minutes"][1])
    assert said["found"] == ["r-4321"] and said["met"] == f"1 / {MANY:,}"
    assert (said["first"], said["cleared"], said["whole"]) == (30, 30, MANY)
    assert (said["dearest"], said["cheapest"]) == (by_cost[-1], by_cost[0])
    assert "个仓库" in said["title"] and "仓库迁移排序" in said["title"]
    assert (shown.asked, shown.errors) == ([], [])


def test_what_is_counted_leads_to_the_rows_that_are_counted(browser, tmp_path):
    """A tile and the number of an obstacle show those repositories alone, also those that name it after others."""
    many = row(*(obstacle(name) for name in ("a-one", "a-three", "a-two")), FLASH)
    path = tmp_path / "index.html"
    path.write_text(page(made({**ROWS, "many": many})), "utf-8")
    shown = browser.open(path)
    seen = (
        "Array.from(document.querySelectorAll('table.repositories tbody tr')).filter(r => r.getClientRects().length)"
        ".map(r => r.cells[1].textContent)"
    )

    def click(what: str) -> list[str]:
        return shown.run(f"document.querySelector('{what}').click(); {seen}")

    assert click("[data-find=flash-attn]") == ["one", "kernel", "two", "many"]
    assert shown.run("document.querySelector('[data-find=flash-attn]').innerText") == "4 of 9"
    for lang in ("en", "zh-Hans"):
        shown.run(f"document.querySelector('[data-lang={lang}]').click()")
        assert click("[data-stage=clear]") == ["wrong", "cheap", "dear"]
        assert click("[data-stage=failed]") == ["bad"]
        assert click("[data-stage=blocked]") == ["one", "kernel", "two", "many"]
    assert (
        shown.run(f"document.querySelector('#find').value = ''; {SEARCHED}; {seen}.length") == 9 and shown.errors == []
    )


def test_what_has_no_value_is_sorted_last_either_way(browser, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(page(made(ROWS)), "utf-8")
    shown = browser.open(path)
    for _ in range(2):
        names = shown.run(
            "document.querySelectorAll('table.repositories thead button')[5].click();"
            "Array.from(document.querySelectorAll('table.repositories tbody tr')).map(r => r.cells[1].textContent)"
        )
        assert sorted(names[-2:]) == ["bad", "none"], names


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_nothing_leaves_the_screen(browser, file, width, dark):
    shown = browser.open(file[0], width, dark)
    assert shown.run("document.documentElement.scrollWidth <= window.innerWidth") and shown.errors == []
