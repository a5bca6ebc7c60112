from __future__ import annotations

import os
import random
import shutil
import string
import subprocess
import time
from pathlib import Path

import pytest
from files_world import POSIX, as_user, common_folder, git, make

from porter.files.discover import File, Walk, discover
from porter.files.errors import MESSAGES, FilesError, printable
from porter.files.ignore import Patterns
from porter.files.read import LIMIT, read
from porter.files.root import find_root


def names(root: Path, *paths: str, **options) -> list[str]:
    return [file.path for file in discover([root / p for p in paths or [""]], root=root, **options)]


def test_walk_is_sorted_and_leaves_the_usual_out(tmp_path):
    make(tmp_path, "b.py", "a/x.py", "a-b/x.py", "a/n.pyw", "a/data.txt", "env/walker.py", "notes/build.py", "c.pyi")
    left = ["build/a.py", "third_party/a.py", "pkg/dist/a.py"]
    make(tmp_path, *left, "node_modules/a.py", ".git/a.py", "x/__pycache__/a.py", ".venv/a.py", ".porter/a.py")
    make(tmp_path, "myenv/pyvenv.cfg", "myenv/lib/a.py", "conda/conda-meta/history", "conda/a.py")
    skipped: list[str] = []
    assert names(tmp_path, left_out=skipped) == [
        "a-b/x.py",
        "a/n.pyw",
        "a/x.py",
        "b.py",
        "env/walker.py",
        "notes/build.py",
    ]
    assert sorted(skipped) == ["build", "conda", "myenv", "pkg/dist", "third_party"]
    assert names(tmp_path, exclude=["!third_party/", "a*/", "/b.py"]) == [
        "env/walker.py",
        "notes/build.py",
        "third_party/a.py",
    ]


def test_a_package_of_what_others_wrote_is_the_projects_own(tmp_path):
    make(
        tmp_path, "net/__init__.py", "net/third_party/__init__.py", "net/third_party/op/op.py", "third_party/other/a.py"
    )
    skipped: list[str] = []
    assert names(tmp_path, left_out=skipped) == [
        "net/__init__.py",
        "net/third_party/__init__.py",
        "net/third_party/op/op.py",
    ]
    assert skipped == ["third_party"]


def test_shebang_counts_where_there_is_no_suffix(tmp_path):
    make(tmp_path, "run", text="#!/usr/bin/env python3\n")
    make(tmp_path, "run2", text="#!/opt/conda/bin/python -u\n")
    make(tmp_path, "sh", text="#!/bin/sh\n# python\n")
    make(tmp_path, "LICENSE", text="python\n")
    make(tmp_path, "run.cfg", text="#!/usr/bin/env python3\n")
    assert names(tmp_path) == ["run", "run2"]


def test_a_file_named_outright_is_taken_and_a_named_folder_is_walked(tmp_path):
    make(tmp_path, "build/a.py", "build/sub/b.py", "stub.pyi", "gone/c.py", ".gitignore", text="gone\nsub\n")
    assert names(tmp_path, "build/a.py", "stub.pyi", "gone/c.py") == ["build/a.py", "gone/c.py", "stub.pyi"]
    assert names(tmp_path, "build/a.py", "gone/c.py", "stub.pyi", force_exclude=True) == ["stub.pyi"]
    assert names(tmp_path, "build", force_exclude=True) == []
    assert names(tmp_path, "build") == ["build/a.py"]
    assert names(tmp_path, "build", "build/a.py", "build/sub/../a.py") == ["build/a.py"]
    with pytest.raises(FilesError, match="nowhere.py: no such file"):
        names(tmp_path, "nowhere.py")


def test_ignore_files_nest_and_a_nested_repository_begins_afresh(tmp_path):
    make(tmp_path, "gen.py", "a/gen.py", "a/keep.py", "a/b/gen.py", "sub/gen.py", "sub/own.py", "secret.py")
    (tmp_path / ".gitignore").write_text("gen.py\n")
    (tmp_path / "a/.gitignore").write_text("!/gen.py\nkeep.py")
    (tmp_path / "sub/.gitignore").write_bytes(b"\xef\xbb\xbfown.py\r\n")
    git(tmp_path, "init", "-q")
    assert names(tmp_path) == ["a/gen.py", "secret.py"]
    git(tmp_path / "sub", "init", "-q")
    (tmp_path / ".git/info/exclude").write_text("secret.py\n")
    assert names(tmp_path) == ["a/gen.py", "sub/gen.py"]
    # the same files from a root further down, and from a worktree whose .git is a file
    assert names(tmp_path / "a") == ["gen.py"]
    git(tmp_path / "sub", "add", ".gitignore")
    git(tmp_path / "sub", "commit", "-qm", "x")
    git(tmp_path / "sub", "worktree", "add", "-q", str(tmp_path / "tree"))
    make(tmp_path, "tree/gen.py", "tree/hidden.py")
    (tmp_path / "sub/.git/info/exclude").write_text("hidden.py\n")
    assert names(tmp_path) == ["a/gen.py", "sub/gen.py", "tree/gen.py"]


ATOMS = [
    *"abc*?/[]-#!é \\/",
    *("foo", "**", "***", "[ab]", "[!a]", "[a-c]", "[^/]", "[]a]", "\\*", ".py", "[[:alpha:]]", "**/", "/**", "\\ "),
]
PARTS = ["a", "b", "c", "foo", "a.py", "ab", "*", "a b", "é", "fooa", "-", "a]", "[", "#a", "!a", "a ", "a*b*c"]


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("seed", range(4))
def test_ignore_semantics_are_those_of_git(tmp_path, seed):
    dice = random.Random(seed)
    git(tmp_path, "init", "-q")
    asked = ignored = 0
    for _ in range(60):
        lines = ["".join(dice.choices(ATOMS, k=dice.randint(1, 5))) for _ in range(dice.randint(1, 3))]
        paths = sorted({"/".join(dice.choices(PARTS, k=dice.randint(1, 4))) for _ in range(60)})
        data = "\n".join(lines).encode()
        (tmp_path / ".gitignore").write_bytes(data)
        question = b"".join(p.encode() + b"\0" for p in paths)
        answer = git(tmp_path, "check-ignore", "-z", "--stdin", "--no-index", input=question, check=False)
        theirs = set(answer.stdout.decode().split("\0")) - {""}
        patterns = Patterns.of_file(data)
        ours = {p for p in paths if patterns.leave_out(p)}
        assert ours == theirs, lines
        asked, ignored = asked + len(paths), ignored + len(ours)
    assert asked / 20 < ignored < asked / 2


BRACKETS = [
    *r"[ [a [\ [a-\ a\ [!a] [^a] [a-c]x [a-\c] [b-\ [\]] [a\-c] []a] [a-] [[:digit:]] [[:nothing:]] [[:digit [[:x] [[:]".split(),
    *r"a[/]b \!a \#a ! / #a".split(),
    "x\\ ",
    "x ",
]
NAMES = ["a", "b", "c", "1", "-", "]", "[", "\\", "x", "x ", "!a", "#a", "ax", "cx", "[a", "a\\", ":", "d:", "d"]


@POSIX
def test_brackets_and_backslashes_are_those_of_git(tmp_path):
    """Each line in a folder of its own, so that git is asked once."""
    git(tmp_path, "init", "-q")
    ours = set()
    for number, line in enumerate(BRACKETS):
        make(tmp_path, f"{number}/.gitignore", text=line + "\n")
        patterns = Patterns.of_file(line.encode() + b"\n")
        ours |= {f"{number}/{name}" for name in NAMES if patterns.leave_out(name)}
    asked = "".join(f"{number}/{name}\0" for number in range(len(BRACKETS)) for name in NAMES).encode()
    answer = git(tmp_path, "check-ignore", "-z", "--stdin", "--no-index", input=asked, check=False)
    assert ours == set(answer.stdout.decode().split("\0")) - {""} and len(ours) > len(BRACKETS)


@POSIX
def test_a_made_repository_agrees_with_git(tmp_path):
    dice = random.Random(7)
    git(tmp_path, "init", "-q")
    for folder in ("", "a", "a/foo", "b/c"):
        make(tmp_path, *(os.path.join(folder, f"{n}.py") for n in ("a", "b", "foo", "ab", "x1", "x2", "test_x")))
        lines = dice.sample(
            ["a.py", "/foo*", "!foo.py", "x?.py", "**/b.py", "c/", "test_*", "!c/x1.py", "foo/**/ab.py"], 4
        )
        (tmp_path / folder / ".gitignore").write_text("\n".join(lines))
    listed = git(tmp_path, "ls-files", "-z", "--others", "--exclude-standard", "*.py").stdout.decode()
    assert names(tmp_path) == sorted(filter(None, listed.split("\0")))


def test_hostile_patterns_take_no_time():
    patterns = Patterns.of_settings(["*a" * 40 + "b", "x/" + "*a" * 40 + "b", "[" * 500, "**/" * 50 + "z"])
    began = time.process_time()
    for name in ("a" * 250, "a" * 249 + "b"):
        patterns.verdict(name, name, False)
        patterns.verdict("x/" + name, name, False)
    assert time.process_time() - began < 1
    assert patterns.verdict("a" * 249 + "b", "a" * 249 + "b", False)


@POSIX
def test_symlinks(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    make(root, "real.py", "pkg/x.py", "third_party/t.py", "data.txt")
    make(outside, "evil.py", "folder/y.py")
    (root / "loop.py").symlink_to("loop.py")
    (root / "pkg/up").symlink_to("..")
    (root / "linked").symlink_to(outside / "folder")
    (root / "evil.py").symlink_to(outside / "evil.py")
    (root / "again.py").symlink_to("real.py")
    (root / "tp.py").symlink_to("third_party/t.py")
    (root / "broken.py").symlink_to("nowhere.py")
    (root / "named.py").symlink_to("data.txt")
    (root / "named2.py").symlink_to("data.txt")
    assert names(root) == ["data.txt", "pkg/x.py", "real.py"]
    assert discover([root / "evil.py", root / "again.py"], root=root) == [File("evil.py", "outside"), File("real.py")]
    assert names(root, "again.py", "real.py") == ["real.py"]
    assert discover([outside / "evil.py"], root=root)[0].error == "outside"
    (root / "folder.py").symlink_to("pkg")
    assert discover([root / "folder.py"], root=root) == [File("pkg/x.py")]
    make(root, "env/pyvenv.cfg", "env/lib/z.py")
    (root / "environment.py").symlink_to("env/lib/z.py")
    assert names(root) == ["data.txt", "pkg/x.py", "real.py"], "what stands in an environment is not the project's"
    assert names(root, "environment.py") == ["env/lib/z.py"]


@POSIX
def test_names_that_are_no_utf8(tmp_path):
    for name in (b"caf\xe9.py", b"z\xff\xfe.py", b"caf\xc3\xa9.py", b"new\nline.py"):
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).write_text("x\n")
    (tmp_path / ".gitignore").write_bytes(b"z??.py\n")
    git(tmp_path, "init", "-q")
    found = names(tmp_path)
    assert [os.fsencode(name) for name in found] == [b"caf\xc3\xa9.py", b"caf\xe9.py", b"new\nline.py"]
    assert read(tmp_path / found[1]) == b"x\n"
    printable(found[1]).encode("utf-8")
    assert printable(found[2]) == "new\\nline.py"


@pytest.mark.slow
@POSIX
def test_what_cannot_be_looked_at_is_an_entry():
    with common_folder() as folder:
        make(folder, "a.py", "locked/b.py")
        (folder / "a.py").chmod(0)
        (folder / "locked").chmod(0)
        code = (
            "from porter.files.discover import discover\nfrom porter.files.read import read\n"
            "for f in discover(['.'], root='.'):\n    print(f.path, f.error, f.detail)\n"
            "try:\n    read('a.py')\nexcept Exception as e:\n    print(e)"
        )
        assert as_user(folder, code).splitlines() == [
            "a.py  ",
            "locked unreadable Permission denied",
            "a.py: cannot be read: Permission denied",
        ]


def test_reasons_not_to_read(tmp_path):
    big = tmp_path / "big.py"
    with open(big, "wb") as stream:
        stream.truncate(LIMIT + 1)
    (tmp_path / "bin.py").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "fine.py").write_bytes(b"x = 1\n" * 50_000)
    for name, key in (("big.py", "large"), ("bin.py", "binary"), ("none.py", "missing"), ("", "special")):
        with pytest.raises(FilesError) as caught:
            read(tmp_path / name, name)
        assert caught.value.key == key and caught.value.text("zh") != caught.value.text("en")
    assert len(read(tmp_path / "fine.py")) == 300_000
    assert read(tmp_path / "fine.py") == (tmp_path / "fine.py").read_bytes()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
        assert names(tmp_path, "pipe.py") == ["pipe.py"]
        with pytest.raises(FilesError, match="not a regular file"):
            read(tmp_path / "pipe.py")


def test_find_root(tmp_path, monkeypatch):
    make(tmp_path, "one/a/x.py", "one/pyproject.toml", "two/b/y.py", "two/b/z/w.py")
    assert find_root([tmp_path / "one/a/x.py"]) == tmp_path / "one"
    assert find_root([tmp_path / "one/a"]) == tmp_path / "one"
    assert find_root([tmp_path / "one/a", tmp_path / "two/b"]) == tmp_path
    (tmp_path / "two/porter.toml").touch()
    assert find_root([tmp_path / "two/b/y.py", tmp_path / "two/b/z"]) == tmp_path / "two"
    make(tmp_path, "repo/.git/HEAD", "repo/package/setup.py", "repo/package/m.py", "repo/own/m.py")
    (tmp_path / "repo/own/pyproject.toml").write_text('[tool.porter]\nselect = ["PRT1"]\n')
    assert find_root([tmp_path / "repo/package/m.py"]) == tmp_path / "repo"  # a hook and a run over all agree
    assert find_root([tmp_path / "repo/own/m.py"]) == tmp_path / "repo/own"
    monkeypatch.chdir(tmp_path / "one/a")
    assert find_root([]) == find_root(["x.py"]) == tmp_path / "one"


@pytest.mark.slow
def test_a_very_deep_tree(tmp_path):
    if os.name == "nt":
        pytest.skip("short paths")
    depth, here = 1200, os.getcwd()
    try:
        os.chdir(tmp_path)
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        Path("x.py").touch()
    finally:
        os.chdir(here)
    try:
        assert names(tmp_path) == ["d/" * depth + "x.py"]
        assert len(names(tmp_path, "d/" * depth)) == 1
        assert len(names(tmp_path, "d/" * depth + "x.py", force_exclude=True)) == 1
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.slow
def test_twenty_thousand_files_take_no_time(tmp_path):
    for folder in range(100):
        (tmp_path / f"p{folder}").mkdir()
        for number in range(200):
            os.close(os.open(tmp_path / f"p{folder}" / f"m{number}.py", os.O_CREAT))
    (tmp_path / ".gitignore").write_text(
        "__pycache__/\n*.pyc\n/docs/_build\n*.egg-info/\n.env\nlocal*\ndata/**/*.bin\n"
    )
    began = time.process_time()
    assert len(discover([tmp_path], root=tmp_path)) == 20_000
    assert time.process_time() - began < 2


def test_messages_exist_in_both_languages():
    for key, (en, zh) in MESSAGES.items():
        fields = [sorted({f for _, f, _, _ in string.Formatter().parse(text) if f}) for text in (en, zh)]
        assert fields[0] == fields[1], key
        assert en.isascii() and not zh.isascii()


def test_a_folder_of_a_package_that_is_called_as_what_a_build_leaves(tmp_path):
    make(tmp_path, "net/__init__.py", "net/dist/ranks.py", "net/build/kernel.o", "dist/net.py", "tool/build/made.py")
    skipped: list[str] = []
    assert names(tmp_path, left_out=skipped) == ["net/__init__.py", "net/dist/ranks.py"]
    assert sorted(skipped) == ["dist", "net/build", "tool/build"]


def test_an_ignored_folder_of_a_package_where_git_is_not_there(tmp_path):
    """An archive of a repository holds what git tracks, which `.gitignore` may name all the same."""
    make(tmp_path, "net/__init__.py", "net/data/load.py", "net/notes.py", "data/fetched.py")
    (tmp_path / ".gitignore").write_text("data/\nnotes.py\n")
    assert names(tmp_path) == ["net/__init__.py", "net/data/load.py", "net/notes.py"]
    make(tmp_path, "plain/data/load.py", "plain/loss/sum.py", "runs/data/copy.py", "runs/log.txt")
    assert names(tmp_path)[-2:] == ["plain/data/load.py", "plain/loss/sum.py"]
    shutil.rmtree(tmp_path / "plain")
    make(tmp_path, "requirements.txt", "notes.txt", "conf/a.yaml")
    (tmp_path / ".gitignore").write_text("data/\nnotes.py\n*.txt\n*.yaml\n")
    walk = Walk(str(tmp_path))
    ignored = {path: walk.is_left_out(path, False) for path in ("requirements.txt", "notes.txt", "conf/a.yaml")}
    assert ignored == {"requirements.txt": False, "notes.txt": True, "conf/a.yaml": False}
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert names(tmp_path) == ["net/__init__.py"]
