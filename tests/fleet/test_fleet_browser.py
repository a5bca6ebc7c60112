"""The page of a fleet in a browser: sorted, searched, in both languages, on a narrow screen; nothing fetched, no error."""

from __future__ import annotations

import pytest
from test_summary import FLASH, VLLM, made, row

from porter.fleet.page import page

pytestmark = pytest.mark.slow
MANY = 5_000

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
    assert said["found"] == ["r-4321"] and said["met"] == f"1 / {MANY}"
    assert (said["first"], said["cleared"], said["whole"]) == (30, 30, MANY)
    assert (said["dearest"], said["cheapest"]) == (by_cost[-1], by_cost[0])
    assert "个仓库" in said["title"] and "仓库迁移排序" in said["title"]
    assert (shown.asked, shown.errors) == ([], [])


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_nothing_leaves_the_screen(browser, file, width, dark):
    shown = browser.open(file[0], width, dark)
    assert shown.run("document.documentElement.scrollWidth <= window.innerWidth") and shown.errors == []
