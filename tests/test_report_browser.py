"""The HTML page in a browser: filters, links, languages, paper; no error, nothing fetched."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest
from report_samples import HOSTILE, ORDINARY, made

from porter.report import render_document

QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")  # fmt: skip


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return made(monkeypatch, tmp_path / "r", ORDINARY)


@pytest.fixture
def document(porter):
    return json.loads(porter("analyze", ".", "--format", "json").out)


STEPS = """
(async function () {
  var said = {}, all = function (s) { return document.querySelectorAll(s); };
  var one = function (s) { return document.querySelector(s); };
  var change = function (id, value, kind) {
    one(id).value = value;
    one(id).dispatchEvent(new Event(kind || "change"));
  };
  said.open = all("#list > li").length;
  change("#q", "synchronize", "input");
  said.searched = Array.from(all("#list .at")).map(function (n) { return n.textContent; });
  one("#clear").click();
  all("#severity input")[0].click();
  said.blockers = all("#list > li").length;
  one("#clear").click();
  change("#code", "PRT205");
  said.code = Array.from(all("#list .code")).map(function (n) { return n.textContent; });
  one("#list button").click();
  said.detail = one("#list .detail").textContent;
  one("#clear").click();
  one('[data-lang="zh-Hans"]').click();
  said.chinese = [document.documentElement.lang, one("#list .sev").textContent, one("h1").innerText];
  location.hash = "f-" + DEEP;
  await new Promise(function (r) { addEventListener("hashchange", function () { setTimeout(r, 0); }); });
  said.deep = one("#row-" + DEEP + " button").getAttribute("aria-expanded");
  location.hash = "findings?severity=wrong";
  await new Promise(function (r) { addEventListener("hashchange", function () { setTimeout(r, 0); }); });
  said.wrong = all("#list > li").length;
  dispatchEvent(new Event("beforeprint"));
  said.paper = all("#paper li").length;
  said.folds = all("details:not([open])").length;
  dispatchEvent(new Event("afterprint"));
  said.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  said.asked = performance.getEntriesByType("resource").length;
  said.errors = window.errors;
  said.title = document.title;
  document.body.textContent = "SAID" + JSON.stringify(said) + "DONE";
})();
"""


def browsed(browser: str, folder: Path, page: str, deep: str, width: int) -> dict:
    """What the page does when somebody uses it, written by a script that stands behind its own."""
    watch = "<script>window.errors=[];addEventListener('error',e=>errors.push(String(e.message)));"
    watch += "addEventListener('securitypolicyviolation',e=>errors.push(e.blockedURI));"
    watch += "console.error=m=>errors.push(String(m))</script>"
    steps = f"<script>var DEEP={json.dumps(deep)};{STEPS}</script>"
    file = folder / "page.html"
    file.write_text(page.replace("<style>", watch + "<style>", 1).replace("</body>", steps + "</body>"), "utf-8")
    words = (
        browser,
        *QUIET,
        f"--user-data-dir={folder}/profile",
        f"--window-size={width},900",
        "--virtual-time-budget=9000",
        "--dump-dom",
    )
    done = subprocess.run([*words, file.as_uri()], capture_output=True, text=True, timeout=120, encoding="utf-8")
    found = re.search(r"SAID(\{.*\})DONE", done.stdout, re.S)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@pytest.mark.parametrize("width", [1280, 500])
def test_in_a_browser(needs_chromium, document, tmp_path, width):
    loud = [f for f in document["findings"] if f["suppressed"] is None]
    deep = loud[-1]["fingerprint"]
    said = browsed(needs_chromium, tmp_path, render_document(document, "html"), deep, width)
    assert said["errors"] == [] and said["asked"] == 0 and said["wide"] <= 0
    assert said["open"] == len(loud)
    assert said["searched"] == ["lib/util.py:5"]
    assert said["blockers"] == sum(f["severity"] == "blocker" for f in loud)
    assert said["code"] == ["PRT205"] and "DistributedDataParallel" in said["detail"]
    assert (
        said["chinese"][:2] == ["zh-Hans", "阻断"]
        and "处" in said["chinese"][2]
        and "porter ports" not in said["chinese"][2]
    )
    assert said["deep"] == "true"
    assert said["wrong"] == sum(f["severity"] == "wrong" for f in loud)
    assert said["paper"] == len(document["findings"]) and said["folds"] == 0


def test_a_hostile_repository_in_a_browser(needs_chromium, tmp_path, monkeypatch):
    porter = made(
        monkeypatch,
        tmp_path / "r",
        {**HOSTILE, "lib/util.py": ORDINARY["lib/util.py"], "train.py": ORDINARY["train.py"]},
    )
    doc = json.loads(porter("analyze", ".", "--format", "json").out)
    deep = next(f["fingerprint"] for f in doc["findings"] if f["path"].startswith("a<b>"))
    said = browsed(needs_chromium, tmp_path, render_document(doc, "html"), deep, 1280)
    assert said["errors"] == [] and said["asked"] == 0 and said["wide"] <= 0 and said["title"].startswith("porter")


def test_printed_whole(needs_chromium, document, tmp_path):
    (tmp_path / "page.html").write_text(render_document(document, "html"), "utf-8")
    out = tmp_path / "page.pdf"
    words = (needs_chromium, *QUIET, f"--user-data-dir={tmp_path}/profile", f"--print-to-pdf={out}")
    subprocess.run([*words, (tmp_path / "page.html").as_uri()], capture_output=True, timeout=120)
    pages = len(re.findall(rb"/Type\s*/Page\b", out.read_bytes()))
    assert pages >= 5  # the folds are open and the findings are there: on the screen it is two
