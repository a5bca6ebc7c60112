"""A suite that lets a planted mistake through is no suite: every mutant of porter is caught by the tests it names.

`python tests/mutation/test_mutants.py` applies and runs all of them, one line per mutant; `-k notebook` those whose name
says so. The suite runs a fixed quarter in CI, an eighth elsewhere, and sees that each still applies.
"""

from __future__ import annotations

import compileall
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from drawn import share  # noqa: E402
from mutant import Mutant, load  # noqa: E402

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MUTANTS = load()
QUARTER = [m for m in MUTANTS if crc32(m.name.encode()) % 4 == 0]
CHOSEN = MUTANTS if "PORTER_MUTANTS" in os.environ else share(QUARTER, 2)


class Outcome(NamedTuple):
    caught: bool
    by: str  # the test that failed: a mutant that kills the process does so in the test that began last
    said: str


def prepare(folder: Path) -> Path:
    """All that the quick tests need of porter, compiled once for all copies: that takes longer than most of the tests."""
    for name in ("porter", "rules", "reports"):
        shutil.copytree(ROOT / name, folder / name)
    compileall.compile_dir(folder / "porter", quiet=1)
    load_rules = "from porter.rulebook import table; table.load()"
    subprocess.run([sys.executable, "-c", GUARD + load_rules], cwd=folder, env=environment(folder), check=True)
    return folder


def copy(prepared: Path, folder: Path) -> Path:
    """What was prepared, by links: whoever changes a file puts another in its place."""
    shutil.copytree(prepared, folder, copy_function=os.link, dirs_exist_ok=True)
    return folder


def mutate(folder: Path, mutant: Mutant) -> None:
    path = folder / "porter" / mutant.path
    text = mutated(path.read_text(encoding="utf-8"), mutant)
    for old in (path, *path.parent.glob(f"__pycache__/{path.stem}.*")):
        old.unlink()
    path.write_text(text, encoding="utf-8")


def mutated(text: str, mutant: Mutant) -> str:
    if text.count(mutant.before) != 1:
        raise LookupError(
            f"{mutant.name}: {mutant.path} holds {text.count(mutant.before)} times {mutant.before!r}; it must be once"
        )
    return text.replace(mutant.before, mutant.after)


# another porter than the copy is an error
GUARD = (
    "import porter, sys; from pathlib import Path; "
    "assert Path(porter.__file__).parents[1] == Path.cwd(), porter.__file__; "
)
PYTEST = """
import pytest
began = Path("began").absolute()
class Began:
    def pytest_runtest_logstart(self, nodeid, location):
        began.write_text(nodeid, encoding="utf-8")
sys.exit(pytest.main(sys.argv[1:], [Began()]))
"""
# an interpreter that has imported what the tests need beside porter: to do so takes longer than most of the tests. It is
# asked for one run a line, and each run is a child of its own, which imports the porter of its copy.
READY = """
import json, os, signal, sys
import hypothesis, jinja2, libcst, libcst.metadata, numbers, pytest, tree_sitter, typer, yaml
for name in ("_hypothesis_pytestplugin", "pytest_cov.plugin", "xdist.plugin"):
    __import__(name)
assert not [name for name in sys.modules if name.split(".")[0] == "porter"]

def run(code, words, folder, variables, output, seconds):
    signal.alarm(seconds)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:0] = ["", variables["PYTHONPATH"]]
    sys.argv = ["-c", *words]
    for number in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    exec(code, {"__name__": "__main__"})

for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        run(*json.loads(line))
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
SECONDS = 300


class Interpreter:
    """One that is ready, for one run after another."""

    def __init__(self) -> None:
        variables = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", READY], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, folder: Path, words: list[str]) -> tuple[int, str]:
        """The exit code, below zero where a signal ended it, and what it printed."""
        output = folder / "output"
        asked = GUARD + PYTEST, words, str(folder), environment(folder), str(output), SECONDS
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        if code == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(words, SECONDS)
        return code, output.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        self.process.communicate()


READIES: queue.SimpleQueue[Interpreter] = queue.SimpleQueue()


def environment(folder: Path) -> dict[str, str]:
    env = os.environ | {"PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    for name in ("PORTER_DEBUG", "PORTER_CACHE_DIR", "PYTEST_ADDOPTS"):
        env.pop(name, None)
    return env


def shown(folder: Path, words: list[str]) -> Outcome:
    """Whether the tests fail on the copy, and which. None selected is an error."""
    interpreter = READIES.get()
    try:
        code, said = interpreter.run(folder, ["-q", "-p", "no:cacheprovider", "--no-header", *words])
    finally:
        READIES.put(interpreter)
    if code not in (0, 1) and code > 0:  # below zero the mutant killed it, which is noticed too
        raise RuntimeError(f"pytest could not run {words}:\n{said}")
    return Outcome(code != 0, (folder / "began").read_text(encoding="utf-8"), said)


def outcome(mutant: Mutant, prepared: Path, folder: Path) -> Outcome:
    mutate(copy(prepared, folder), mutant)
    # the tests that have to notice, and no others: a mutant may well hang one that is not about it
    return shown(folder, ["-x", "-k", mutant.only, str(ROOT / "tests" / mutant.tests)])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, prepared: Path, tmp_path_factory: pytest.TempPathFactory):
    """Of each mutant, whether it was caught. All that are asked for run at once, on as many cores as there are."""
    items = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    asked = {params["mutant"] for params in items if "mutant" in params}
    at_once = max(2, os.cpu_count() or 1)
    interpreters = [Interpreter() for _ in range(at_once)]
    for interpreter in interpreters:
        READIES.put(interpreter)
    with ThreadPoolExecutor(at_once) as pool:
        yield {
            m.name: pool.submit(outcome, m, prepared, tmp_path_factory.mktemp("mutant"))
            for m in MUTANTS
            if m in (asked or CHOSEN)
        }
    for interpreter in interpreters:
        interpreter.end()


@pytest.mark.parametrize("mutant", CHOSEN, ids=lambda m: m.name.replace(" ", "-"))
def test_mutant_is_caught(mutant: Mutant, outcomes) -> None:
    assert outcomes[mutant.name].result().caught, f"nothing in {mutant.tests} -k {mutant.only!r} notices"


def test_who_catches_a_mutant_passes_without_it(prepared: Path, outcomes, tmp_path: Path) -> None:
    """Of all that a mutant was shown to, the test that failed: else it fails in any copy."""
    found = [future.result() for future in outcomes.values()]
    who = sorted({one.by for one in found if one.caught})
    assert who
    clean = shown(copy(prepared, tmp_path), [f"{ROOT}/{name}" for name in who])
    assert not clean.caught, clean.said


def test_each_applies() -> None:
    for mutant in MUTANTS:
        mutated((ROOT / "porter" / mutant.path).read_text(encoding="utf-8"), mutant)
        assert (ROOT / "tests" / mutant.tests).is_file()


def test_there_are_enough() -> None:
    assert len({m.name for m in MUTANTS}) == len(MUTANTS) >= 25


if __name__ == "__main__":
    os.environ["PORTER_MUTANTS"] = "all"
    sys.exit(pytest.main([__file__, "-q", "-rA", *sys.argv[1:]]))
