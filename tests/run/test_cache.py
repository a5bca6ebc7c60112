"""The cache is the user's own or it is not used, and what is written never comes from it."""

from __future__ import annotations

import marshal
import os
import sqlite3
import stat
from pathlib import Path
from zlib import adler32

import pytest
from command_line import Porter, process, write
from files_world import POSIX

from porter.resources import is_ours, make_ours

BODY = "import torch\n\ntorch.cuda.synchronize()\n"
PORTED = "import torch\nimport torch_npu  # noqa: F401\n\ntorch.npu.synchronize()\n"
CLEAN = "import torch\n\ntorch.ones(3, device='cuda')\n"

SETUP = "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('pkg._C', ['run.cu'])\n"
KERNEL = '__global__ void k(int) {}\nvoid go(int a) { k<<<1, 1>>>(a); }\nPYBIND11_MODULE(_C, m) { m.def("go", &go); }\n'


@pytest.fixture
def porter(tmp_path, monkeypatch) -> Porter:
    return Porter(monkeypatch, write(tmp_path / "r", {"a.py": BODY, "b.py": CLEAN}))


def base(porter: Porter) -> Path:
    return porter.folder.parent / "cache/analyses.sqlite"


def forge(file: Path, change) -> int:
    """Rewrite every row of a file with a valid seal; how many there were."""
    with sqlite3.connect(file) as connection:
        connection.execute("delete from runs")
        rows = connection.execute("select run, key, data from results").fetchall()
        for run_key, key, data in rows:
            new = marshal.dumps(change(marshal.loads(data[4:])))
            sealed = adler32(new).to_bytes(4, "big") + new
            connection.execute("update results set data = ? where run = ? and key = ?", (sealed, run_key, key))
    connection.close()
    return len(rows)


def with_edits(row: tuple) -> tuple:
    """A row as an attacker would have it: the file begins with a command of his."""
    path, findings, _, _, *rest = row
    evil = ((0, 0, b"import os; os.system('true')\n"),)
    return (path, [(*f[:11], evil, *f[12:]) for f in findings], evil, evil, *rest)


def without_findings(row: tuple) -> tuple:
    return (row[0], [], (), (), *row[4:])


@pytest.mark.slow
@pytest.mark.parametrize("change", [with_edits, without_findings])
@pytest.mark.parametrize("how", ["--inplace", "--out", "diff"])
def test_a_forged_row_is_never_written(porter, tmp_path, change, how):
    porter("analyze", ".")
    assert forge(base(porter), change) == 2
    if how == "diff":
        shown = porter("migrate", ".").text
        assert "+torch.npu.synchronize()" in shown and "os.system" not in shown
        return
    answer = porter("migrate", ".", "--inplace") if how == "--inplace" else porter("migrate", ".", "--out", "../o")
    assert answer.code == 0, answer.err
    written = porter.folder if how == "--inplace" else tmp_path / "o"
    assert (written / "a.py").read_text() == PORTED
    assert "npu" in (written / "b.py").read_text() and "os.system" not in (written / "b.py").read_text()


@pytest.mark.slow
def test_a_forged_place_of_another_file_lets_nothing_be_written(porter):
    """One file is ported alone: the value that it has from another stays, whatever the cache says of that one."""
    asks = "import torch\nfrom b import KIND\n\nx = torch.ones(1, device=KIND)\nif KIND == 'cuda':\n    x += 1\n"
    write(porter.folder, {"a.py": asks, "b.py": "KIND = 'cuda'\n", "porter.toml": ""})
    porter("analyze", "a.py")
    assert forge(base(porter), lambda row: ((), ()) if len(row) == 2 else row)
    porter("migrate", "a.py", "--inplace", "--unsafe")
    assert (porter.folder / "a.py").read_text() == asks


@pytest.mark.slow
def test_a_run_that_writes_reads_nothing_of_the_cache(porter):
    """Of CUDA sources, too: a kernel that the cache hides would let its guard be edited."""
    write(
        porter.folder, {"setup.py": SETUP, "run.cu": KERNEL, "net.py": "import torch\nfrom pkg import _C\n\n_C.go(1)\n"}
    )
    porter("analyze", ".")
    porter("analyze", "a.py")
    seen = []
    porter.patch.setattr("porter.run.cache._opened", seen.append)
    porter("migrate", "a.py", "--check")
    porter("migrate", ".", "--check")
    assert not seen
    porter("analyze", ".")
    assert seen


@pytest.mark.slow
def test_a_run_that_writes_leaves_what_it_found_for_others(porter):
    porter("migrate", ".", "--check")
    seen = []
    porter.patch.setattr("porter.run.run.analyse_file", lambda *given: seen.append(given))
    assert "PRT101" in porter("analyze", ".").text and not seen


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o1777, 0o722])
def test_a_folder_that_others_can_write_to_is_not_used(porter, mode):
    said = porter("analyze", ".", "--format", "json").out
    forge(base(porter), without_findings)
    before, rules = base(porter).read_bytes(), set(base(porter).parent.iterdir())
    base(porter).parent.chmod(mode)
    answer = porter("analyze", ".", "--format", "json")
    assert answer.out == said and "the cache is not used" in answer.err
    assert "缓存" in porter("analyze", ".", "--lang", "zh").err
    assert "cache" not in porter("analyze", ".", "--quiet").err
    assert base(porter).read_bytes() == before and set(base(porter).parent.iterdir()) == rules
    base(porter).parent.chmod(0o700)
    answer = porter("analyze", ".", "--format", "json")
    assert answer.out != said and not answer.err  # the forged rows, in a folder that only the user can have written


@pytest.mark.slow
@POSIX
def test_a_folder_of_somebody_else_is_not_used(porter):
    if os.geteuid():  # only root can give a folder away
        assert not is_ours("/") and not make_ours("/")
        return
    said = porter("analyze", ".", "--format", "json").out
    forge(base(porter), without_findings)
    folder = base(porter).parent
    os.chown(folder, 65534, 65534)
    answer = porter("analyze", ".", "--format", "json")
    assert answer.out == said and "the cache is not used" in answer.err
    os.chown(folder, 0, 0)
    os.chown(base(porter), 65534, 65534)  # what a stranger left there while he could
    answer = porter("analyze", ".", "--format", "json")
    assert answer.out == said and not answer.err and base(porter).stat().st_uid == 0


@POSIX
def test_what_is_made_is_closed_to_others(porter):
    old = os.umask(0)
    try:
        porter("analyze", ".")
    finally:
        os.umask(old)
    folder = base(porter).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("what", ["open", "link", "pipe", "folder", "journal"])
def test_a_file_that_is_not_ours_is_not_read(porter, tmp_path, what):
    said = porter("analyze", ".", "--format", "json").out
    file = base(porter)
    forge(file, without_findings)
    if what == "open":
        file.chmod(0o666)
    elif what == "link":
        file.rename(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").chmod(0o666)
        file.symlink_to(tmp_path / "elsewhere")
    elif what == "pipe":
        file.unlink()
        os.mkfifo(file)
    elif what == "folder":
        file.unlink()
        file.mkdir()
    else:
        Path(f"{file}-journal").touch(0o666)
        Path(f"{file}-journal").chmod(0o666)
    for _ in range(2):
        if what == "pipe":  # it would hold for ever what waits for it
            assert process("analyze", ".", "--format", "json", cwd=porter.folder).stdout == said
        answer = porter("analyze", ".", "--format", "json")
        assert answer.out == said and not answer.err
    if what != "folder":  # it was begun anew
        assert file.is_file() and not file.is_symlink() and stat.S_IMODE(file.stat().st_mode) == 0o600


@POSIX
def test_links_and_owners(tmp_path):
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "link").symlink_to("real")
    assert is_ours(tmp_path / "link") and make_ours(tmp_path / "link")
    assert make_ours(tmp_path / "new/deep") and is_ours(tmp_path / "new/deep")
    (tmp_path / "loop").symlink_to("loop")
    for nothing in ("absent", "loop", "real/../absent", "nul\0"):
        assert not is_ours(tmp_path / nothing), nothing
    (tmp_path / "file").touch()
    assert not make_ours(tmp_path / "file/below")
    if os.geteuid() == 0:
        (tmp_path / "theirs").symlink_to("real")
        os.chown(tmp_path / "theirs", 65534, 65534, follow_symlinks=False)
        assert not is_ours(tmp_path / "theirs")
        os.chown(tmp_path / "real", 65534, 65534)
        assert not is_ours(tmp_path / "real") and not is_ours(tmp_path / "link")


@pytest.mark.slow
@POSIX
def test_rules_of_others_are_not_used(porter):
    """Compiled rules say what is written; they lie beside the results."""
    from porter.rulebook import compiled

    process("analyze", ".", cwd=porter.folder)
    place = min(base(porter).parent.glob("rules-*.bin"), key=lambda file: b" tables:" not in file.read_bytes()[:999])
    key, name = place.name[6:-4], "tables"
    assert compiled.read_part(place, key, name)
    for spoil in (lambda: place.chmod(0o622), lambda: place.parent.chmod(0o777)):
        spoil()
        assert compiled.read_part(place, key, name) is None
        place.chmod(0o600)
        place.parent.chmod(0o700)
    assert compiled.read_part(place, key, name)
    place.unlink()
    os.mkfifo(place)
    assert compiled.read_part(place, key, name) is None


def test_a_row_of_other_bytes_is_noticed(porter):
    """One byte in the middle of what was found, of the same length and readable."""
    said = porter("analyze", ".", "--format", "json").out
    with sqlite3.connect(base(porter)) as connection:
        rows = connection.execute("select key, data from results").fetchall()
        for key, data in rows:
            assert b"PRT1" in data
            connection.execute("update results set data = ? where key = ?", (data.replace(b"PRT1", b"PRT9"), key))
    connection.close()
    assert porter("analyze", ".", "--format", "json").out == said


@pytest.mark.slow
@POSIX
def test_programs_of_others_are_not_run(porter, needs_torch):
    """What a verified run loads lies in the cache, too."""
    from porter.errors import UserError
    from porter.verify import install, interpreter

    ours, folder = interpreter.ask(None), base(porter).parent
    folder.mkdir(0o777)
    folder.chmod(0o777)
    with pytest.raises(UserError, match="the cache is not used"):
        install.set_up(ours, None, lambda *_, **__: None)
    assert not list(folder.iterdir())
    folder.chmod(0o700)
    with pytest.raises(UserError, match="no virtual NPU"):
        install.find(ours)
    folder.chmod(0o770)
    assert (folder / "verify").mkdir() is None
    place = install.place_of(ours)
    place.mkdir()
    with pytest.raises(UserError, match="the cache is not used"):
        install.find(ours)
