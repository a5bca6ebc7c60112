"""A suite that lets a planted mistake through is no suite: every mutant of porter is caught by the tests it names.

`python tests/mutation/test_mutants.py` applies and runs all of them, one line per mutant; `-k notebook` those whose name
says so. The suite runs a fixed quarter, and sees that each still applies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zlib import crc32

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mutant import Mutant, load  # noqa: E402

ROOT = Path(__file__).parents[2]
MUTANTS = load()
CHOSEN = [m for m in MUTANTS if "PORTER_MUTANTS" in os.environ or crc32(m.name.encode()) % 4 == 0]


def copy(folder: Path) -> Path:
    """All that the quick tests need of porter, without its caches."""
    for name in ("porter", "rules", "reports"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def mutate(folder: Path, mutant: Mutant) -> None:
    path = folder / "porter" / mutant.path
    path.write_text(mutated(path.read_text(encoding="utf-8"), mutant), encoding="utf-8")


def mutated(text: str, mutant: Mutant) -> str:
    if text.count(mutant.before) != 1:
        raise LookupError(
            f"{mutant.name}: {mutant.path} holds {text.count(mutant.before)} times {mutant.before!r}; it must be once"
        )
    return text.replace(mutant.before, mutant.after)


def passes(folder: Path, tests: str, only: str) -> tuple[bool, str]:
    """Whether the tests pass on the copy. None selected is an error, and so is another porter than the copy."""
    # the tests that have to notice, and no others: a mutant may well hang one that is not about it
    guard = "import porter, sys; from pathlib import Path; assert Path(porter.__file__).parents[1] == Path.cwd(), porter.__file__; "
    command = "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "-k", only, str(ROOT / "tests" / tests)]
    env = os.environ | {
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    env.pop("PORTER_DEBUG", None)
    env.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-c", guard + command, *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode not in (0, 1) and done.returncode > 0:  # below zero the mutant killed it, which is noticed too
        raise RuntimeError(f"pytest could not run {tests} -k {only!r}:\n{done.stdout}{done.stderr}")
    return done.returncode == 0, done.stdout


def caught(mutant: Mutant, folder: Path) -> bool:
    mutate(copy(folder), mutant)
    return not passes(folder, mutant.tests, mutant.only)[0]


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Of each mutant, whether it was caught. All that are asked for run at once, on as many cores as there are."""
    asked = {
        item.callspec.params["mutant"]
        for item in request.session.items
        if "mutant" in getattr(item, "fixturenames", ())
    }
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        yield {m.name: pool.submit(caught, m, tmp_path_factory.mktemp("mutant")) for m in MUTANTS if m in asked}


def test_the_tests_pass_without_a_mutant(tmp_path: Path) -> None:
    folder = copy(tmp_path)
    for tests in sorted({m.tests for m in CHOSEN}):
        only = " or ".join(sorted({m.only for m in CHOSEN if m.tests == tests}))
        good, output = passes(folder, tests, only)
        assert good, output


def test_each_applies() -> None:
    for mutant in MUTANTS:
        mutated((ROOT / "porter" / mutant.path).read_text(encoding="utf-8"), mutant)
        assert (ROOT / "tests" / mutant.tests).is_file()


@pytest.mark.parametrize("mutant", CHOSEN, ids=lambda m: m.name.replace(" ", "-"))
def test_mutant_is_caught(mutant: Mutant, outcomes) -> None:
    assert outcomes[mutant.name].result(), f"nothing in {mutant.tests} -k {mutant.only!r} notices"


def test_there_are_enough() -> None:
    assert len({m.name for m in MUTANTS}) == len(MUTANTS) >= 25


if __name__ == "__main__":
    os.environ["PORTER_MUTANTS"] = "all"
    sys.exit(pytest.main([__file__, "-q", "-rA", *sys.argv[1:]]))
