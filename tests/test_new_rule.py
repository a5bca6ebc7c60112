"""`make rule` in a copy of the checkout: what it writes loads, its fixture runs, and a test waits for the rest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    made = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "porter", tmp_path / "porter", ignore=made)
    shutil.copytree(ROOT / "rules", tmp_path / "rules", ignore=shutil.ignore_patterns("catalog"))
    (tmp_path / "rules" / "catalog").symlink_to(ROOT / "rules" / "catalog")
    (tmp_path / "tests" / "checks").mkdir(parents=True)
    (tmp_path / "tests" / "fixtures").mkdir()
    helpers = ("conftest.py", "cases.py", "new_rule.py", "rules_page.py")
    for name in (*helpers, "checks/test_fixtures.py", "checks/test_rules.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    for name in ("Makefile", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "docs").mkdir()
    for name in ("rules.md", "rules.zh.md"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    return tmp_path


def run(checkout: Path, cache: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(checkout), "PORTER_CACHE_DIR": str(cache), "PYTHONUTF8": "1"}
    return subprocess.run([sys.executable, *command], cwd=checkout, env=env, capture_output=True, text=True)


def new_rule(checkout: Path, cache: Path, slug: str, family: str, code: str = "") -> subprocess.CompletedProcess[str]:
    return run(checkout, cache, "tests/new_rule.py", code, slug, family)


@pytest.mark.parametrize(
    ("family", "code", "before"),
    [
        ("performance", "PRT680", "before.py"),
        ("scripts", "", "before.sh"),
        ("settings", "", "before.yaml"),
        ("requirements", "", "before.requirements.txt"),
    ],
)
def test_it_runs_as_it_is_written(checkout: Path, family: str, code: str, before: str) -> None:
    cache = checkout / "cache"
    done = new_rule(checkout, cache, "odd-thing", family, code)
    assert done.returncode == 0, done.stderr
    said = done.stdout.split()[0]
    assert said == code or not code and said.startswith("PRT8")
    case = checkout / "tests" / "fixtures" / f"{said}_odd_thing"
    assert [path.name for path in case.iterdir()] == [before]
    assert f"porter/checks/{family}/odd_thing.py" in done.stdout and f"{said}_odd_thing --accept" in done.stdout

    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", said, "--accept")
    done = run(checkout, cache, *command, "tests/checks/test_fixtures.py", "tests/checks/test_rules.py")
    failed = {line.split("::")[1].partition("[")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {"test_every_rule"}, done.stdout + done.stderr
    assert f"{said}: its stanza in rules/*.toml is not filled in" in done.stdout
    assert f"{said} found note manual" in (case / "findings.txt").read_text("utf-8")

    done = new_rule(checkout, cache, "odd-thing", family)
    assert (done.returncode, done.stderr) == (1, f"make rule: SLUG=odd-thing is taken by {said}\n")
    done = new_rule(checkout, cache, "another-thing", family)
    assert done.returncode == 0 and int(done.stdout.split()[0][3:]) == int(said[3:]) + 1, done.stderr


REFUSED = {
    "unknown family": (("thing", "speed"), "FAMILY=speed is none of device, distributed, "),
    "no slug": (("Odd_Thing", "export"), "SLUG=Odd_Thing is no lower-case slug"),
    "taken slug": (("element-loop", "export"), "SLUG=element-loop is taken by PRT638"),
    "taken code": (("thing", "performance", "PRT638"), "CODE=PRT638 is taken by element-loop"),
    "code of another family": (
        ("thing", "performance", "PRT999"),
        "CODE=PRT999 is none of performance: PRT601 to PRT699",
    ),
    "no code": (("thing", "performance", "6xx"), "CODE=6XX is none of performance"),
    "taken module": (("opportunity", "performance"), "porter/checks/performance/opportunity.py is there already"),
}


@pytest.mark.parametrize(("asked", "wanted"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(tmp_path: Path, asked: tuple[str, ...], wanted: str) -> None:
    done = new_rule(ROOT, tmp_path / "cache", *asked)
    assert done.returncode == 1 and done.stderr.startswith(f"make rule: {wanted}"), done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout


def test_every_family_and_every_code_has_its_place() -> None:
    from new_rule import FAMILIES

    from porter.rulebook import table

    folders = {path.parent.name for path in (ROOT / "porter" / "checks").glob("*/__init__.py")}
    assert folders == set(FAMILIES)
    for name, family in FAMILIES.items():
        assert (ROOT / "rules" / family.stanzas).is_file(), name
    spans = sorted((family.first, family.last) for family in FAMILIES.values())
    assert all(last < first for (_, last), (first, _) in zip(spans, spans[1:]))
    homeless = {
        code
        for code in table.load().rules
        if not any(first <= int(code[3:]) <= last for first, last in spans) and not code.startswith("PRT0")
    }
    assert homeless == {"PRT850", "PRT860"}  # of CUDA sources, of pages
