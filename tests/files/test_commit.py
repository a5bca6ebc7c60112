"""The commit of a checkout is the one that git names, read from files that may say anything."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from files_world import git

from porter.files import commit
from porter.files.commit import commit_of

pytestmark = pytest.mark.slow  # git is started


@pytest.fixture
def checkout(tmp_path) -> Path:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    return tmp_path


def named(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").stdout.decode().strip()


@pytest.mark.parametrize("form", ["branch", "deep branch", "packed", "detached", "worktree", "packed worktree"])
def test_what_git_says(checkout, form):
    root = checkout
    if form == "deep branch":
        git(root, "checkout", "-q", "-b", "a/b/c")
    if form == "detached":
        git(root, "checkout", "-q", "--detach")
    if "worktree" in form:
        root = checkout / "other"
        git(checkout, "worktree", "add", "-q", str(root))
        git(root, "commit", "-q", "--allow-empty", "-m", "y")
    if "packed" in form:
        git(checkout, "pack-refs", "--all")
    assert commit_of(root) == named(root) != ""


def test_of_sha256(tmp_path):
    if git(tmp_path, "init", "-q", "--object-format=sha256", check=False).returncode:
        pytest.skip("this git knows no sha256")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    assert len(commit_of(tmp_path)) == 64 and commit_of(tmp_path) == named(tmp_path)


def test_none_where_there_is_none(tmp_path, checkout):
    (tmp_path / "below").mkdir()
    assert commit_of(tmp_path / "below") == "", "the folder of a checkout is its top"
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q")
    assert commit_of(tmp_path / "new") == "", "no commit yet"


def test_no_program_is_run(checkout, monkeypatch):
    expected = named(checkout)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert commit_of(checkout) == expected


@pytest.mark.parametrize(
    "head",
    [b"", b"\xff\x00", b"ref: ../../secret\n", b"ref: refs/../../secret\n", b"ref: refs/heads/../../../secret\n",
     b"ref: refs/heads/loop\n", b"ref: HEAD\n", b"aref: refs/heads/main\n", b"a" * 39, b"a" * 41, b"A" * 40,
     b"ref: refs/heads/folder\n", b"ref: refs/heads/" + b"n" * 5000],
)  # fmt: skip
def test_a_hostile_head_names_nothing(checkout, head):
    (checkout / "secret").write_text("b" * 40)
    (checkout / ".git/refs/heads/loop").write_text("ref: refs/heads/loop\n")
    (checkout / ".git/refs/heads/folder").mkdir()
    (checkout / ".git/HEAD").write_bytes(head)
    assert commit_of(checkout) == ""


def test_a_name_that_is_cut_is_no_other_name(checkout, monkeypatch):
    packed = b"1" * 40 + b" refs/heads/abc\n"
    (checkout / ".git" / "packed-refs").write_bytes(packed)
    (checkout / ".git" / "HEAD").write_text("ref: refs/heads/abc\n")
    assert commit_of(checkout) == "1" * 40
    monkeypatch.setattr(commit, "_PACKED", len(packed) - 2)
    (checkout / ".git" / "HEAD").write_text("ref: refs/heads/ab\n")
    assert commit_of(checkout) == ""
