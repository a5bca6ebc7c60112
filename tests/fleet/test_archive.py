"""Archives: what they hold comes out, nothing leaves the folder, and a bomb fills no disk."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile

import pytest
from fleet_world import tarred

from porter.errors import UserError
from porter.fleet import archive
from porter.fleet.archive import KEPT, unpack


def test_one_folder_in_it_is_the_repository_and_else_it_is_all_of_it(tmp_path):
    one = tarred(tmp_path / "a.tar.gz", {"train.py": b"x", "pkg/b.py": b"y"}, "repo-main/")
    flat = tarred(tmp_path / "b.tar.gz", {"train.py": b"x", "pkg/b.py": b"y"})
    assert unpack(str(one), str(tmp_path / "1"), "a") == str(tmp_path / "1" / "a" / "repo-main")
    top = unpack(str(flat), str(tmp_path / "2"), "b")
    assert top == str(tmp_path / "2" / "b") and (tmp_path / "2" / "b" / "pkg" / "b.py").read_bytes() == b"y"


@pytest.mark.parametrize("name", ["../x.py", "/etc/x.py", "a/../../x.py", "./../x.py"])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_an_archive_that_climbs_is_refused(tmp_path, kind, name):
    file = tmp_path / f"a.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as made:
            made.writestr("good.py", "x")
            made.writestr(name, "x")
    else:
        tarred(file, {"good.py": b"x", name: b"x"})
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(UserError, match="leads out of its folder"):
        unpack(str(file), str(tmp_path / "out"), "a")
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "out"]) and os.listdir(tmp_path / "out") == ["a"]


@pytest.mark.parametrize("target", ["../../elsewhere", "/etc", "pkg/../../.."])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_so_is_one_whose_links_climb(tmp_path, kind, target):
    with tarfile.open(tmp_path / "a.tar", "w") as made:
        info = tarfile.TarInfo("pkg/link")
        info.type, info.linkname = kind, target
        made.addfile(info)
    with pytest.raises(UserError, match="leads out of its folder"):
        unpack(str(tmp_path / "a.tar"), str(tmp_path / "out"), "a")


@pytest.mark.parametrize("is_first", [True, False])
def test_so_is_one_whose_links_climb_together(tmp_path, is_first):
    """Each stays inside by its text; the second goes through the first. Their order in the archive does not matter."""
    links = [("r/d1/d2/s", "../../.."), ("r/d1/t", "d2/s/..")]
    with tarfile.open(tmp_path / "a.tar", "w") as made:
        for name, target in links if is_first else links[::-1]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            made.addfile(info)
    with pytest.raises(UserError, match="leads out of its folder"):
        unpack(str(tmp_path / "a.tar"), str(tmp_path / "out"), "n")
    assert not os.path.lexists(tmp_path / "out/n/r/d1/t")


def test_nothing_is_written_through_a_link(tmp_path):
    """The link stays inside and is made last: the file of the same name lies in a folder of its own."""
    with tarfile.open(tmp_path / "a.tar", "w") as made:
        for name, link, data in (("real/x.py", "", b"1"), ("link", "real", b""), ("link/x.py", "", b"2")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            if link:
                info.type, info.linkname = tarfile.SYMTYPE, link
            made.addfile(info, io.BytesIO(data))
    top = unpack(str(tmp_path / "a.tar"), str(tmp_path / "out"), "a")
    assert open(f"{top}/real/x.py").read() == "1" and open(f"{top}/link/x.py").read() == "2"


def test_links_inside_and_modes_stay(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as made:
        for name, kind, link in (("a.sh", tarfile.REGTYPE, ""), ("b.sh", tarfile.SYMTYPE, "a.sh"),
                                 ("c.sh", tarfile.LNKTYPE, "a.sh"), ("p", tarfile.FIFOTYPE, "")):  # fmt: skip
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode = kind, link, 0o4777
            info.size = 2 if kind == tarfile.REGTYPE else 0
            made.addfile(info, io.BytesIO(b"ok"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        info = zipfile.ZipInfo("l")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(info, "x")
        made.writestr("x", "zip")
    top = unpack(str(tmp_path / "a.tar"), str(tmp_path / "1"), "a")
    assert sorted(os.listdir(top)) == ["a.sh", "b.sh", "c.sh"]  # a pipe is no file
    assert os.readlink(f"{top}/b.sh") == "a.sh" and open(f"{top}/c.sh").read() == "ok"
    assert stat.S_IMODE(os.stat(f"{top}/a.sh").st_mode) == 0o755
    top = unpack(str(tmp_path / "a.zip"), str(tmp_path / "2"), "a")
    assert os.readlink(f"{top}/l") == "x" and open(f"{top}/l").read() == "zip"


@pytest.mark.slow
def test_what_no_rule_reads_is_a_hole_of_the_same_size(tmp_path):
    size = 80_000_000
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("weights.bin", b"\1" * size)
        made.writestr("train.py", "x")
    top = unpack(str(tmp_path / "a.zip"), str(tmp_path / "out"), "a")
    status = os.stat(f"{top}/weights.bin")
    assert status.st_size == size and status.st_blocks * 512 < KEPT + 1_000_000


def test_limits_are_told(tmp_path, monkeypatch):
    file = tarred(tmp_path / "a.tar.gz", {"a": b"1" * 100, "b": b"2" * 100})
    monkeypatch.setattr(archive, "MOST_BYTES", 150)
    with pytest.raises(UserError, match="holds more than"):
        unpack(str(file), str(tmp_path / "1"), "a")
    monkeypatch.setattr(archive, "MOST_FILES", 1)
    with pytest.raises(UserError, match="holds more than 1 files"):
        unpack(str(file), str(tmp_path / "2"), "a")


def test_what_is_no_archive_is_told(tmp_path):
    good = tarred(tmp_path / "a.tar.gz", {"a.py": b"1" * 5000}).read_bytes()
    for name, data in (("x.zip", b"nonsense"), ("y.tar.gz", good[:60]), ("z.tar", b""), ("w.tar.xz", b"\xfd7zXZ\0bad")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match="cannot be read"):
            unpack(str(tmp_path / name), str(tmp_path / name[0]), "a")


def test_damage_of_any_kind_is_told(tmp_path):
    """A member without a name, and data of other methods than deflate."""
    for method, at in ((zipfile.ZIP_STORED, None), (zipfile.ZIP_LZMA, 42), (zipfile.ZIP_BZIP2, 42)):
        with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as made:
            made.writestr("train.py", bytes(range(256)) * 9)
        data = bytearray((tmp_path / "a.zip").read_bytes())
        if at is None:
            data = data.replace(b"train.py", b"\0rain.py")
        else:
            data[at : at + 9] = b"\xff" * 9
        (tmp_path / "a.zip").write_bytes(data)
        with pytest.raises(UserError, match="cannot be read"):
            unpack(str(tmp_path / "a.zip"), str(tmp_path / str(method)), "a")


@pytest.mark.parametrize("name", ["a/b", "x" * 300])
def test_what_the_disk_says_of_it_is_the_same_each_time(tmp_path, name):
    """A file where a folder is needed, and a name that is too long: the folder that it went into is not named."""
    file = tarred(tmp_path / "a.tar.gz", {"a": b"1", name: b"2"})
    with pytest.raises(UserError, match="cannot be read") as told:
        unpack(str(file), str(tmp_path / "out"), "a")
    assert str(tmp_path) not in told.value.text("en")
