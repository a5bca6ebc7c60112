"""Many files: pool and serial agree, files that vanish, workers that die, the cache."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.analysis.session import open_session
from porter.engine.session import Quiet, Session
from porter.run.cache import Cache
from porter.run.config import Settings
from porter.run.run import run
from porter.run.said import is_broken
from porter.target import Target

BODY = "import torch\n\n\ndef f(x):\n    torch.cuda.synchronize()\n    return x.to('cuda:{n}')\n"


@pytest.fixture
def many(tmp_path):
    files = {f"p{n % 7}/m{n}.py": BODY.replace("{n}", str(n % 8)) + "y = 1\n" * (n % 11) for n in range(60)}
    return write(tmp_path / "r", {**files, "setup.py": "", "clean.py": "x = 1\n", "empty.py": ""})


def analysed(root: Path, jobs: int = 1, **more):
    return run(root, [str(root)], Settings(jobs=jobs), open_session(), **more)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A project, and what porter says of it."""
    root = write(tmp_path_factory.mktemp("few") / "r", {"a.py": BODY.replace("{n}", "0"), "clean.py": "x = 1\n"})
    return root, analysed(root)


@pytest.mark.parametrize(
    "step", ["rested", "told_by_function", "told_by_cause", "told_by_decision", "told_together", "set_aside"]
)
def test_a_step_that_fails_takes_nothing_away(sound, monkeypatch, step):
    root, said = sound
    monkeypatch.setattr(f"porter.run.together.{step}", lambda *_: 1 / 0)
    got = analysed(root)
    assert any(file.auto for file in got.files)
    assert [(f.path, f.auto, f.review) for f in got.files] == [(f.path, f.auto, f.review) for f in said.files]
    (fault,) = [f for file in got.files for f in file.findings if f.code == "PRT003"]
    assert (fault.path, fault.why, dict(fault.values)["error"]) == (
        "a.py",
        "together",
        "ZeroDivisionError: division by zero",
    )


@pytest.mark.slow
def test_serial_and_pool_are_the_same(many, monkeypatch):
    one = analysed(many)
    monkeypatch.setattr("porter.run.run.PARALLEL_FROM", 2)
    for jobs in (2, 5):
        assert analysed(many, jobs).files == one.files
    assert [f.path for f in one.files] == sorted(f.path for f in one.files) and len(one.files) == 63
    assert sum(f.parsed for f in one.files) == 60 and sum(bool(f.auto) for f in one.files) == 60


@pytest.mark.slow
def test_progress_counts_every_file_and_names_each_phase(many, monkeypatch):
    for jobs in (1, 3):
        monkeypatch.setattr("porter.run.run.PARALLEL_FROM", 2)
        seen: list[tuple[str, int, int]] = []
        analysed(many, jobs, progress=lambda *state: seen.append(state))
        phases = list(dict.fromkeys(phase for phase, _, _ in seen))
        assert phases == ["files", "project", "analysis", "together"]
        counted = [(done, total) for phase, done, total in seen if phase == "analysis"]
        assert [done for done, _ in counted] == list(range(4, 64)) and {total for _, total in counted} == {63}


@pytest.mark.slow
def test_a_worker_that_dies_takes_one_file_with_it(many, monkeypatch, tmp_path):
    want = analysed(many)
    write(many, {"p3/deadly.py": BODY})
    # what a worker imports when it starts: the engine, which dies on one file as if it had been killed
    write(
        tmp_path / "site",
        {
            "sitecustomize.py": (
                "import os, sys\n"
                "if '--multiprocessing-fork' in sys.argv:\n"
                "    import porter.analysis.python as engine, porter.run.run as run\n"
                "    real = engine.analyse\n"
                "    def analyse(path, data, session):\n"
                "        if path.endswith('deadly.py'):\n"
                "            os.kill(os.getpid(), 9)\n"
                "        return real(path, data, session)\n"
                "    run.analyse = analyse\n"
            )
        },
    )
    root = Path(__file__).resolve().parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), str(root)]))
    monkeypatch.setattr("porter.run.run.PARALLEL_FROM", 2)
    got = analysed(many, 2)
    (dead,) = (f for f in got.files if f.path == "p3/deadly.py")
    assert [(f.code, f.why) for f in dead.findings] == [("PRT003", "crashed")] and got.broken
    assert [f for f in got.files if f is not dead] == list(want.files)


@pytest.mark.slow
def test_files_that_vanish_between_listing_and_reading(many, monkeypatch):
    from porter.run import run as module

    real = module.discover

    def vanishing(*given, **more):
        found = real(*given, **more)
        (many / "p1/m1.py").unlink()
        return found

    monkeypatch.setattr(module, "discover", vanishing)
    got = analysed(many)
    (gone,) = (f for f in got.files if f.path == "p1/m1.py")
    assert [(f.code, f.why) for f in gone.findings] == [("PRT003", "vanished")]
    assert not got.broken and len(got.files) == 63


@pytest.mark.slow
def test_one_process_opens_a_file_once_and_sees_the_same_bytes_all_along(many, monkeypatch):
    from porter.files import read as module
    from porter.run import run as runs

    want, opens, real, gathering = analysed(many), Counter(), module.open_regular, runs.gather
    monkeypatch.setattr(module, "open_regular", lambda f, **more: opens.update([str(f)]) or real(f, **more))

    def changing(*given, **more):
        facts = gathering(*given, **more)
        (many / "p1/m1.py").write_text("x = 1\n")
        (many / "p2/m2.py").unlink()
        return facts

    monkeypatch.setattr(runs, "gather", changing)
    got = analysed(many)
    assert got.files == want.files and got.data("p2/m2.py").startswith(b"import torch")
    assert {n for file, n in opens.items() if file.endswith("y")} == {1}


@pytest.mark.slow
def test_files_beyond_what_is_kept_are_read_again(many, monkeypatch):
    want = analysed(many)
    monkeypatch.setattr("porter.files.read._KEPT", 100)
    assert analysed(many).files == want.files


@pytest.mark.slow
def test_collector_is_left_as_it_was(many):
    import gc

    gc.unfreeze()  # what the tests froze themselves
    before = gc.get_threshold(), gc.get_freeze_count()
    analysed(many)
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


# the cache


def cached(root: Path, file: Path, session: Session = open_session()):
    return run(root, [str(root)], Settings(jobs=1), session, cache=Cache(file))


@pytest.fixture
def counted(monkeypatch):
    """How many files were analysed since the last look."""
    from porter.run import run as module

    seen: list[str] = []
    real = module.analyse_file
    monkeypatch.setattr(
        module, "analyse_file", lambda root, path, session: seen.append(path) or real(root, path, session)
    )

    def look() -> list[str]:
        out = sorted(seen)
        seen.clear()
        return out

    return look


@pytest.mark.slow
def test_second_run_analyses_nothing_and_says_the_same(many, tmp_path, counted):
    plain = analysed(many)
    counted()
    assert cached(many, tmp_path / "c.sqlite") == plain and len(counted()) == 60
    assert cached(many, tmp_path / "c.sqlite") == plain and counted() == []


@pytest.mark.slow
def test_what_a_result_depends_on(many, tmp_path, counted):
    file = tmp_path / "c.sqlite"
    cached(many, file)
    counted()
    write(many, {"p1/m1.py": BODY + "z = 2\n"})
    cached(many, file)
    assert counted() == ["p1/m1.py"], "its bytes"
    cached(many, file, open_session(target=Target(torch_npu="2.13.0")))
    assert len(counted()) == 60, "the target"
    cached(many, file, open_session(quiet=Quiet(frozenset({"PRT101"}))))
    assert len(counted()) == 60, "the codes that are off"
    cached(many, file, open_session(quiet=Quiet(below=(("p1/*", frozenset({"PRT101"})),))))
    assert len(counted()) == 60
    write(many, {"batch.py": "class B:\n    def cuda(self):\n        return self\n"})
    got = cached(many, file)
    assert len(counted()) == 61, "the facts of the project"
    assert got == analysed(many)


@pytest.mark.slow
def test_a_moved_file_is_another_one(many, tmp_path, counted):
    file = tmp_path / "c.sqlite"
    cached(many, file)
    counted()
    (many / "p1/m1.py").rename(many / "p1/other.py")
    assert cached(many, file) == analysed(many)
    assert "p1/other.py" in counted()


@pytest.mark.slow
def test_what_is_read_of_native_sources_is_kept(tmp_path, monkeypatch):
    from porter.native import kernels

    files = {
        "setup.py": 'import torch\nCUDAExtension("pkg._C", ["run.cu"])\n',
        "run.cu": '__global__ void k(int) {}\nvoid go(int a) { k<<<1, 1>>>(a); }\nPYBIND11_MODULE(_C, m) { m.def("go", &go); }\n',
        "use.py": "import torch\nfrom pkg import _C\n_C.go(1)\n",
    }
    root, file = write(tmp_path / "r", files), tmp_path / "c.sqlite"
    real, seen = kernels._exported, []
    monkeypatch.setattr(kernels, "_exported", lambda *given: seen.append(1) or real(*given))
    want = analysed(root)
    assert "use.py:3" in str(want) and len(seen) == 1
    assert cached(root, file) == want and len(seen) == 2
    write(root, {"use.py": files["use.py"] + "x = 1\n"})
    again = cached(root, file)
    assert len(seen) == 2 and again == analysed(root) and len(seen) == 3
    write(root, {"run.cu": files["run.cu"].replace('"go"', '"went"')})
    assert "_C.go" not in str(cached(root, file)) and len(seen) == 4


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["text", "cut", "flipped", "folder", "no room"])
def test_a_cache_that_cannot_be_used_is_not_there(many, tmp_path, damage):
    want, file = analysed(many), tmp_path / "c" / "c.sqlite"
    cached(many, file)
    if damage == "text":
        file.write_text("no data base " * 1000)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    elif damage == "flipped":
        base = sqlite3.connect(file)
        for table in ("results", "runs"):
            base.execute(f"update {table} set data = substr(data, 1, length(data) - 5) || x'0102030405'")
        base.commit()
        base.close()
    elif damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.unlink()
        file.parent.rmdir()
        file.parent.write_text("in the way")
    for _ in range(2):
        assert cached(many, file) == want


def test_refusals_are_not_kept(tmp_path, monkeypatch):
    root, file = write(tmp_path / "r", {"a.py": BODY}), tmp_path / "c.sqlite"
    from porter.analysis import python as engine

    with monkeypatch.context() as patch:
        patch.setattr(engine, "look", lambda *_: 1 / 0)
        assert cached(root, file).broken
    assert not cached(root, file).broken


@pytest.mark.slow
def test_commands(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    porter = Porter(monkeypatch, write(tmp_path / "r", {"a.py": BODY}))
    folder = Path(porter("cache", "dir").text.strip())
    assert folder == tmp_path / "cache"
    first = porter("analyze", ".", "--format", "json").out
    assert (folder / "analyses.sqlite").exists()
    assert porter("analyze", ".", "--format", "json").out == first
    assert porter("cache", "clean").text == "Cache removed.\n"
    assert not folder.exists()
    assert porter("cache", "clean").text == "There was no cache.\n"
    porter("analyze", ".", "--no-cache")
    assert not (folder / "analyses.sqlite").exists()
    monkeypatch.delenv("PORTER_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert porter("cache", "dir").text.strip() == str(tmp_path / "xdg/porter")
    assert json.loads(first)["summary"]["parsed"] == 1


@pytest.mark.slow
def test_a_rule_that_fails_costs_its_own_findings_and_the_exit_code(tmp_path, monkeypatch):
    from porter.checks.device.cuda_method import CudaMethod

    (tmp_path / "r").mkdir()
    root = write(tmp_path / "r", {"a.py": BODY, "b.py": "import torch\ntorch.ones(1).cuda()\n"})
    porter = Porter(monkeypatch, root)
    monkeypatch.setattr(CudaMethod, "visit", lambda *_: 1 / 0)
    answer = porter("analyze", ".")
    assert answer.code == 123 and f"{CudaMethod.code} failed here (ZeroDivisionError" in answer.text
    assert "PRT101" in answer.text
    assert porter("migrate", ".", "--inplace").code == 123
    assert "torch.npu.synchronize" in (root / "a.py").read_text() and ".cuda()" in (root / "b.py").read_text()


ODD = {
    "python2.py": "import torch\nprint 'x', torch.cuda.is_available()\n",
    "cookie.py": "# coding: utf-7\nimport torch\ntorch.cuda.synchronize()\n",
    "latin.py": "import torch\ntorch.cuda.synchronize()  # é\n".encode("latin-1"),
    "deep.py": "import torch\nx = torch.cuda.f(" + "(" * 5000 + ")" * 5000 + ")\n",
    "cut.py": "import torch\ntorch.cuda.synchronize(\n",
    "nul.py": b"import torch\ntorch.cuda.synchronize()\n" + b"#" * 9000 + b"\0\n",
    "data.py": b"import torch\ntorch.cuda.synchronize()\n\0\n",
    "joined.py": "import torch\nfrom old import DEVICE\nx = torch.ones(1, device=DEVICE)\nif DEVICE == 'cuda':\n    pass\n",
    "old.py": "DEVICE = 'cuda'\nprint 'x'\n",
    "a.sh": b"export CUDA_VISIBLE_DEVICES=0 # \xff\n",
    "b.yaml": "device: [cuda\n",
    "c.json": '{"device": "cuda",\n',
    "d.toml": 'device = "cuda\n',
    "e.ipynb": '{"cells": 1, "torch": "cuda"}',
    "requirements.txt": "torch==2.1 ; ;;;\n\0",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_a_finding_and_no_failure(tmp_path, monkeypatch, name):
    (tmp_path / "r").mkdir()
    porter = Porter(monkeypatch, write(tmp_path / "r", {**ODD, "good.py": BODY}))
    for command in (["analyze", "."], ["migrate", "."], ["migrate", name], ["analyze", name, "--fail-on", "blocker"]):
        answer = porter(*command)
        assert answer.code in (0, 1), (command, answer)
        assert "Traceback" not in answer.err


@pytest.mark.slow
def test_what_is_too_long_is_called_what_it_is(tmp_path):
    texts = {"a.cu": "void f();\n" * 500_000, "b.h": "\0" * 9, "c.yaml": "device: cuda\n" * 400_000}
    words = ", ".join(f'"w{n}"' for n in range(200_000))
    texts |= {"d.json": f'{{"device": "cuda", "words": [{words}]}}', "e.json": f'{{"words": [{words}]}}'}
    texts["f.json"] = '\ufeff{"device": "cuda"}'.encode("utf-16-le")
    write(tmp_path, {"porter.toml": "", **texts})
    files = analysed(tmp_path).files
    told = {f.path: (f.why, dict(f.values).get("size")) for file in files for f in file.findings}
    settings = {"d.json": ("settings", "2.1"), "f.json": ("settings", None)}  # they name a device
    assert told == {
        "a.cu": ("too-large-source", "5.0"),
        "b.h": ("binary", None),
        "c.yaml": ("data", "5.2"),
        **settings,
    }
    assert not is_broken(files), "that is no failure of porter"
