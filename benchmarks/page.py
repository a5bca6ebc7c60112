"""How fast is the report's page? Written, opened, filtered and printed with as many findings as asked for.

    python benchmarks/page.py [--findings N] [--rounds N] [--no-print]

Makes a repository, analyses it, and asks headless Chromium: `chromium` on PATH. Milliseconds of the clock, medians.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser import Browser, Page

from benchmarks import texts
from benchmarks.process import porter

PATIENCE = 1800  # seconds for one answer: a long list takes a browser minutes to print
ACTS = {
    "search, a word": "one('#q').value = 'synchronize'; one('#q').dispatchEvent(new Event('input'))",
    "search, another letter": "one('#q').value = 'synchronize_'; one('#q').dispatchEvent(new Event('input'))",
    "clear": "one('#clear').click()",
    "severity": "one('#severity input').click()",
    "status as well": "one('#status input').click()",
    "clear again": "one('#clear').click()",
    "file": "one('#file').selectedIndex = 3; one('#file').dispatchEvent(new Event('change'))",
    "order by work": "one('#clear').click(); one('#sort').value = 'effort'; one('#sort').dispatchEvent(new Event('change'))",
    "next page": "one('#next').click()",
    "open a finding": "one('#list button').click()",
    "the other language": "one('[data-lang=\"zh-Hans\"]').click()",
    "and back": "one('[data-lang=\"en\"]').click()",
}
# from the event to the end of the frame that shows what came of it
TIMED = """new Promise(function (done) {
  var one = function (s) { return document.querySelector(s); }, began = performance.now();
  ACT;
  requestAnimationFrame(function () { setTimeout(function () { done(performance.now() - began); }, 0); });
})"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--findings", type=int, default=20_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--no-print", action="store_true", help="leave out the minutes of printing")
    args = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("benchmarks: no chromium on PATH", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary, Browser(program, PATIENCE) as browser:
        for name, value in measured(browser, Path(temporary), args):
            print(f"{name:<28} {value}", flush=True)
    return 0


def measured(browser: Browser, work: Path, args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    file = work / "report.html"
    began = time.perf_counter()
    written(work, args.findings)
    yield "analysed and written", f"{time.perf_counter() - began:.1f} s"
    yield "the page", f"{file.stat().st_size / 1e6:.1f} MB"
    paints, loads = [], []
    for _ in range(args.rounds):
        page = browser.open(file)
        paints.append(page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        loads.append(page.run("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    yield "findings", str(page.run("porter.all.length"))
    yield "first paint", f"{statistics.median(paints):.0f} ms"
    yield "ready for use", f"{statistics.median(loads):.0f} ms"
    times: dict[str, list[float]] = {name: [] for name in ACTS}
    for _ in range(args.rounds):
        for name, act in ACTS.items():
            times[name].append(page.run(TIMED.replace("ACT", act)))
    for name, found in times.items():
        yield name, f"{statistics.median(found):.0f} ms"
    if page.errors or page.asked:
        raise SystemExit(f"benchmarks: the page went wrong: {page.errors + page.asked}")
    if not args.no_print:
        yield from printed(page)


def printed(page: Page) -> Iterator[tuple[str, str]]:
    for name in ("printed", "printed, everything"):
        began = time.perf_counter()
        paper = page.printed()
        yield name, f"{time.perf_counter() - began:.0f} s"
        pages = len(re.findall(rb"/Type\s*/Page\b", paper))
        yield "on paper", f"{pages} pages, {len(paper) / 1e6:.1f} MB"
        page.run("document.getElementById('everything').click()")


def written(work: Path, findings: int) -> None:
    """A repository with about so many findings, and its report beside it."""
    folder = work / "repository"
    one = texts.TRAIN.format(n=0)
    each = sum(word in line for line in one.splitlines() for word in ("cuda", "nccl", ".item()"))
    for n in range(findings // each + 1):
        file = folder / f"part{n // 40:03}" / f"train{n % 40:02}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts.TRAIN.format(n=n))
    command = [*porter("analyze", ".", "--output", str(work / "report.html"), "--no-cache", "--quiet")]
    done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        raise SystemExit(f"benchmarks: porter ended with {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
