"""What every test may ask for: goldens that `--accept` rewrites, and requirements that skip with one line saying why.

With PORTER_REQUIRE=all a skip is a failure: continuous integration has everything, so nothing goes untested unnoticed.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import pytest
import typer.main
from _pytest.runner import runtestprotocol
from hypothesis import settings
from jinja2 import Environment

from porter.cli import help, outcome

settings.register_profile("porter", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("quick", settings.get_profile("porter"), max_examples=10)  # for `make quick`
settings.register_profile("desk", settings.get_profile("porter"), max_examples=50)  # for `make test`
settings.load_profile("porter" if os.environ.get("PORTER_REQUIRE") == "all" else "desk")
gc.disable()  # until all tests are there: they are many, and stay
# a shell starts what it runs in the background with this ignored, and tests send it to processes that inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite the goldens with what porter says now")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile") == "quick":
        _draw_nothing_of_the_sources()


def _is_quick(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "not slow")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What `make quick` leaves out is not imported at first, and thousands of its tests are not made."""
    if _is_quick(config) and collection_path.suffix == ".py":
        return True if b"\npytestmark = pytest.mark.slow" in collection_path.read_bytes() else None
    return None


def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    marks = getattr(obj, "pytestmark", ()) if _is_quick(collector.config) else ()
    return [] if any(mark.name == "slow" for mark in marks) else None


def _draw_nothing_of_the_sources() -> None:
    """hypothesis reads all modules of porter for the constants in them, which every process of the tests waits for: half a
    second, and more than two where it does so for the first time. In a few draws of ten hardly one is such a constant."""
    with contextlib.suppress(ImportError):  # older ones do not
        from hypothesis.internal.conjecture import providers

        providers._get_local_constants = lambda: providers._local_constants


# what `make quick` does without, and what costs seconds where it is there
_NOT_QUICK = {"needs_torch", "needs_compiler", "needs_chromium", "virtual_npu"}


@pytest.fixture(scope="session", autouse=True)
def all_share(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One fixture for all of it: each that every test asks for costs a second of all tests together."""
    with pytest.MonkeyPatch.context() as patch:
        _build_commands_once(patch)
        _compile_templates_once(patch)
        # journals are sealed with a secret of the tests, never with the user's
        patch.setenv("PORTER_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        # no power fails while they run: what has to be flushed, and when, is asked of the calls
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def _build_commands_once(patch: pytest.MonkeyPatch) -> None:
    """typer builds all of them anew on each call, which costs more than most of what the tests ask. Chinese help is written
    into what it built, so that each language has its own. An app is made anew, too: what it holds are the same commands."""
    build, known = typer.main.get_command, {}

    def once(app: typer.Typer) -> object:
        held = (*map(id, app.registered_commands), *map(id, app.registered_groups), outcome._language())
        if held not in known:
            known[held] = app, build(app)
        return known[held][1]

    patch.setattr(typer.main, "get_command", once)
    patch.setattr(help, "localise", functools.cache(help.localise))


def _compile_templates_once(patch: pytest.MonkeyPatch) -> None:
    """A page compiles the templates that it is made of, which takes longer than to fill them."""
    compile, known = Environment.compile, {}

    def once(world: Environment, *of: str) -> CodeType:
        if of not in known:
            known[of] = compile(world, *of)
        return known[of]

    patch.setattr(Environment, "compile", once)


@pytest.fixture(scope="session")
def accept(pytestconfig: pytest.Config) -> bool:
    return pytestconfig.getoption("--accept")


@pytest.fixture(scope="session")
def golden(accept: bool) -> Callable[[Path, bytes], None]:
    """`golden(path, data)`: the file holds these bytes, or gets them with --accept."""

    def check(path: Path, data: bytes) -> None:
        if accept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        assert path.is_file(), f"{path} is missing: pytest --accept writes it"
        assert path.read_bytes() == data, f"{path.name} differs: look at the difference, then pytest --accept"

    return check


@pytest.fixture(scope="session")
def needs_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: `make test PORTER_REQUIRE=all` installs the version porter is tested with")


@pytest.fixture(scope="session")
def needs_wheels() -> Path | None:
    """A folder with the wheels that one catalogue is rebuilt from; None lets pip fetch them."""
    if folder := os.environ.get("PORTER_WHEELS"):
        return Path(folder)
    if os.environ.get("PORTER_REQUIRE") != "all":
        pytest.skip(
            "the wheels of torch_npu are not at hand: PORTER_REQUIRE=all has pip fetch them, PORTER_WHEELS=DIR has them"
        )
    return None


@pytest.fixture(scope="session")
def needs_linter() -> Path:
    """What holds the layers; it lives in an environment of its own."""
    linter = Path(sys.prefix) / "layers/bin/lint-imports"
    if not linter.exists():
        pytest.skip("import-linter is not at hand: `make layers` installs it")
    return linter


@pytest.fixture(scope="session")
def needs_mypy() -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: `make types` installs it")


@pytest.fixture(scope="session")
def needs_linux() -> None:
    if sys.platform != "linux":
        pytest.skip(f"runs on Linux only, this is {sys.platform}")


@pytest.fixture(scope="session")
def needs_compiler() -> str:
    """The C++ compiler."""
    return _program("a C++ compiler", "c++", "g++", "clang++")


@pytest.fixture(scope="session")
def virtual_npu(tmp_path_factory: pytest.TempPathFactory):
    """The virtual NPU of the interpreter that runs the tests, or of the one that PORTER_TEST_PYTHON names."""
    import verify_world
    from virtual_device import VirtualNpu

    return VirtualNpu(*verify_world.virtual_npu(), tmp_path_factory.mktemp("virtual_npu"))


@pytest.fixture(scope="session")
def python_with_torch(needs_torch: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter for programs that need torch, which has it imported already where that can be done."""
    if sys.platform != "linux":
        return sys.executable
    from warm_python import warm_torch

    return warm_torch(tmp_path_factory.mktemp("with_torch"))


@pytest.fixture(scope="session")
def needs_chromium() -> str:
    """The browser."""
    return _program("Chromium", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser(needs_chromium: str):
    from browser import Browser

    with Browser(needs_chromium) as found:
        yield found


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder that a busy disk does not slow down: thousands of flushes otherwise take as long as the disk likes."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def _program(what: str, *names: str) -> str:
    for name in names:
        if found := shutil.which(name):
            return found
    pytest.skip(f"{what} is not on PATH (looked for {', '.join(names)})")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A process of xdist tells the one that counts of a test that passed once, and not of its setup and teardown as well:
    to send and to count a report takes as long as half of the tests."""
    if not hasattr(item.config, "workerinput") or item.config.option.durations is not None:
        return None  # --durations shows them
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


_traced: list = []


def pytest_runtest_setup() -> None:
    """A test that recurses too deep ends the tracing of coverage: the next one begins with it again."""
    if trace := sys.gettrace():
        _traced[:] = [trace]
    elif _traced:
        sys.settrace(*_traced)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _required((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _required((yield))


def _required(report):
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("PORTER_REQUIRE") == "all":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"PORTER_REQUIRE=all, but this was skipped: {reason.removeprefix('Skipped: ')}"
    return report


# a process takes a whole file, for what is made once for its tests; the longest begin first, so that what comes last is
# short enough for all processes to end together. The first one makes the virtual NPU: what stands second needs none, or it
# would wait for that
LONGEST = """
test_verify_programs test_types test_verify_command test_one_truth test_recorder test_cluster test_virtual_npu test_fleet_command
test_reference test_apex test_properties test_report_browser test_fleet_libraries test_mutants test_cases test_copy test_report_pages_browser test_fixtures test_memory
test_comments_everywhere test_journal test_cli test_run test_fuse test_input test_precommit test_examples
test_verify_parts test_new_rule test_interrupted test_odd_names test_packaging test_joined
""".split()


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and not _NOT_QUICK.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def pytest_collection_finish() -> None:
    """Thousands of tests that stay to the end: no collection needs to walk them again and again. A run of porter unfreezes
    them, so that collections are rare, too, as in such a run."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 20, 100)


def pytest_sessionfinish() -> None:
    gc.freeze()  # pytest walks all objects twice when it ends
