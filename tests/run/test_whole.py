"""A run again: what stands as it was is said as it was, and nothing is parsed for it; what changed is noticed."""

from __future__ import annotations

import ast
import errno
import io
import marshal
import os
import sqlite3
from pathlib import Path

import pytest
from command_line import write
from files_world import POSIX

from porter.analysis import analyse
from porter.analysis.session import open_session
from porter.files import read as files
from porter.files import witness
from porter.files.witness import watching
from porter.project import told_by_cause
from porter.run import gather, plain
from porter.run.cache import RUNS, Cache
from porter.run.config import Settings
from porter.run.plain import facts_of, facts_row
from porter.run.run import Run, run

pytestmark = pytest.mark.slow  # a tenth of a second each

DEVICE = "import torch\n\nDEVICE = 'cuda'\n"
FILES = {
    "setup.py": "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('pkg._C', ['run.cu'])\n",
    "run.cu": '__global__ void k(int) {}\nvoid go(int a) { k<<<1, 1>>>(a); }\nPYBIND11_MODULE(_C, m) { m.def("go", &go); }\n',
    "train.py": "import argparse\nimport third\nimport torch\nfrom device import DEVICE\nfrom own import PLACE\nfrom pkg import _C\n\n"
    "args = argparse.ArgumentParser().parse_args()\nmodel = torch.nn.Linear(2, 2).to(DEVICE)\ntorch.save({'model': model, 'args': args}, 'a.pt')\n_C.go(1)\nx = torch.ones(1, device=PLACE)\nif PLACE == 'cuda':\n    pass\n"
    "if False:\n    torch.cuda.synchronize()\n",
    "device.py": DEVICE,
    "train.sh": "CUDA_VISIBLE_DEVICES=0 torchrun train.py --backend nccl\n",
    "requirements.txt": "torch==2.1\nflash-attn\n",
    ".gitmodules": '[submodule "third"]\n\tpath = third\n\turl = https://example.org/third\n',
    ".gitignore": "own.py\n",
    ".git/HEAD": "",
    "own.py": "PLACE = 'cuda'\n",
}


@pytest.fixture
def project(tmp_path) -> Path:
    return write(tmp_path / "r", FILES)


@pytest.fixture
def worked(monkeypatch):
    """What was parsed, gathered and opened since the last look."""
    seen: list[str] = []

    def noted(name, real):
        return lambda *given, **more: seen.append(name) or real(*given, **more)

    monkeypatch.setattr(ast, "parse", noted("parse", ast.parse))
    monkeypatch.setattr("porter.run.run.gather", noted("gather", gather.gather))
    monkeypatch.setattr(files, "open_regular", noted("open", files.open_regular))

    def look() -> set[str]:
        out = {*seen}
        seen.clear()
        return out

    return look


def plainly(root: Path) -> Run:
    return run(root, [str(root)], Settings(jobs=1), open_session())


def again(root: Path, jobs: int = 1, paths: tuple[str, ...] = (), anew: bool = False) -> Run:
    paths = tuple(str(root / path) for path in paths) or (str(root),)
    return run(root, paths, Settings(jobs=jobs), open_session(), cache=Cache(root.parent / "c/c.sqlite", anew=anew))


def rest(root: Path) -> None:
    """Files as they are when a minute has gone by: that is told by their times alone, which nobody can set back."""
    base = sqlite3.connect(root.parent / "c/c.sqlite")
    ((key, data),) = base.execute("select key, data from runs").fetchall()
    reads, *more = marshal.loads(data[4:])
    rows = [(path, most, witness.signs_of(os.stat(path)), *told) for path, most, _, *told in reads]
    base.close()
    Cache(root.parent / "c/c.sqlite").keep_run(key, (rows, *more))


def test_nothing_is_parsed_or_read_again_where_nothing_has_changed(project, worked):
    want = plainly(project)
    assert want.facts.native.functions and want.facts.checkpoints.saved and want.facts.lists.absent and want.facts.own
    assert again(project) == want and worked() >= {"parse", "gather", "open"}
    assert again(project) == want and worked().isdisjoint({"parse", "gather"})  # just written: known by the bytes
    rest(project)
    opened = []
    with pytest.MonkeyPatch.context() as patch:
        real = files.open_regular
        patch.setattr(files, "open_regular", lambda file, **more: opened.append(str(file)) or real(file, **more))
        got = again(project, jobs=2)
        assert (got.files, got.facts, got.left_out) == (want.files, want.facts, want.left_out)
    assert not [path for path in opened if os.path.basename(path) in FILES and ".git" not in path]


CHANGES = {
    "a file": lambda root: write(root, {"train.py": FILES["train.py"] + "torch.cuda.synchronize()\n"}),
    "as long as before": lambda root: write(root, {"device.py": DEVICE.replace("cuda", "cpu:")}),
    "another file": lambda root: write(root, {"more.py": "import torch\ntorch.cuda.synchronize()\n"}),
    "a file less": lambda root: (root / "device.py").unlink(),
    "what is ignored": lambda root: write(root, {".gitignore": "train.py\n"}),
    "a file that is ignored": lambda root: write(root, {"own.py": "from device import DEVICE as PLACE\n"}),
    "a file that is ignored, less": lambda root: (root / "own.py").unlink(),
    "a source": lambda root: write(root, {"run.cu": FILES["run.cu"].replace('"go"', '"went"')}),
    "a script": lambda root: write(root, {"train.sh": "python train.py\n"}),
    "a list": lambda root: write(root, {"requirements.txt": "torch==2.1\n"}),
    "a submodule": lambda root: write(root, {"third/third.py": ""}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_noticed(project, worked, change):
    again(project)
    rest(project)
    worked()
    CHANGES[change](project)
    got = again(project)
    assert "gather" in worked() and got == plainly(project)


def test_what_is_written_twice_within_a_tick_is_noticed(project):
    """A file whose size, times and place are the same as before: it was written while the clock stood."""
    file = project / "device.py"
    again(project)
    old = os.stat(file)
    file.write_bytes(file.read_bytes().replace(b"cuda", b"cpu:"))
    real = witness.signs_of
    with pytest.MonkeyPatch.context() as patch:
        for module in ("porter.files.witness", "porter.run.whole"):
            patch.setattr(f"{module}.signs_of", lambda now: real(old if now.st_ino == old.st_ino else now))
        assert again(project) == plainly(project)


def test_a_file_that_was_only_touched_is_the_same(project, worked):
    want = again(project)
    rest(project)
    worked()
    os.utime(project / "train.py", ns=(1, 1))
    assert again(project) == want and worked() == {"open"}


@POSIX
def test_a_file_that_became_read_only_is_noticed(project):
    write(project, {"device.py": "import torch\n\nDEVICE = 'cuda'\nx = torch.ones(1, device=DEVICE)\n"})
    again(project)
    (project / "device.py").chmod(0o444)
    assert again(project) == plainly(project)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("meanwhile", [DEVICE + "torch.cuda.synchronize()\n", None])
def test_a_file_that_changes_while_it_is_looked_at(project, monkeypatch, jobs, meanwhile):
    """Where another process sees it, nobody knows of which bytes what was said is true; one process reads a file once."""
    file = project / "device.py"
    real = gather.gather

    def changing(*given, **more):
        facts = real(*given, **more)
        file.write_text(meanwhile) if meanwhile else file.unlink()
        return facts

    def restoring(phase, *_):
        if phase == "together":
            file.write_text(DEVICE)

    with monkeypatch.context() as patch:
        patch.setattr("porter.run.run.gather", changing)
        patch.setattr("porter.run.run.PARALLEL_FROM", 2)
        cache = Cache(project.parent / "c/c.sqlite")
        first = run(project, [str(project)], Settings(jobs=jobs), open_session(), cache=cache, progress=restoring)
    assert again(project) == plainly(project)
    assert (first == plainly(project)) is (jobs == 1)


def test_a_file_that_could_not_be_read_to_its_end(project, monkeypatch):
    """It could be opened, and can be the next time."""
    real = files.open_regular

    class Failing(io.BytesIO):
        def read(self, *size):
            raise OSError(errno.EIO, "Input/output error")

        def fileno(self):
            return 0

    with monkeypatch.context() as patch:
        failing = str(project / "device.py")
        patch.setattr(files, "open_regular", lambda f, **more: Failing() if str(f) == failing else real(f, **more))
        assert "PRT003" in {f.code for result in again(project).files for f in result.findings}
    assert again(project) == plainly(project)


def test_a_file_that_memory_was_too_short_for(project, monkeypatch):
    def short(*given):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("porter.analysis.text.examine", short)
        assert "memory" in {f.why for result in again(project).files for f in result.findings}
    assert again(project) == plainly(project)


@pytest.mark.parametrize(
    "row", [(), ((), (), ()), (1, 2, 3, 4), ([("", 1)], [], [], []), ([], [], [], ["run", 1]), ([], [], [], [])]
)
def test_what_no_porter_has_written_is_not_believed(project, row):
    want, cache = again(project), Cache(project.parent / "c/c.sqlite")
    with sqlite3.connect(cache.file) as base:
        ((key,),) = base.execute("select key from runs").fetchall()
    base.close()
    cache.keep_run(key, row)
    assert again(project) == want


def test_only_the_latest_are_kept(project):
    cache = Cache(project.parent / "c/c.sqlite")
    for n in range(RUNS + 3):
        cache.keep_run(str(n), (n,))
    assert [cache.run(str(n)) for n in (0, 2, 3, RUNS + 2)] == [None, None, (3,), (RUNS + 2,)]


def test_large_runs_leave_room_for_other_results(project, monkeypatch):
    cache = Cache(project.parent / "c/c.sqlite")
    monkeypatch.setattr("porter.run.cache.MOST_OF_RUNS", 1000)
    for n in range(4):
        cache.keep_run(str(n), (n, "x" * 400))
    assert [bool(cache.run(str(n))) for n in range(4)] == [False, False, True, True]
    cache.keep_run("huge", ("x" * 2000,))
    assert cache.run("huge") is None and cache.run("3")


def test_files_that_a_hook_names_and_runs_that_write_keep_no_run(project):
    again(project, paths=("train.py", "device.py"))
    again(project, anew=True)
    with sqlite3.connect(project.parent / "c/c.sqlite") as base:
        assert not base.execute("select key from runs").fetchall()
    base.close()


def test_a_run_that_writes_believes_no_run(project, worked):
    again(project)
    worked()
    again(project, anew=True)
    assert "gather" in worked()


def test_files_are_told_together_in_one_order(project, monkeypatch):
    """Whether they were known before, and whoever was done first: what is told of several names the others in it."""
    write(project, {f"m{n}.py": DEVICE + "torch.cuda.synchronize()\n" + "x = 1\n" * (n % 5) for n in range(12)})
    orders = []
    real = told_by_cause.told_by_cause
    monkeypatch.setattr(
        "porter.run.together.told_by_cause",
        lambda done, *more: orders.append([r.path for r in done]) or real(done, *more),
    )
    plainly(project)
    monkeypatch.setattr("porter.run.run.PARALLEL_FROM", 2)
    run(project, [str(project)], Settings(jobs=2), open_session())
    again(project)
    write(project, {"m3.py": (project / "m3.py").read_text().replace("1", "2")})
    again(project)
    assert len(orders) == 4 and orders[0] == orders[1] == orders[2] == orders[3] != sorted(orders[0])


def test_a_hook_takes_what_a_run_found_in_other_files(project, monkeypatch):
    """The places of a value in files that it does not look at by itself."""
    write(project, {"other.py": FILES["train.py"]})
    paths = [str(project / "train.py")]
    want = run(project, paths, Settings(jobs=1), open_session())
    again(project)
    looked = []
    real = analyse.sites
    monkeypatch.setattr("porter.run.run.sites", lambda path, *more: looked.append(path) or real(path, *more))
    assert again(project, paths=("train.py",)) == want and not looked
    assert run(project, paths, Settings(jobs=1), open_session()) == want and "other.py" in looked


def test_everything_that_is_opened_was_seen(project, monkeypatch):
    opened = set()
    real = files.open_regular
    monkeypatch.setattr(files, "open_regular", lambda file, **more: opened.add(str(file)) or real(file, **more))
    with watching() as seen:
        plainly(project)
    assert opened == {path for path, _ in seen.reads} | {path for path, ask in seen.answers if ask == files.UNREAD}
    assert {ask for _, ask in seen.answers} >= {files.UNREAD, "file", "empty", "read-only"} and seen.is_steady


ASKS = (
    "isfile",
    "isdir",
    "exists",
    "lexists",
    "listdir",
    "scandir",
    "realpath",
    "is_file",
    "is_dir",
    "glob",
    "iterdir",
)


def test_nothing_is_asked_of_the_disk_unseen():
    """By the rooms that a run over a project goes through; versions that a project pins are part of its target."""
    top = Path(plain.__file__).parents[1]
    rooms = ("project", "native", "training", "values", "python", "checks", "text", "analysis")
    for file in sorted(file for room in rooms for file in (top / room).rglob("*.py")):
        if file.relative_to(top).as_posix() not in ("project/pins.py", "checks/registry.py"):
            calls = (n.func for n in ast.walk(ast.parse(file.read_bytes())) if isinstance(n, ast.Call))
            assert not [c.attr for c in calls if isinstance(c, ast.Attribute) and c.attr in ASKS], file


def test_facts_come_back_as_they_were(project):
    facts = plainly(project).facts
    assert facts_of(marshal.loads(marshal.dumps(facts_row(facts)))) == facts
