from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from files_world import POSIX, as_user, common_folder, git, make

from porter.files.copy import MARKER, write_copy
from porter.files.errors import FilesError


def listing(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.name != MARKER and not p.is_dir())


@POSIX
def test_a_copy_can_stand_in_for_the_tree(tmp_path):
    root, out = tmp_path / "root", tmp_path / "deep/er/out"
    make(root, "train.py", "run.sh", "third_party/k.py", "build/kept.txt", "data/x.bin", "ignored/gen.py", "named.log")
    make(root, ".venv/a.py", "__pycache__/a.pyc", ".porter/x", "env/pyvenv.cfg", "env/a.py", "tests/t.py")
    (root / ".gitignore").write_text("ignored/\n*.log\n")
    git(root, "init", "-q")
    (root / "run.sh").chmod(0o755)
    (root / "train.py").chmod(0o750)
    (root / "link.py").symlink_to("train.py")
    (root / "data/out").symlink_to("../../nowhere")
    (root / "empty").mkdir()
    count = write_copy(root, out, {"train.py": b"ported", "named.log": b"ported too"}, exclude=["tests"])
    expected = [".gitignore", "build/kept.txt", "data/out", "data/x.bin", "link.py", "named.log", "run.sh"]
    expected += ["tests/t.py", "third_party/k.py", "train.py"]
    assert listing(out) == expected and count == len(expected)
    assert (out / "train.py").read_bytes() == (out / "link.py").read_bytes() == b"ported"
    assert (root / "train.py").read_text() == "import torch\n"
    assert (out / "named.log").read_bytes() == b"ported too"
    assert os.readlink(out / "data/out") == "../../nowhere" and (out / "empty").is_dir()
    assert stat.S_IMODE((out / "run.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((out / "train.py").stat().st_mode) == 0o750


def test_a_second_copy_never_overwrites_what_somebody_did(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py", "pkg/b.py", "gone/c.py")
    write_copy(root, out, {"a.py": b"one"})
    make(out, "checkpoints/step1.pt")
    (root / "gone/c.py").unlink()
    (root / "gone").rmdir()
    write_copy(root, out, {"a.py": b"two"})
    assert listing(out) == ["a.py", "checkpoints/step1.pt", "pkg/b.py"] and (out / "a.py").read_bytes() == b"two"
    make(out, "pkg/b.py", text="edited in the copy, longer\n")
    with pytest.raises(FilesError, match=r"pkg/b\.py: changed by someone"):
        write_copy(root, out, {"a.py": b"three"})
    assert (out / "a.py").read_bytes() == b"two"
    make(root, "checkpoints/step1.pt")
    (out / "pkg/b.py").unlink()
    with pytest.raises(FilesError, match=r"checkpoints/step1\.pt: not written by porter"):
        write_copy(root, out, {})
    (root / "checkpoints/step1.pt").unlink()
    write_copy(root, out, {"a.py": b"three"})
    assert (out / "pkg/b.py").read_text() == "import torch\n" and (out / "checkpoints/step1.pt").exists()


def test_a_copy_that_died_half_way_can_be_made_again(tmp_path, monkeypatch):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py", "b.py", "c.py")
    import porter.files.copy as module

    copy = module.shutil.copy2

    def dying(here, there, **options):
        if here.endswith("b.py"):
            raise KeyboardInterrupt
        return copy(here, there, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module.shutil, "copy2", dying)
        write_copy(root, out, {"a.py": b"new"})
    assert listing(out) == ["a.py"]
    assert write_copy(root, out, {"a.py": b"newer"}) == 3
    assert listing(out) == ["a.py", "b.py", "c.py"] and (out / "a.py").read_bytes() == b"newer"


def test_where_a_copy_is_not_made(tmp_path):
    root = tmp_path / "top/root"
    make(root, "a.py", "full/x.txt")
    make(tmp_path, "other/x.txt", f"fake/{MARKER}")
    for out in (root, root / "inside", root / "full", tmp_path / "top"):
        with pytest.raises(FilesError) as caught:
            write_copy(root, out, {})
        assert caught.value.key == "out-inside", out
    for name in ("other", "fake", "other/x.txt"):
        with pytest.raises(FilesError) as caught:
            write_copy(root, tmp_path / name, {})
        assert caught.value.key == "out-not-empty", name
    assert listing(root) == ["a.py", "full/x.txt"]
    (tmp_path / "empty").mkdir()
    assert write_copy(root, tmp_path / "empty", {}) == 2
    # inside is fine where the next run would not see it; the copy does not hold itself
    for _ in range(2):
        assert write_copy(root, root / "inside", {}, exclude=["inside"]) == 2
    assert listing(root / "inside") == ["a.py", "full/x.txt"]


@POSIX
def test_links_in_the_copy_are_not_written_through(tmp_path):
    root, out, victim = tmp_path / "root", tmp_path / "out", tmp_path / "victim"
    make(root, "a.py", "pkg/b.py")
    make(victim, "b.py", text="precious")
    write_copy(root, out, {})
    (out / "pkg/b.py").unlink()
    (out / "pkg").rmdir()
    (out / "pkg").symlink_to(victim)
    with pytest.raises(FilesError, match="pkg: not written by porter"):
        write_copy(root, out, {})
    assert (victim / "b.py").read_text() == "precious"


@POSIX
def test_what_cannot_be_read_stops_the_copy_with_one_line():
    with common_folder() as folder:
        make(folder, "root/a.py", "root/locked/b.py")
        (folder / "root/locked").chmod(0)
        code = (
            "from porter.files.copy import write_copy\n"
            "try:\n    write_copy('root', 'out', {})\nexcept Exception as e:\n    print(e, os.path.exists('out'))"
        )
        assert as_user(folder, code) == "locked: cannot be read: Permission denied False\n"
        (folder / "root/locked").chmod(0o755)
        (folder / "root/a.py").chmod(0)
        assert as_user(folder, code) == "a.py: cannot be written: Permission denied True\n"
