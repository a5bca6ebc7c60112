from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from files_world import CHECKOUT, POSIX, as_user, common_folder, git, make, python

from porter.files.copy import write_copy
from porter.files.errors import FilesError
from porter.files.record import HEADER, LOCK, OWN, RECORD, TEMPORARY


def listing(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.name != RECORD and not p.is_dir())


def contents(root: Path) -> dict[str, bytes | str]:
    """Of its files, and where its links lead."""
    found = {name: root / name for name in listing(root)}
    found |= {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_symlink()}
    return {name: os.readlink(p) if p.is_symlink() else p.read_bytes() for name, p in found.items()}


def folders(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_dir() and not p.is_symlink())


def refused(*arguments, **options) -> FilesError:
    with pytest.raises(FilesError) as caught:
        write_copy(*arguments, **options)
    assert "\n" not in caught.value.text()
    return caught.value


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


@POSIX
@pytest.mark.parametrize("part", ["", "sub"])
def test_what_git_tracks_is_copied_whatever_gitignore_says(tmp_path, part):
    root, out, other = tmp_path / "root", tmp_path / "out", tmp_path / "other"
    make(root, "sub/a.py", "sub/docs/figure.jpg", "sub/docs/new.jpg", "sub/data/deep/x.bin", "sub/data/y.bin")
    make(root, "sub/.venv/z.py", "sub/gone.jpg", "sub/moved/m.jpg", "top.jpg", "sub/made/out.jpg")
    make(root, "sub/module/b.py", "sub/module/b.jpg")
    make(other, "m.jpg", text="another's")
    (root / ".gitignore").write_text("*.jpg\ndata/\nmade/\n")
    git(root / "sub/module", "init", "-q")
    git(root / "sub/module", "add", "-f", "b.jpg")
    git(root, "init", "-q")
    git(
        root, "add", "-f", *(f"sub/{name}" for name in ("docs/figure.jpg", "data/deep/x.bin", ".venv/z.py", "gone.jpg"))
    )
    git(root, "add", "-f", "sub/moved/m.jpg", "top.jpg", "sub/made/out.jpg")
    (root / "sub/gone.jpg").unlink()
    shutil.rmtree(root / "sub/moved")
    (root / "sub/moved").symlink_to(other)
    wanted = ["sub/a.py", "sub/data/deep/x.bin", "sub/docs/figure.jpg", "sub/made/out.jpg", "sub/moved"]
    wanted += ["sub/module/b.jpg", "sub/module/b.py"]
    if part:
        wanted = [name.removeprefix("sub/") for name in wanted]
    else:
        wanted += [".gitignore", "top.jpg"]
    for _ in range(2):
        write_copy(root / part, out, {}, (), root)
        assert sorted(contents(out)) == sorted(wanted)
    write_copy(root / part, root / "sub/made/copy", {}, (), root)
    assert write_copy(root / part, root / "sub/made/copy", {}, (), root) == len(wanted)


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


def test_where_a_copy_is_not_made(tmp_path):
    root = tmp_path / "top/root"
    make(root, "a.py", "full/x.txt")
    make(tmp_path, "other/x.txt", f"fake/{RECORD}")
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


@pytest.mark.slow
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
        assert as_user(folder, code) == "a.py: cannot be read: Permission denied False\n"


# --- what somebody did in the copy


@POSIX
@pytest.mark.parametrize("path", ["a.py", "pkg/b.py", "link.py"])
def test_an_edit_that_keeps_size_and_time_is_an_edit(tmp_path, path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py", "pkg/b.py", "c.py")
    (root / "link.py").symlink_to("a.py")
    write_copy(root, out, {"a.py": b"port"})
    before = os.stat(out / path)
    if path == "link.py":
        (out / path).unlink()
        (out / path).symlink_to("c.py")
    else:
        (out / path).write_bytes((out / path).read_bytes()[::-1])
        os.utime(out / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    mine = contents(out)
    for _ in range(2):
        error = refused(root, out, {"a.py": b"better port"})
        assert error.key == "out-edited" and error.path == f"{out}/{path}" and contents(out) == mine


def test_what_is_no_edit(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py", "b.py", "c.py")
    write_copy(root, out, {"a.py": b"port"})
    os.utime(out / "a.py", (1, 1))  # touch, git checkout
    (out / "b.py").unlink()
    make(root, "c.py", text="the same change in both\n")
    make(out, "c.py", text="the same change in both\n")
    assert write_copy(root, out, {"a.py": b"better port"}) == 3
    assert contents(out) == {"a.py": b"better port", "b.py": b"import torch\n", "c.py": b"the same change in both\n"}


@POSIX
def test_a_mode_that_somebody_changed_stays(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.sh", "b.sh", "c.sh")
    write_copy(root, out, {"a.sh": b"one"})
    (out / "a.sh").chmod(0o700)
    (root / "b.sh").chmod(0o750)
    for data in (b"two", b"three"):
        write_copy(root, out, {"a.sh": data})
        modes = [stat.S_IMODE((out / name).stat().st_mode) for name in ("a.sh", "b.sh")]
        assert modes == [0o700, 0o750] and (out / "a.sh").read_bytes() == data


def test_files_and_folders_change_places(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "one", "two/x.py", "two/deep/y.py", "z.py")
    write_copy(root, out, {})
    for swapped in range(3):
        shutil.rmtree(root)
        make(root, *(("one/x.py", "one/deep/y.py", "two", "z.py"), ("one", "two/x.py", "z.py"))[swapped % 2])
        write_copy(root, out, {})
        assert contents(out) == contents(root)
    make(out, "one/mine.txt", text="mine")
    shutil.rmtree(root)
    make(root, "one", "z.py")
    before = contents(out)
    error = refused(root, out, {})
    assert (error.key, error.path) == ("out-foreign", f"{out}/one") and contents(out) == before


@POSIX
def test_names_that_are_no_utf8(tmp_path):
    root, out, name = tmp_path / "root", tmp_path / "out", os.fsdecode(b"\xff\x1b.py")
    make(root, name, f"{name}.d/{name}", "\N{SNOWMAN} \n.py")
    (root / "link").symlink_to(name)
    for data in (b"one", b"two"):
        assert write_copy(root, out, {name: data}) == 4 and contents(out)[name] == data
    (out / name).write_bytes(b"mine")
    assert refused(root, out, {name: b"three"}).path == f"{out}/{name}"


def test_what_the_tree_no_longer_has_and_somebody_edited_stays(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py", "gone/b.py", "gone/c.py")
    write_copy(root, out, {})
    make(out, "gone/b.py", text="mine")
    shutil.rmtree(root / "gone")
    for _ in range(2):
        assert write_copy(root, out, {}) == 1
        assert contents(out) == {"a.py": b"import torch\n", "gone/b.py": b"mine"}
    make(root, "gone/b.py")
    assert refused(root, out, {}).key == "out-foreign"


# --- links


@POSIX
def test_where_the_links_of_a_copy_lead(tmp_path):
    project, out = tmp_path / "project", tmp_path / "elsewhere/out"
    root = project / "sub"
    make(root, "a.py", "pkg/b.py", "pkg/deep/c.py", "ignored/d.bin")
    make(project, "other/mod.py", "other/plain.py")
    make(tmp_path, "data/x.bin")
    (root / ".gitignore").write_text("ignored/\n")
    git(project, "init", "-q")
    (tmp_path / "alias").symlink_to(project)
    kept = {
        "in.py": "a.py",
        "pkg/up.py": "../a.py",
        "pkg/odd.py": "deep/.././b.py",
        "folder": "pkg",
        "pkg/self": ".",
        "pkg/top": "..",
        "loop": "loop",
        "round": "about",
        "about": "round",
        "chain.py": "in.py",
        "through.py": "folder/b.py",
        "not-yet": "ignored/e.bin",
        "not-copied": "ignored/d.bin",
        "dangling": "missing/x",
        "out-dangling": "../../nowhere",
        "abs-dangling": "/nowhere/at/all",
        "abs-data": str(tmp_path / "data"),
    }
    aimed = {
        "abs.py": (root / "pkg/b.py", "pkg/b.py"),
        "pkg/deep/abs.py": (root / "a.py", "../../a.py"),
        "alias.py": (tmp_path / "alias/sub/a.py", "a.py"),
        "abs-missing": (root / "runs/latest", "runs/latest"),
        "pkg/abs-top": (root, ".."),
        "back.py": ("../sub/pkg/b.py", "pkg/b.py"),
        "data": ("../../data", str(tmp_path / "data")),
        "pkg/x.bin": ("../../../data/x.bin", str(tmp_path / "data/x.bin")),
        "plain.py": ("../other/plain.py", str(project / "other/plain.py")),
        "shared": ("../other", str(project / "other")),
    }
    for name, text in [*kept.items(), *((name, text) for name, (text, _) in aimed.items())]:
        (root / name).symlink_to(text)
    unported: list[str] = []
    for _ in range(2):
        unported.clear()
        write_copy(root, out, {"sub/a.py": b"ported"}, project=project, unported=unported)
        got = {name: data for name, data in contents(out).items() if isinstance(data, str)}
        assert got == kept | {name: text for name, (_, text) in aimed.items()}
        assert unported == ["shared"]
        assert (out / "abs.py").read_bytes() == (out / "pkg/deep/../b.py").read_bytes()
        assert (out / "alias.py").read_bytes() == (out / "chain.py").read_bytes() == b"ported"
    shutil.rmtree(root)
    assert (out / "through.py").read_text() == "import torch\n" and not (out / "not-copied").exists()


@POSIX
def test_a_link_to_a_ported_file_outside_becomes_a_file(tmp_path):
    """What was cut from its path was once any first letters: the port of one file overwrote another."""
    project, out = tmp_path / "r", tmp_path / "o"
    make(project, "other/mod.py", "sub/r/mod.py", "sub/r/deep/x.py", "b/mod.py", "subs/mod.py")
    (project / "other/mod.py").chmod(0o750)
    (project / "sub/link.py").symlink_to("../other/mod.py")
    (project / "sub/r/deep/again.py").symlink_to(project / "other/mod.py")
    (project / "sub/near.py").symlink_to("../subs/mod.py")
    files = {"other/mod.py": b"other", "sub/r/mod.py": b"own", "subs/mod.py": b"near", "b/mod.py": b"nobody's"}
    for _ in range(2):
        assert write_copy(project / "sub", out, files, project=project) == 5
        assert contents(out) == {
            "link.py": b"other",
            "r/deep/again.py": b"other",
            "near.py": b"near",
            "r/mod.py": b"own",
            "r/deep/x.py": b"import torch\n",
        }
        assert stat.S_IMODE((out / "link.py").stat().st_mode) == 0o750
    assert (project / "other/mod.py").read_text() == "import torch\n"
    files.pop("other/mod.py")
    write_copy(project / "sub", out, files, project=project)
    assert os.readlink(out / "link.py") == str(project / "other/mod.py")


@POSIX
def test_hard_links_become_files_of_their_own(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py")
    os.link(root / "a.py", root / "b.py")
    for _ in range(2):
        write_copy(root, out, {"a.py": b"ported"})
        assert contents(out) == {"a.py": b"ported", "b.py": b"import torch\n"}
    os.link(root / "a.py", tmp_path / "kept.py")
    (out / "b.py").unlink()
    os.link(tmp_path / "kept.py", out / "b.py")  # somebody saves room; then the copy must not write through it
    write_copy(root, out, {"a.py": b"ported", "b.py": b"ported, too"})
    assert (tmp_path / "kept.py").read_text() == (root / "a.py").read_text() == "import torch\n"


@POSIX
def test_nothing_is_removed_through_a_link(tmp_path):
    root, out, victim = tmp_path / "root", tmp_path / "out", tmp_path / "victim"
    make(root, "a.py", "pkg/b.py")
    make(victim, "b.py")  # the very bytes that porter wrote
    write_copy(root, out, {})
    shutil.rmtree(root / "pkg")
    shutil.rmtree(out / "pkg")
    (out / "pkg").symlink_to(victim)
    assert write_copy(root, out, {}) == 1
    assert (victim / "b.py").exists() and os.readlink(out / "pkg") == str(victim)


# --- the record


def line(*row: object) -> bytes:
    return json.dumps(row).encode() + b"\n"


FORGED = {
    "above": HEADER + line("../victim.py", "file", "0" * 64, 0o644),
    "within": HEADER + line("pkg/../../victim.py", "file", "0" * 64, 0o644),
    "absolute": HEADER + line("/tmp/victim.py", "file", "0" * 64, 0o644),
    "itself": HEADER + line(RECORD, "file", "0" * 64, 0o644),
    "nul": HEADER + line("a\0b", "file", "0" * 64, 0o644),
    "half a surrogate": HEADER + b'["a\\ud800", "file", "", 0]\n',
    "no name": HEADER + line("", "file", "0" * 64, 0o644),
    "a number": HEADER + line(1, "file", "0" * 64, 0o644),
    "a state of its own": HEADER + line("a.py", "folder", "", 0),
    "no digest": HEADER + line("a.py", "file", None, 0),
    "no mode": HEADER + line("a.py", "file", "0" * 64, "7"),
    "too little": HEADER + line("a.py", "file"),
    "no list": HEADER + b"3\n",
    "no JSON": HEADER + b"]\n",
    "deep": HEADER + b"[" * 200_000 + b"\n",
    "digits": HEADER + b"[" + b"1" * 10_000 + b"]\n",
    "another": b'{"format": 1, "files": {"a.py": "?"}}\n',
    "binary": HEADER + b"\0\n",
}


@pytest.mark.parametrize("what", FORGED)
def test_a_record_that_porter_did_not_write(tmp_path, what):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py")
    make(out, "a.py", text="mine")
    make(tmp_path, "victim.py")
    (out / RECORD).write_bytes(FORGED[what])
    before = contents(tmp_path)
    assert refused(root, out, {}).key == "out-not-empty"
    assert contents(tmp_path) == before and (out / RECORD).read_bytes() == FORGED[what]


@POSIX
@pytest.mark.parametrize("what", ["link", "dangling", "pipe", "folder"])
def test_a_record_that_is_no_file(tmp_path, what):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py")
    make(out, "a.py", text="mine")
    record = out / RECORD
    (tmp_path / "real").write_bytes(HEADER)
    steps = {
        "link": lambda: record.symlink_to("../real"),
        "dangling": lambda: record.symlink_to("../nothing"),
        "pipe": lambda: os.mkfifo(record),
        "folder": record.mkdir,
    }
    steps[what]()
    assert refused(root, out, {}).key == "out-not-empty"
    assert (out / "a.py").read_text() == "mine" and (tmp_path / "real").read_bytes() == HEADER


@pytest.mark.parametrize("left", [b"", HEADER[:5], HEADER, HEADER + line("a.py"), HEADER + b'["a.p'])
def test_a_record_that_was_cut_short(tmp_path, left):
    """By a kill or a full disk, before anything else was written."""
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py", "b.py")
    out.mkdir()
    (out / RECORD).write_bytes(left)
    assert write_copy(root, out, {"a.py": b"port"}) == 2 and contents(out) == {
        "a.py": b"port",
        "b.py": b"import torch\n",
    }
    (out / RECORD).write_bytes(left)
    assert refused(root, out, {"a.py": b"port"}).key == "out-foreign", "what is not on record is not porter's"


def test_names_that_the_record_needs(tmp_path):
    """A copy may itself be the tree of a run."""
    root, out, other = tmp_path / "root", tmp_path / "out", tmp_path / "other"
    make(root, "a.py", "pkg/b.py")
    write_copy(root, out, {})
    make(out, TEMPORARY, f"pkg/{TEMPORARY}")
    assert write_copy(out, other, {}) == 2 and listing(other) == ["a.py", "pkg/b.py"]
    git(out, "init", "-q")
    git(out, "add", "-f", ".")
    assert write_copy(out, other, {}) == 2 and listing(other) == ["a.py", "pkg/b.py"]
    make(other, f"pkg/{TEMPORARY}")
    error = refused(root, other, {})
    assert (error.key, error.path) == ("out-foreign", f"{other}/pkg/{TEMPORARY}")
    make(root, f"pkg/{TEMPORARY}/c.py")
    error = refused(root, tmp_path / "third", {})
    assert (error.key, error.path) == ("out-reserved", f"pkg/{TEMPORARY}") and not (tmp_path / "third").exists()


def test_where_an_out_inside_is_left_out(tmp_path):
    """Names count below the folder that was named, patterns from the top of the project."""
    project = tmp_path / "build/project"
    make(project, "sub/a.py", "sub/made/b.py")
    for exclude in ([], ["made"], ["/made"], ["sub/made"]):
        out = project / "sub/made/out"
        if exclude in (["made"], ["sub/made"]):
            assert write_copy(project / "sub", out, {}, exclude, project) == 2
            shutil.rmtree(out)
        else:
            assert refused(project / "sub", out, {}, exclude, project).key == "out-inside"
    make(project, "build/c.py")
    assert refused(project / "build", project / "build/x", {}, (), project).key == "out-inside"
    assert write_copy(project / "sub", project / "beside", {}, (), project) == 2


@POSIX
def test_an_out_that_leads_back_into_the_tree(tmp_path):
    root = tmp_path / "root"
    make(root, "pkg/a.py")
    (tmp_path / "same").symlink_to(root)
    (tmp_path / "part").symlink_to(root / "pkg")
    (tmp_path / "new").symlink_to(root / "new")
    for out in ("same", "same/pkg/x", "part", "new", "same/../root"):
        assert refused(root, tmp_path / out, {}).key == "out-inside", out
    assert listing(root) == ["pkg/a.py"]


# --- runs that are cut off

SIGNS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink", "os.utime")


def in_a_child(work: Callable[[], object], at: int, act: Callable[[str, str], object]) -> bool:
    """Do `work` in a process of its own, and `act` before its step number `at` that touches the copy. Whether there
    was such a step."""
    child = os.fork()
    if not child:
        steps = 0

        def hook(event: str, arguments: tuple) -> None:
            nonlocal steps
            if event in SIGNS and "copied" in str(arguments[0]):
                steps += 1
                if steps - 1 == at:
                    act(event, str(arguments[event == "os.rename"]))

        sys.addaudithook(hook)
        code = 1
        try:
            work()
            code = 0
        except FilesError as error:
            code = 0 if error.key in ("out-edited", "out-foreign") else 1
        finally:
            os._exit(code + 2 * (steps > at))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 2, 9), code
    return code != 0


def die(*_) -> None:
    os._exit(9)


def trees(folder: Path) -> tuple[Path, Path, dict[str, bytes | str]]:
    """A tree, an older copy of it, and what a new copy has to hold."""
    root, out = folder / "root", folder / "copied"
    make(root, "a.py", "b/c.py", "old/d.py", "swap/e.py", "f")
    (root / "link.py").symlink_to("a.py")
    write_copy(root, out, {"a.py": b"port 1"})
    shutil.rmtree(root / "old")
    shutil.rmtree(root / "swap")
    (root / "f").unlink()
    make(root, "swap", "f/g.py", "h.py")
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("b/c.py")
    text = b"import torch\n"
    return (
        root,
        out,
        {"a.py": b"port 2", "b/c.py": b"port", "swap": text, "f/g.py": text, "h.py": text, "link.py": "b/c.py"},
    )


PORTS = {"a.py": b"port 2", "b/c.py": b"port"}


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("first", [True, False])
def test_kill_before_every_single_step(in_memory, first):
    """Everything is old or new, the next run makes it new, and nothing else remains."""
    step, dead = 0, True
    while dead:
        root, out, wanted = trees(in_memory / str(step))
        old = contents(out)
        if first:
            shutil.rmtree(out)
            old = {}
        dead = in_a_child(lambda: write_copy(root, out, PORTS), step, die)
        now = contents(out) if out.exists() else {}
        for name in [name for name in now if Path(name).name not in OWN]:
            assert now[name] in (old.get(name), wanted.get(name)), (step, name)
        write_copy(root, out, PORTS)
        assert (
            contents(out) == wanted
            and folders(out) == folders(root)
            and {p.name for p in out.rglob("*")} & OWN == {RECORD}
        ), step
        step += 1
    assert step > 25


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("first", [True, False])
def test_what_was_edited_after_a_kill_is_somebodys(in_memory, first):
    """Whatever file it is, and wherever the run was cut off."""
    step, dead, seen = 0, True, set()
    while dead:
        root, out, wanted = trees(in_memory / str(step))
        if first:
            shutil.rmtree(out)
        dead = in_a_child(lambda: write_copy(root, out, PORTS), step, die)
        there = [name for name in listing(out) if Path(name).name not in OWN] if out.exists() else []
        for name in there:
            file = out / name
            os.replace(file, in_memory / "kept")
            file.write_bytes(b"mine")
            others = {k: v for k, v in contents(out).items() if Path(k).name not in OWN}
            try:
                write_copy(root, out, PORTS)
                assert name not in wanted, (step, name)
            except FilesError as error:
                assert error.key in ("out-edited", "out-foreign") and error.path.startswith(str(out))
                assert others.items() <= contents(out).items(), (step, name)
                os.replace(in_memory / "kept", file)
            else:
                assert file.read_bytes() == b"mine", (step, name)
                break
            seen.add(name)
        step += 1
    assert seen >= {"a.py", "b/c.py", "h.py", "f/g.py", "link.py"}


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("path", ["a.py", "h.py", "swap", "f/g.py", "old/d.py", "link.py"])
def test_what_somebody_writes_during_the_run(in_memory, path):
    """An editor saves a file of the copy while porter is at another, at any of its steps."""
    step, there, saved = 0, True, 0
    while there:
        root, out, _ = trees(in_memory / str(step))
        file = out / path

        def save(event: str, name: str) -> None:
            if event in ("os.rename", "os.remove") and name == str(file):
                return  # in this very moment nobody can
            with suppress(OSError):
                if os.path.lexists(file):
                    file.unlink()
                file.write_bytes(b"mine")
                (root.parent / "saved").touch()

        there = in_a_child(lambda: write_copy(root, out, PORTS), step, save)
        if (root.parent / "saved").exists():
            saved += 1
            assert file.read_bytes() == b"mine", step
        step += 1
    assert saved > 10


@pytest.mark.slow
@POSIX
def test_a_read_only_folder_can_be_filled_again():
    with common_folder() as folder:
        make(folder, "root/locked/a.py", "root/locked/old.py", "root/b.py")
        (folder / "root/locked/a.py").chmod(0o444)
        (folder / "root/locked").chmod(0o555)
        code = (
            "from porter.files.copy import write_copy\nprint(write_copy('root', 'out', {'locked/a.py': b'%s'}))\n"
            "print(oct(os.stat('out/locked').st_mode), oct(os.stat('out/locked/a.py').st_mode))"
        )
        assert as_user(folder, code % "one") == "3\n0o40555 0o100444\n"
        (folder / "root/locked").chmod(0o755)
        (folder / "root/locked/old.py").unlink()
        (folder / "root/locked").chmod(0o555)
        assert as_user(folder, code % "two") == "2\n0o40555 0o100444\n"
        assert contents(folder / "out") == {"b.py": b"import torch\n", "locked/a.py": b"two"}


@pytest.mark.slow
@POSIX
def test_a_folder_that_cannot_be_written_to_gets_one_line():
    with common_folder() as folder:
        make(folder, "root/a.py")
        (folder / "shut").mkdir()
        (folder / "shut").chmod(0o555)
        (folder / "closed").mkdir()
        (folder / "closed").chmod(0)
        code = (
            "from porter.files.copy import write_copy\nfor out in ('shut', 'shut/new', 'closed'):\n"
            "    try:\n        write_copy('root', out, {})\n    except Exception as e:\n        print(e)"
        )
        assert as_user(folder, code).splitlines() == [
            "shut: cannot be written: Permission denied",
            "shut/new: cannot be written: Permission denied",
            "closed: cannot be read: Permission denied",
        ]


@pytest.mark.slow
@POSIX
def test_nobody_else_reads_a_file_before_it_has_its_mode(in_memory):
    root, out = in_memory / "root", in_memory / "copied"
    make(root, "secret.py")
    (root / "secret.py").chmod(0o600)
    seen = in_memory / "seen"

    def look(event: str, name: str) -> None:
        if (out / TEMPORARY).exists():
            with open(seen, "a") as stream:
                stream.write(f"{stat.S_IMODE(os.stat(out / TEMPORARY).st_mode):o}\n")

    for step in range(20):
        in_a_child(lambda: write_copy(root, out, {"secret.py": b"ported"}), step, look)
    assert set(seen.read_text().split()) == {"600"}


@pytest.mark.slow
@POSIX
def test_no_room_for_one_of_the_files(tmp_path):
    """The line says which; nothing half is left, and the next run goes on."""
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py", "b.py")
    (root / "big.bin").write_bytes(b"x" * 300_000)
    make(root, "c.py")
    code = (
        "import resource\nfrom porter.files.copy import write_copy\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n    write_copy('root', 'out', {'a.py': b'ported'})\nexcept Exception as e:\n    print(e)"
    )
    for _ in range(2):
        assert python(code, cwd=tmp_path).stdout == "out/big.bin: cannot be written: File too large\n"
        assert listing(out) == ["a.py", "b.py"]
    make(out, "b.py", text="mine")
    assert refused(root, out, {"a.py": b"better"}).path == f"{out}/b.py"
    assert contents(out) == {"a.py": b"ported", "b.py": b"mine"}
    (out / "b.py").unlink()
    assert write_copy(root, out, {"a.py": b"better"}) == 4 and contents(out)["a.py"] == b"better"


@POSIX
def test_one_at_a_time(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    make(root, "a.py")
    write_copy(root, out, {})
    code = (
        f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\nfrom porter.files.lock import Lock\n"
        f"Lock({str(out / LOCK)!r}, '').acquire()\nprint('held', flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert refused(root, out, {"a.py": b"ported"}).key == "locked"
        holder.kill()
    assert write_copy(root, out, {"a.py": b"ported"}) == 1 and not (out / LOCK).exists()


@pytest.mark.slow
@POSIX
def test_of_a_run_that_was_cut_off_all_but_the_last_file_are_settled(in_memory):
    """Who takes an older port back, from a repository of the copies, does something, too."""
    root, out = in_memory / "root", in_memory / "copied"
    make(root, "a.py", "b.py", "c.py")
    write_copy(root, out, {"a.py": b"port 1"})
    step = 0
    while contents(out)["b.py"] != b"port 2":
        shutil.rmtree(out)
        write_copy(root, out, {"a.py": b"port 1"})
        assert in_a_child(lambda: write_copy(root, out, {"a.py": b"port 2", "b.py": b"port 2"}), step, die)
        step += 1
    assert contents(out)["a.py"] == b"port 2"
    (out / "a.py").write_bytes(b"port 1")
    assert refused(root, out, {"a.py": b"port 3"}).path == f"{out}/a.py"
