"""What stands between a file and a power cut, and what porter never writes to."""

from __future__ import annotations

import errno
import gzip
import os
import stat
from pathlib import Path

import pytest
from files_world import POSIX, common_folder, make

from porter.files.errors import FilesError
from porter.files.read import digest, opened
from porter.files.write import create, write

STEPS = ("open", "fsync", "replace", "chmod", "chown", "unlink")


@pytest.fixture
def steps(monkeypatch) -> list[tuple]:
    """What is asked of the system, in order: the real calls are made, and descriptors are named by their files."""
    made, names = [], {}

    def watched(name: str):
        real = getattr(os, name)

        def call(*arguments, **options):
            done = real(*arguments, **options)
            shown = [names.get(a, a) if isinstance(a, int) and name == "fsync" else a for a in arguments]
            if name == "open":
                names[done] = arguments[0]
            made.append((name, *(os.fspath(a) if isinstance(a, Path) else a for a in shown)))
            return done

        return call

    for name in STEPS:
        if hasattr(os, name):
            monkeypatch.setattr(os, name, watched(name))
    return made


@POSIX
@pytest.mark.parametrize("durable", [True, False])
def test_the_bytes_are_on_the_disk_before_they_take_their_place(tmp_path, steps, durable):
    """Otherwise a power cut may leave the new name and none of the bytes."""
    make(tmp_path, "a.py")
    write(tmp_path, "a.py", b"new", temporary="beside", durable=durable)
    file, beside = str(tmp_path / "a.py"), str(tmp_path / "beside")
    order = [step for step in steps if step[0] in ("fsync", "replace")]
    expected = [("fsync", beside), ("replace", beside, file), ("fsync", str(tmp_path))]
    assert order == expected[: 3 if durable else 2]
    assert [name for name, *_ in steps].index("chmod") < steps.index(order[0]), "the mode is flushed with the bytes"
    assert (tmp_path / "a.py").read_bytes() == b"new"


@POSIX
def test_a_file_of_porters_own_is_on_the_disk_before_it_has_its_name(tmp_path, steps, monkeypatch):
    import builtins

    real, names = builtins.open, {}

    def opened(file, *arguments, **options):
        stream = real(file, *arguments, **options)
        names[stream.fileno()] = str(file)
        return stream

    monkeypatch.setattr(builtins, "open", opened)
    file = str(tmp_path / "manifest.json")
    create(file, b"{}")
    order = [(step[0], *(names.get(a, a) for a in step[1:])) for step in steps if step[0] in ("fsync", "replace")]
    assert order == [("fsync", file + ".tmp"), ("replace", file + ".tmp", file), ("fsync", str(tmp_path))]


@POSIX
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_stay():
    with common_folder() as folder:
        make(folder, "a.py")
        os.chown(folder / "a.py", 65534, 12)
        (folder / "a.py").chmod(0o6755)  # changing the owner clears these bits
        write(folder, "a.py", b"new")
        status = (folder / "a.py").stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 12, 0o6755)


@POSIX
def test_owner_and_group_are_asked_for_before_the_mode(tmp_path, steps, monkeypatch):
    """Whoever runs the tests: the system is asked, and that it refuses stops nothing."""
    make(tmp_path, "a.py")
    (tmp_path / "a.py").chmod(0o750)
    real = os.stat

    class Other:
        """The file as another user's."""

        def __init__(self, status):
            self.status = status

        def __getattr__(self, name):
            return {"st_uid": os.getuid() + 1, "st_gid": os.getgid() + 1}.get(name) or getattr(self.status, name)

    asked = []

    def refusing(file, uid, gid, **_):
        asked.append((os.path.basename(file), uid, gid))
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "stat", lambda f, **k: Other(real(f, **k)) if str(f).endswith("a.py") else real(f, **k))
    monkeypatch.setattr(os, "chown", refusing)
    write(tmp_path, "a.py", b"new", temporary="beside")
    assert asked == [("beside", -1, os.getgid() + 1), ("beside", os.getuid() + 1, -1)]
    assert (tmp_path / "a.py").read_bytes() == b"new" and stat.S_IMODE(real(tmp_path / "a.py").st_mode) == 0o750


@pytest.mark.parametrize(
    "path",
    [".git/config", ".GIT/hooks/post-checkout", ".Git/config", "sub/.Git/config", ".HG/hgrc", ".PORTER/runs/x.py"]
    + ["env/lib/Site-Packages/m.py", ".Venv/m.py"],
)
def test_what_runs_by_itself_is_never_written(tmp_path, path):
    """In whatever case: on some file systems `.GIT` is `.git`."""
    make(tmp_path, path)
    with pytest.raises(FilesError) as caught:
        write(tmp_path, path, b"new")
    assert caught.value.key == "protected" and (tmp_path / path).read_text() == "import torch\n"


def key_of(act) -> str:
    with pytest.raises(FilesError) as told:
        act()
    assert told.value.text("en") != told.value.text("zh")
    return told.value.key


@POSIX
def test_what_cannot_be_written_says_why(tmp_path):
    make(tmp_path, "a.py", "sub/b.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert key_of(lambda: write(tmp_path, "gone.py", b"new")) == "vanished"
    assert key_of(lambda: write(tmp_path, "pipe.py", b"new")) == "special"
    assert key_of(lambda: write(tmp_path, "../a.py", b"new")) == "outside"
    assert key_of(lambda: write(tmp_path, "a.py/b.py", b"new")) == "unreadable"
    assert key_of(lambda: write(tmp_path, "a.py", b"new", before=digest(b"another"))) == "changed"
    (tmp_path / "a.py").chmod(0o444)
    assert key_of(lambda: write(tmp_path, "a.py", b"new")) == "read-only"
    assert (tmp_path / "a.py").read_text() == "import torch\n"


@POSIX
@pytest.mark.parametrize(("number", "key"), [(errno.EROFS, "read-only-folder"), (errno.EMFILE, "unwritable")])
def test_a_folder_that_takes_no_new_file(tmp_path, monkeypatch, number, key):
    make(tmp_path, "a.py")
    real = os.open

    def refusing(file, flags, *mode, **options):
        if flags & os.O_EXCL:
            raise OSError(number, os.strerror(number))
        return real(file, flags, *mode, **options)

    monkeypatch.setattr(os, "open", refusing)
    assert key_of(lambda: write(tmp_path, "a.py", b"new")) == key
    assert os.listdir(tmp_path) == ["a.py"] and (tmp_path / "a.py").read_text() == "import torch\n"


def test_a_fault_of_the_disk_is_told_and_one_of_the_contents_is_the_readers(tmp_path):
    make(tmp_path, "a.gz")
    with pytest.raises(gzip.BadGzipFile), opened(tmp_path / "a.gz", "a.gz") as (stream, size):
        assert size == 13
        gzip.open(stream).read()

    def broken():
        with opened(tmp_path / "a.gz", "a.gz"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    assert key_of(broken) == "unreadable"


@POSIX
def test_a_file_that_changed_at_the_last_moment_stays(tmp_path, monkeypatch):
    """While the new bytes were on their way to the disk an editor has saved the file."""
    make(tmp_path, "a.py")
    real = os.fsync

    def slow(descriptor):
        (tmp_path / "a.py").write_bytes(b"mine")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(FilesError, match=r"a\.py: changed since it was analysed"):
        write(tmp_path, "a.py", b"new", before=digest(b"import torch\n"))
    assert (tmp_path / "a.py").read_bytes() == b"mine" and os.listdir(tmp_path) == ["a.py"]
