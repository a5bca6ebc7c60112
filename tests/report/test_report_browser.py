"""The HTML page in a browser: filters, links, languages, paper; no error, nothing fetched, nobody shut out."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from browser import Browser, Page
from report_samples import HOSTILE, ORDINARY, made

from porter.finding import SEVERITIES
from porter.report import render_document
from porter.resources import templates_dir

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        porter = made(patch, tmp_path_factory.mktemp("browser") / "r", ORDINARY)
        return json.loads(porter("analyze", ".", "--format", "json").out)


@pytest.fixture(scope="module")
def axe() -> str:
    """Deque's axe-core, as the wheel of axe-playwright-python brings it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None:
        pytest.skip("axe-core is not installed: `make test` installs axe-playwright-python, which brings it")
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text("utf-8")


def opened(browser: Browser, folder: Path, document: dict, width: int = 1280, dark: bool = False) -> Page:
    file = folder / "page.html"
    file.write_text(render_document(document, "html"), "utf-8")
    return browser.open(file, width, dark)


STEPS = """
(async function () {
  var said = {}, all = function (s) { return document.querySelectorAll(s); };
  var one = function (s) { return document.querySelector(s); };
  var change = function (id, value, kind) {
    one(id).value = value;
    one(id).dispatchEvent(new Event(kind || "change"));
  };
  var told = function () { return +one("#tally").textContent.match(/\\d+(?=\\D*$)/)[0]; };
  said.open = told();
  said.folds = Array.from(all("#list > li")).filter(function (n) { return n.querySelector(".f + .at").textContent.match(/^\\d/); }).map(function (n) {
    n.querySelector("button").click();
    return [n.querySelector(".msg").textContent, n.querySelector(".at").textContent, n.querySelectorAll(".places > li").length];
  });
  change("#q", "synchronize", "input");
  said.searched = Array.from(all("#list .at")).map(function (n) { return n.textContent; });
  one("#clear").click();
  all("#severity input")[0].click();
  said.blockers = told();
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
  said.wrong = told();
  one("#everything").click();
  dispatchEvent(new Event("beforeprint"));
  said.paper = all("#paper li").length;
  said.closed = all("details:not([open])").length;
  dispatchEvent(new Event("afterprint"));
  said.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  said.title = document.title;
  return said;
})()
"""


def used(page: Page, deep: str) -> dict:
    """What the page does when somebody uses it."""
    said = page.run(STEPS.replace("DEEP", json.dumps(deep)))
    assert page.errors == [] and page.asked == [] and said["wide"] <= 0
    return said


@pytest.mark.parametrize("width", [1280, 500])
def test_in_a_browser(browser, document, tmp_path, width):
    loud = [f for f in document["findings"] if f["suppressed"] is None]
    said = used(opened(browser, tmp_path, document, width), loud[-1]["fingerprint"])
    assert said["open"] == len(loud)
    kinds = Counter((f["code"], f["why"], f["severity"]) for f in loud if f["status"] == "auto" and not f["optional"])
    folded = {kind: n for kind, n in kinds.items() if n > 1}
    assert sorted(n for _, _, n in said["folds"]) == sorted(folded.values()) and folded
    assert ["torch.cuda.* → torch.npu.*", "2 places in 2 files", 2] in said["folds"]
    assert said["searched"] == ["lib/util.py:5"]
    assert said["blockers"] == sum(f["severity"] == "blocker" for f in loud)
    assert said["code"] == ["PRT205"] and "DistributedDataParallel" in said["detail"]
    lang, severity, head = said["chinese"]
    assert (lang, severity) == ("zh-Hans", "阻断") and "处" in head and "porter ports" not in head
    assert said["deep"] == "true"
    assert said["wrong"] == sum(f["severity"] == "wrong" for f in loud)
    assert said["paper"] == len(document["findings"]) and said["closed"] == 0


HELPERS = """
var one = function (s) { return document.querySelector(s); }, all = function (s) { return Array.from(document.querySelectorAll(s)); };
var change = function (id, value, kind) { one(id).value = value; one(id).dispatchEvent(new Event(kind || "change")); };
var told = function () { return +((one("#tally").textContent.match(/\\d+(?=\\D*$)/) || [0])[0]); };
var moved = function (how) {
  var done = new Promise(function (r) { addEventListener("hashchange", function () { setTimeout(r, 0); }, { once: true }); });
  how();
  return done;
};
var shown = function () {
  return {
    hash: decodeURIComponent(location.hash), n: told(), q: one("#q").value, code: one("#code").value, sort: one("#sort").value,
    chips: all(".chips input:checked + span").map(function (n) { return n.firstChild.textContent.trim(); }),
    open: all('#list [aria-expanded="true"]').map(function (n) { return n.closest("li").id.slice(4); })
  };
};
"""
WALK = """
(async function () {
  var steps = [shown()], add = function () { steps.push(shown()); }, back = [];
  all("#severity input")[0].click(); add();
  ["c", "cu", "cuda"].forEach(function (q) { change("#q", q, "input"); }); add();
  one("#list .f").click(); add();
  change("#sort", "code"); add();
  for (var n = 1; n < steps.length; n++) { await moved(function () { history.back(); }); back.unshift(shown()); }
  await moved(function () { history.go(3); });
  return { steps: steps, back: back, again: shown() };
})()
"""


def test_the_address_holds_the_filters_and_what_is_open(browser, document, tmp_path):
    page = opened(browser, tmp_path, document)
    page.run(HELPERS)
    said = page.run(WALK)
    steps, mark = said["steps"], said["steps"][3]["open"][0]
    query = "#findings?q=cuda&severity=blocker"
    assert [s["hash"] for s in steps] == [
        "",
        "#findings?severity=blocker",
        query,
        f"{query}&open={mark}",
        f"{query}&sort=code",
    ]
    assert len({s["n"] for s in steps[:3]}) == 3 and steps[2]["n"] > 0
    assert said["back"] == steps[:-1], "Back leads through every step, and through no letter"
    assert said["again"] == steps[3]
    sent = browser.open(tmp_path / "page.html", hash=steps[3]["hash"])
    sent.run(HELPERS)
    assert sent.run("shown()") == steps[3] and sent.run("document.activeElement.closest('li').id") == f"row-{mark}"
    assert page.errors == sent.errors == page.asked == []


def test_what_a_fold_is_called(browser, tmp_path, monkeypatch):
    """The change where the names have one, the message where it is one, else what the rule is called."""
    lines = [
        "import torch",
        "",
        "",
        "def f(x):",
        "    torch.cuda.synchronize()",
        "    torch.cuda.synchronize()",
        "    torch.cuda.set_device(0)",
    ]
    lines += [
        "    torch.zeros(1, device='cuda')",
        "    torch.zeros(1, device='cuda:0')",
        "    return x.cuda() + x.cuda()",
        "",
    ]
    porter = made(monkeypatch, tmp_path / "r", {"setup.py": "", "a.py": "\n".join(lines)})
    page = opened(browser, tmp_path, json.loads(porter("analyze", ".", "--format", "json").out))
    page.run(HELPERS)
    called = "all('#list .f + .at').map(function (n) { return [n.previousSibling.querySelector('.msg').textContent, n.textContent]; })"
    assert page.run(called) == [
        ["torch.cuda.* → torch.npu.*", "3 places in one file"],
        ["A string that names a CUDA device", "2 places in one file"],
        ["use .npu(): .cuda() moves to a CUDA device", "2 places in one file"],
    ]
    page.run("change('#q', 'synchronize', 'input')")
    assert page.run(called) == [["torch.cuda.synchronize → torch.npu.synchronize", "2 places in one file"]]
    page.run("change('#q', '', 'input'); one('[data-lang=\"zh-Hans\"]').click()")
    assert page.run(called)[0] == ["torch.cuda.* → torch.npu.*", "一个文件中的 3 处"]
    page.run("change('#sort', 'file')")
    assert [place for _, place in page.run(called)] == [f"a.py:{n}" for n in (5, 6, 7, 8, 9, 10, 10)]


def test_a_link_leads_into_a_fold(browser, document, tmp_path):
    loud = [f for f in document["findings"] if f["suppressed"] is None and f["status"] == "auto"]
    mark = next(f["fingerprint"] for f in loud if f["path"] == "lib/util.py" and f["code"] == "PRT101")
    opened(browser, tmp_path, document)
    page = browser.open(tmp_path / "page.html", hash=f"#f-{mark}")
    page.run(HELPERS)
    assert page.run("shown().open") == ["PRT101-default-blocker", mark]
    assert "torch.npu.synchronize" in page.run(
        "one('#row-' + CSS.escape(%s) + ' .detail').textContent" % json.dumps(mark)
    )
    page.run("one('#row-PRT101-default-blocker > button').click()")
    assert page.run("shown().open") == [] and page.run("location.hash") == "#findings"


COPIED = """
(async function () {
  var said = [], put = { writeText: function (text) { said.push(text); return Promise.resolve(); } };
  Object.defineProperty(navigator, "clipboard", { configurable: true, get: function () { return put; } });
  var later = function () { return new Promise(function (r) { setTimeout(r, 0); }); };
  var press = async function (node) { node.click(); await later(); return node.classList.contains("done"); };
  var done = [await press(one("pre.cmd .copy")), await press(one("#list .copy")), await press(one(".causes .copy")), await press(one(".launchers .copy"))];
  put.writeText = function () { return Promise.reject(new Error("not from here")); };
  document.execCommand = function (what) { said.push(what + " " + document.activeElement.value); return true; };
  done.push(await press(one("#list .copy")));
  document.execCommand = function () { return false; };
  done.push(await press(all("#list .copy")[1]));
  return {
    said: said, done: done, told: one("body > [role=status]").textContent,
    fields: all("textarea").length, open: all("#list .below").length,
    without: all("pre.cmd, code.place, #list .at").filter(function (n) {
      return !n.querySelector(".copy") && !(n.closest("a") || n).nextElementSibling.matches(".copy");
    }).length
  };
})()
"""


def test_every_command_and_every_place_can_be_copied(browser, document, tmp_path):
    page = opened(browser, tmp_path, document)
    page.run(HELPERS + "change('#sort', 'file')")
    said = page.run(COPIED)
    first, second = page.run("all('#list .at').slice(0, 2).map(function (n) { return n.textContent; })")
    assert said["said"][0] == page.run("one('pre.cmd code').textContent")
    assert said["said"][1] == first and re.fullmatch(r"[\w/.]+:\d+", first)
    assert said["said"][2] == page.run("one('.causes .place').textContent") and said["said"][3] == "run.sh:4"
    assert said["said"][4:] == [f"copy {first}"], "where there is no clipboard for a page"
    assert said["done"] == [True] * 5 + [False] and said["told"] == "The browser lets nothing be copied"
    assert said["fields"] == said["open"] == said["without"] == 0
    assert page.run("one('#list .copy').getAttribute('aria-label')") == f"Copy {first}"
    page.run("one('[data-lang=\"zh-Hans\"]').click()")
    assert page.run("all('.copy').every(function (n) { return /^复制 /.test(n.getAttribute('aria-label')); })")
    assert page.errors == [] and second


def test_rows_link_to_the_source(browser, document, tmp_path):
    about = {"name": "r", "source_url": "https://host/r/{path}#L{line}"}
    page = opened(browser, tmp_path, {**document, "project": about})
    found = page.run(
        "Array.from(document.querySelectorAll('#list .at a')).map(function (n) { return [n.href, n.textContent]; })"
    )
    assert found and all(link == f"https://host/r/{text.replace(':', '#L')}" for link, text in found)
    assert page.errors == page.asked == []


KEYS = """
(function () {
  var press = function (key, node, more) {
    var event = new KeyboardEvent("keydown", Object.assign({ key: key, bubbles: true, cancelable: true }, more));
    (node || document.body).dispatchEvent(event);
    return [document.activeElement.id, event.defaultPrevented];
  };
  var q = one("#q"), said = [press("/", null, { ctrlKey: true }), press("/")];
  change("#q", "cuda", "input");
  said.push(press("/", q), press("Escape", q), press("/", one("#file")), press("/", one("#status input")));
  return [said, q.value];
})()
"""


def test_a_slash_leads_to_the_search_and_escape_out_of_it(browser, document, tmp_path):
    page = opened(browser, tmp_path, document)
    page.run(HELPERS)
    said, typed = page.run(KEYS)
    assert said == [["", False], ["q", True], ["q", False], ["", True], ["", False], ["q", True]] and typed == "cuda"


LOOK = "[getComputedStyle(document.body).backgroundColor, document.querySelector('.theme [aria-pressed=true]').dataset.theme]"
LIGHT, DARK = "rgb(251, 250, 246)", "rgb(24, 24, 22)"


def test_colours_are_chosen_and_remembered(browser, document, tmp_path):
    page = opened(browser, tmp_path, document, dark=True)
    choose = "document.querySelector('.theme [data-theme={}]').click();" + LOOK
    assert page.run(LOOK) == [DARK, "auto"]
    assert page.run(choose.format("light")) == [LIGHT, "light"]
    assert opened(browser, tmp_path, document, dark=True).run(LOOK) == [LIGHT, "light"]
    assert page.run(choose.format("dark")) == [DARK, "dark"]
    other = opened(browser, tmp_path, document)
    assert other.run(LOOK) == [DARK, "dark"]
    page.run("localStorage.setItem('porter-theme', 'constructor')")
    assert opened(browser, tmp_path, document).run(LOOK) == [LIGHT, "auto"]
    assert other.run(choose.format("auto")) == [LIGHT, "auto"]
    assert page.errors == other.errors == []


BARRED = """
Object.defineProperty(window, "localStorage", { get: function () { throw new DOMException("denied", "SecurityError"); } });
history.pushState = history.replaceState = function () { throw new DOMException("denied", "SecurityError"); };
"""


def test_where_nothing_may_be_stored(browser, document, tmp_path):
    """As in a frame without an origin: the storage raises, and so does what changes the address."""
    opened(browser, tmp_path, document)
    page = browser.open(tmp_path / "page.html", first=BARRED)
    page.run(HELPERS)
    assert page.run("document.querySelector('.theme [data-theme=dark]').click();" + LOOK) == [DARK, "dark"]
    every = page.run("told()")
    page.run("all('#severity input')[0].click(); one('#list .f').click()")
    assert 0 < page.run("told()") < every and page.run("shown().open.length") == 1
    assert page.run("location.hash") == "" and page.errors == []


NOWHERE = (
    "#f-__proto__", "#f-", "#f-0123", "#rule-none", "#findings?", "#findings?%E0%A4%A&&=&==", "#findings?page=99999", "#findings?page=x",
    "#findings?open=__proto__", "#findings?open=PRT101-none-blocker", "#findings?open=%22%5D%3Cb%3E", "#findings?q=&severity=,&status=constructor",
    "#findings?severity=worst&status=done&family=constructor&code=PRT999&file=no.py&effort=toString&sort=valueOf&page=-7&open=-", "#none", "#%00",
)  # fmt: skip


def test_an_address_that_names_nothing_does_no_harm(browser, document, tmp_path):
    every = sum(f["suppressed"] is None for f in document["findings"])
    page = opened(browser, tmp_path, document)
    page.run(HELPERS)
    for hash in NOWHERE:
        page.run(f"moved(function () {{ location.hash = {json.dumps(hash)}; }})")
        gone = hash.startswith("#f-")
        assert page.run("[told(), all('#list > li').length > 0]") == [0 if gone else every, True], hash
        page.run("one('#q').value = ''; change('#code', ''); change('#sort', 'file'); change('#sort', 'rank')")
    fresh = [browser.open(tmp_path / "page.html", hash=hash) for hash in NOWHERE[:6]]
    assert page.errors == [] and all(other.errors == [] for other in fresh)


def test_a_hostile_repository_in_a_browser(browser, tmp_path, monkeypatch):
    files = {**HOSTILE, "lib/util.py": ORDINARY["lib/util.py"], "train.py": ORDINARY["train.py"]}
    doc = json.loads(made(monkeypatch, tmp_path / "r", files)("analyze", ".", "--format", "json").out)
    deep = next(f["fingerprint"] for f in doc["findings"] if f["path"].startswith("a<b>"))
    assert used(opened(browser, tmp_path, doc), deep)["title"].startswith("porter")


WIDEST = """
(async function () {
  var wide = [], look = function () { wide.push(document.documentElement.scrollWidth - document.documentElement.clientWidth); };
  look();
  document.querySelectorAll("details").forEach(function (node) { node.open = true; });
  all("#list > li > button").forEach(function (node) { node.click(); });
  all(".places > li > button").forEach(function (node) { node.click(); });
  all("[data-unclip]").forEach(function (node) { node.click(); });
  look();
  var open = all("#list .below").length;
  one('[data-lang="zh-Hans"]').click();
  look();
  return { wide: wide, open: open, rows: new Set(all(".chapters a").map(function (n) { return n.offsetTop; })).size };
})()
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(browser, tmp_path, monkeypatch, width):
    """Not even long names, lines and links; what cannot be broken is scrolled in a box of its own."""
    long = "a_long_name_of_a_module_" * 6
    files = {
        **HOSTILE,
        **ORDINARY,
        f"{long}/{long}.py": f"import torch\n\n\ndef f():\n    torch.cuda.{long}()\n    torch.cuda.synchronize()\n",
    }
    doc = json.loads(made(monkeypatch, tmp_path / "r", files)("analyze", ".", "--format", "json").out)
    about = {"name": long, "commit": "0" * 40, "source_url": "https://host/{path}#L{line}"}
    page = opened(browser, tmp_path, {**doc, "project": about}, width)
    page.run(HELPERS)
    said = page.run(WIDEST)
    assert said["wide"] == [0, 0, 0] and said["open"] > 10
    assert said["rows"] == 1 or width < 1280, "the chapters stand in one line"


def sheets(page: Page) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", page.printed()))


def test_two_pages_on_paper_and_everything_on_request(browser, document, tmp_path):
    large = many(document, 2_000)
    effort = document["effort"]
    large["effort"] = {**effort, "items": effort["items"] * 30}
    page = opened(browser, tmp_path, large)
    assert sheets(page) == 2
    assert page.run("document.querySelectorAll('.efforts tbody tr').length") > 100
    page.run("document.getElementById('everything').click()")
    whole = sheets(page)  # the folds are open and the findings are there
    assert whole > 20
    page.run("document.getElementById('everything').click()")
    assert sheets(page) == 2 and page.run("document.querySelectorAll('#paper li').length") == 0
    asked = browser.open(tmp_path / "page.html", hash="#print=all")
    assert sheets(asked) == whole and asked.run("document.getElementById('everything').checked")
    asked.run("document.querySelector('#severity input').click()")
    assert sheets(asked) == whole, "a filter changes the address, not what was asked for"
    assert page.errors == asked.errors == []


def test_the_same_on_paper_without_a_script(browser, document, tmp_path):
    file = tmp_path / "still.html"
    text = render_document(many(document, 500), "html")
    file.write_text(text.replace("script-src 'unsafe-inline'", "script-src 'none'"), "utf-8")
    assert sheets(browser.open(file)) == 2
    assert sheets(browser.open(file, hash="#print=all")) > 5


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide-light", "narrow-dark"])
def test_nobody_is_shut_out(browser, axe, document, tmp_path, width, dark):
    """axe-core finds nothing serious, in both languages, with some folds and findings open. What depends on the width
    does not depend on the colours, so two pages do for four; the next test has every colour."""
    about = {"name": "r", "commit": "0" * 40, "source_url": "https://host/r/{path}#L{line}"}
    page = opened(browser, tmp_path, {**document, "project": about}, width, dark)
    page.run(axe + "; 0")
    for lang in ("en", "zh-Hans"):
        found = page.run(AXE.replace("LANG", lang))
        assert found["shown"] >= 3 and found["rules"] > 30
        assert found["serious"] == [], lang


AXE_FOUND = """
function (result) {
  return {
    rules: result.passes.length,
    serious: result.violations.filter(function (v) { return v.impact === "serious" || v.impact === "critical"; })
      .map(function (v) { return v.id + ": " + v.nodes[0].html + " " + v.nodes[0].failureSummary; })
  };
}
"""
AXE = """
(async function () {
  document.querySelector('[data-lang="LANG"]').click();
  document.querySelectorAll("details").forEach(function (node, n) { node.open = n < 3; });
  Array.from(document.querySelectorAll('#list [aria-expanded="false"]')).slice(0, 3).forEach(function (node) { node.click(); });
  var result = await axe.run(document, { rules: { "color-contrast": { enabled: "LANG" === "en" } } });  // the slow one, once
  return Object.assign({ shown: document.querySelectorAll("#list .detail").length }, (FOUND)(result));
})()
""".replace("FOUND", AXE_FOUND)
COLOURS = ("ink", "soft", "accent", "blocker", "wrong", "slow", "note", "t-k", "t-s", "t-c", "t-n", "t-f", "t-b", "t-d")


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["report.css", "dark.css"], ids=["light", "dark"])
def test_every_colour_can_be_read(scheme):
    """Each colour of text on each ground it may stand on, as WCAG 2.2 wants it of small text."""
    style = (templates_dir() / scheme).read_text("utf-8")
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", re.findall(r":root \{(.*?)\}", style, re.S)[0]))
    for name in COLOURS:
        for ground in ("paper", "raised", "put", "gone", "mark"):
            dark, light = sorted((luminance(colours[name]), luminance(colours[ground])))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


MANY = 20_000


def many(document: dict, count: int = MANY) -> dict:
    """As large a report as a very large repository makes."""
    loud = [f for f in document["findings"] if f["suppressed"] is None and f["path"].endswith(".py")]
    found, sources = [], {}
    for n in range(count):
        f = loud[n % len(loud)]
        path = f"part{n // 50:03}/{f['path']}"
        found.append({**f, "path": path, "fingerprint": f"{n:024x}"})
        sources[path] = document["sources"][f["path"]]
    files = [{"path": path, "lines": 20, "parsed": True, "findings": 9} for path in sorted(sources)]
    return {**document, "findings": found, "sources": sources, "files": files}


LARGE = """
(async function () {
  var said = { counts: [] }, one = function (s) { return document.querySelector(s); };
  var count = function () { said.counts.push(+one("#tally").textContent.match(/\\d+(?=\\D*$)/)[0]); };
  count();
  document.querySelectorAll("#severity input")[0].click(); count();
  one("#clear").click();
  one("#q").value = "synchronize"; one("#q").dispatchEvent(new Event("input")); count();
  one("#clear").click();
  one("#file").selectedIndex = 2; one("#file").dispatchEvent(new Event("change")); count();
  one("#clear").click();
  one('[data-lang="zh-Hans"]').click(); count();
  said.rows = document.querySelectorAll("#list > li").length;
  one("#next").click();
  said.second = one("#tally").textContent;
  one("#everything").click();
  dispatchEvent(new Event("beforeprint"));
  said.paper = document.querySelectorAll("#paper li").length;
  said.sources = document.querySelectorAll("#paper li pre").length;
  dispatchEvent(new Event("afterprint"));
  return said;
})()
"""


def test_twenty_thousand_findings(browser, document, tmp_path):
    large = many(document)
    page = opened(browser, tmp_path, large)
    assert (tmp_path / "page.html").stat().st_size < 600 * MANY
    said = page.run(LARGE)
    assert page.errors == [] and page.asked == []
    paths = sorted({f["path"] for f in large["findings"]})
    one_file = sum(f["path"] == paths[1] for f in large["findings"])
    blockers = sum(f["severity"] == SEVERITIES[0] for f in large["findings"])
    searched = sum("synchronize" in f["message"] for f in large["findings"])
    assert said["counts"] == [MANY, blockers, searched, one_file, MANY]
    assert said["rows"] == 50 and "51–100" in said["second"] and str(MANY) in said["second"]
    assert said["paper"] == said["sources"] == MANY
