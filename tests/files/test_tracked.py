"""What git tracks is read, whatever .gitignore says: the index as git itself writes it, and as nobody should."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from pathlib import Path

import pytest
from command_line import Porter
from files_world import git, make

from porter.files.all_files import everything
from porter.files.copy import write_copy
from porter.files.discover import Walk, discover
from porter.files.tracked import LIMIT, Index, read_names

pytestmark = pytest.mark.slow  # git is started

BODY = "import torch\ntorch.cuda.synchronize()\n"
FORMS = ["2", "3", "4", "split", "split 4", "sha256", "worktree"]


def names(root: Path, *paths: str, **options) -> list[str]:
    return [file.path for file in discover([root / p for p in paths or [""]], root=root, **options)]


def listed(root: Path) -> list[str]:
    out = git(root, "ls-files", "-z").stdout.split(b"\0")
    return sorted({name.decode("latin-1") for name in out if name})


@pytest.fixture(params=FORMS)
def repository(request, tmp_path) -> Path:
    """With ignored files that git tracks, and some that it does not."""
    root = tmp_path / "r"
    root.mkdir()
    if git(
        root, "init", "-q", *(["--object-format=sha256"] if request.param == "sha256" else []), check=False
    ).returncode:
        pytest.skip("this git knows no sha256")
    make(root, "a.py", "gen_a.py", "gen_b.py", "data/x.py", "data/y.py", "data/sub/z.py", "data/sub/w.py", "free.py")
    make(root, "outputs/deep/er/k.py", "outputs/l.py", "logs/m.py", "é/n.py", "build/o.py", "gen_c.sh", text=BODY)
    (root / ".gitignore").write_text("gen_*\ndata/\noutputs/*\nlogs\né/\n")
    tracked = [
        "a.py",
        "gen_a.py",
        "data/x.py",
        "data/sub/z.py",
        "outputs/deep/er/k.py",
        "é/n.py",
        "build/o.py",
        ".gitignore",
    ]
    git(root, "add", "-f", *tracked)
    if "4" in request.param:
        git(root, "update-index", "--index-version", "4")
    if request.param == "3":
        git(root, "update-index", "--skip-worktree", "a.py")
        git(root, "add", "-f", "-N", "gen_c.sh")
        git(root, "rm", "-q", "--cached", "gen_c.sh")
    if request.param.startswith("split"):
        git(root, "config", "splitIndex.maxPercentChange", "100")
        git(root, "add", "-f", "logs/m.py", "gen_b.py", "data/y.py")
        git(root, "update-index", "--split-index")
        git(root, "rm", "-q", "--cached", "logs/m.py", "gen_b.py", "data/y.py")
        make(root, "gen_a.py", text=BODY)  # an entry that replaces one of the other half
        git(root, "add", "-f", "gen_a.py")
        assert list((root / ".git").glob("sharedindex.*"))
    if request.param == "worktree":
        git(root, "commit", "-q", "-m", "x")
        git(root, "worktree", "add", "-q", str(tmp_path / "w"))
        make(tmp_path / "w", "gen_b.py", "data/y.py", "data/sub/w.py", "free.py", "logs/m.py", "outputs/l.py")
        git(root, "rm", "-q", "-r", "-f", "--cached", ".")  # of the other worktree's index
        root = tmp_path / "w"
    return root


EXPECTED = ["a.py", "data/sub/z.py", "data/x.py", "free.py", "gen_a.py", "outputs/deep/er/k.py", "é/n.py"]


def test_what_git_tracks_is_not_ignored(repository, request):
    assert read_names(str(repository)) == listed(repository) != []
    assert names(repository) == EXPECTED
    assert [n for n in everything(repository) if n.endswith(".py")] == EXPECTED
    assert names(repository, exclude=["data/", "gen_a.py"]) == [
        n for n in EXPECTED if "data" not in n and "gen" not in n
    ]
    # what lies there and is tracked by nobody is taken only where the folder is named
    assert names(repository, "data") == ["data/sub/w.py", "data/sub/z.py", "data/x.py", "data/y.py"]
    assert "data/y.py" in names(repository, "", "data") and "logs/m.py" not in names(repository, "", "data")
    walk = Walk(repository)
    left = {
        n for n in ("gen_b.py", "data/y.py", "data/sub/w.py", "outputs/l.py", "logs/m.py") if walk.is_left_out(n, False)
    }
    assert len(left) == 5 and not any(walk.is_left_out(n, False) for n in EXPECTED)
    below = repository / "data"
    assert [file.path for file in discover([below], root=below)] == ["sub/w.py", "sub/z.py", "x.py", "y.py"]
    inner = repository / "outputs"
    assert [file.path for file in discover([inner], root=inner)] == ["deep/er/k.py"]


def test_it_is_copied_too(repository, tmp_path):
    write_copy(repository, tmp_path / "o", {})
    copied = {p.relative_to(tmp_path / "o").as_posix() for p in (tmp_path / "o").rglob("*.py")}
    assert copied == {*EXPECTED, "build/o.py"}


def test_it_is_analysed_and_written(tmp_path, monkeypatch):
    root = tmp_path / "r"
    make(root, "gen.py", "other/gen.py", text=BODY)
    (root / ".gitignore").write_text("gen.py\n")
    git(root, "init", "-q")
    git(root, "add", "-f", "gen.py")
    porter = Porter(monkeypatch, root)
    answer = porter("analyze", ".")
    assert answer.code == 1 and "gen.py" in answer.text and "other/" not in answer.text
    assert porter("migrate", ".", "--inplace").code == 0
    assert "torch.npu" in (root / "gen.py").read_text() and (root / "other/gen.py").read_text() == BODY


def test_a_submodule_begins_afresh(tmp_path):
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    make(inner, "x.py")
    for folder in (inner, outer):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "x")
    (outer / ".gitignore").write_text("deps/\n")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "-f", str(inner), "deps/sub")
    make(outer, "deps/sub/new.py", "deps/stray.py")
    assert names(outer) == ["deps/sub/new.py", "deps/sub/x.py"]


@pytest.mark.slow
def test_long_names_and_runs_of_what_is_gone(tmp_path):
    """Numbers of more than one byte, and bitmaps that say a run of words at once."""
    root = tmp_path / "r"
    make(root, *(f"{'long' * 50}/{n:03}.py" for n in range(200)), "z.py")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "update-index", "--index-version", "4")
    assert read_names(str(root)) == listed(root) and len(listed(root)) == 201
    git(root, "config", "splitIndex.maxPercentChange", "100")
    git(root, "update-index", "--split-index")
    git(root, "rm", "-q", "-r", "--cached", *(f"{'long' * 50}/{n:03}.py" for n in range(150)))
    assert read_names(str(root)) == listed(root) and len(listed(root)) == 51


def test_where_there_is_no_index(tmp_path):
    make(tmp_path, "a.py")
    assert read_names(str(tmp_path)) == []


@pytest.mark.slow
def test_any_index_is_survived(tmp_path):
    root = tmp_path / "r"
    make(root, "gen_a.py", "data/x.py", "a.py")
    (root / ".gitignore").write_text("gen_*\ndata/\n")
    git(root, "init", "-q")
    git(root, "add", "-f", ".")
    git(root, "update-index", "--split-index")
    git(root, "rm", "-q", "--cached", "a.py")
    index = root / ".git/index"
    (shared,) = (root / ".git").glob("sharedindex.*")
    dice = random.Random(1)
    for file in (index, shared):
        whole = file.read_bytes()
        file.chmod(0o644)
        for _ in range(400):
            data = bytearray(whole)
            for _ in range(dice.choice((1, 1, 3, 20))):
                data[dice.randrange(len(data))] = dice.randrange(256)
            file.write_bytes(data[: dice.randrange(len(data))] if dice.random() < 0.3 else bytes(data))
            assert isinstance(names(root), list)
        file.write_bytes(whole)
    assert names(root) == ["a.py", "data/x.py", "gen_a.py"]


def entry(name: bytes, mode: int = 0o100644, size: int = 20) -> bytes:
    body = bytes(24) + struct.pack(">I", mode) + bytes(12 + size) + struct.pack(">H", len(name)) + name
    return body + bytes(8 - len(body) % 8)


@pytest.mark.slow
def test_a_hostile_index(tmp_path):
    root = tmp_path / "r"
    make(root, "gen_a.py", "a.py", "../outside.py")
    (root / ".gitignore").write_text("gen_*\n")
    git(root, "init", "-q")
    index = root / ".git/index"
    lies = [b"../outside.py", b"/etc/passwd", b".git/config", b"gen_a.py/x", b"\xff", b"", b"a" * 9000]
    index.write_bytes(b"DIRC" + struct.pack(">II", 2, len(lies)) + b"".join(map(entry, lies)) + bytes(20))
    assert names(root) == ["a.py"]  # a name is only ever looked up
    for data in (
        b"",
        b"DIRC",
        b"DIRC" + struct.pack(">II", 2, 2**32 - 1) + bytes(200),
        b"DIRC" + struct.pack(">II", 4, 1) + entry(b"x")[:62] + b"\xff" * 5000,
        b"DIRC" + struct.pack(">II", 2, 1) + entry(b"x", 0o777777),
        b"DIRC" + struct.pack(">II", 2, 0) + b"link" + struct.pack(">I", 60) + b"\1" * 20
        + struct.pack(">II", 2**32 - 1, 2) + struct.pack(">QQ", 2**33 - 1, 2**64 - 1) + bytes(40),
    ):  # fmt: skip
        index.write_bytes(data)
        assert names(root) == ["a.py"] and read_names(str(root)) == []
    index.unlink()
    os.mkfifo(index)
    assert names(root) == ["a.py"]
    index.unlink()
    with open(index, "wb") as stream:
        stream.truncate(LIMIT + 1)
    assert names(root) == ["a.py"]


def fourth(cut: bytes, name: bytes) -> bytes:
    """An entry of an index of version 4: how much of the name before is cut off, and what follows."""
    return bytes(24) + struct.pack(">I", 0o100644) + bytes(32) + struct.pack(">H", len(name)) + cut + name + b"\0"


def index_of(version: int, *entries: bytes, magic: bytes = b"DIRC") -> bytes:
    return magic + struct.pack(">II", version, len(entries)) + b"".join(entries) + bytes(20)


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (index_of(2, entry(b"a.py"), entry(b"b.py")), ["a.py", "b.py"]),
        (index_of(2, entry(b"a.py"), magic=b"DIRK"), []),
        (index_of(5, entry(b"a.py")), []),
        (index_of(4, fourth(b"\0", b"ab.py"), fourth(b"\4", b"c.py")), ["ab.py", "ac.py"]),
        (index_of(4, fourth(b"\0", b"ab.py"), fourth(b"\6", b"c.py")), []),  # more than there is
        (index_of(4, fourth(b"\0", b"ab.py"), fourth(b"\xff\xff\xff\xff\x7f", b"c.py")), []),  # no number of a name
    ],
    ids=["as it should be", "another magic", "a later version", "names cut", "names cut too far", "a vast number"],
)
def test_an_index_byte_by_byte(tmp_path, data, names):
    git(tmp_path, "init", "-q")
    (tmp_path / ".git/index").write_bytes(data)
    assert read_names(str(tmp_path)) == names


@pytest.mark.parametrize(
    ("bitmap", "names"),
    [
        (b"", ["a.py", "b.py"]),
        (struct.pack(">IIQQ", 2, 2, 1 << 33, 1), ["b.py"]),
        (struct.pack(">IIQ", 2, 1, 0), ["a.py", "b.py"]),
    ],
    ids=["none", "the first", "one that ends early"],
)
def test_the_other_half_of_an_index(tmp_path, bitmap, names):
    """Which entries of it are gone is a bitmap; where nothing is gone, there is none."""
    git(tmp_path, "init", "-q")
    (tmp_path / f".git/sharedindex.{'01' * 20}").write_bytes(index_of(2, entry(b"a.py"), entry(b"b.py")))
    link = b"\1" * 20 + bitmap
    (tmp_path / ".git/index").write_bytes(index_of(2)[:-20] + b"link" + struct.pack(">I", len(link)) + link + bytes(20))
    assert read_names(str(tmp_path)) == names


def test_the_index_is_read_where_something_is_ignored_and_once(tmp_path, monkeypatch):
    make(tmp_path, "a.py", "b/c.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    seen = []
    real = read_names
    monkeypatch.setattr("porter.files.tracked.read_names", lambda folder: seen.append(folder) or real(folder))
    assert names(tmp_path) == ["a.py", "b/c.py"] and not seen
    (tmp_path / ".gitignore").write_text("a.py\nb\n")
    assert names(tmp_path) == ["a.py", "b/c.py"] and len(seen) == 1
    assert not Index(str(tmp_path)).holds("b/c", True) and Index(str(tmp_path)).holds("b/c.py", False)


def test_no_program_is_run(tmp_path, monkeypatch):
    make(tmp_path, "a.py")
    (tmp_path / ".gitignore").write_text("a.py\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "a.py")
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setenv("PATH", "")
    assert names(tmp_path) == ["a.py"]
