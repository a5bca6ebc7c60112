"""A git repository is fetched at the revision that is named, and nothing of it is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fleet_world import committed, git

from porter.errors import UserError
from porter.fleet.fetch import commit_there, fetch

pytestmark = pytest.mark.slow  # git is started


@pytest.fixture
def origin(tmp_path):
    """Two commits, of which the first has a tag and a branch."""
    folder = tmp_path / "origin"
    folder.mkdir()
    first = committed(folder, {"train.py": "first\n"})
    git(folder, "tag", "-a", "v1", "-m", "v1")
    git(folder, "branch", "old")
    git(folder, "branch", "master")  # which a new repository here may be at
    second = committed(folder, {"train.py": "second\n"})
    return folder, first, second


def fetched(tmp_path: Path, where: Path, revision: str = "", name: str = "r") -> tuple[str, str]:
    top, commit = fetch("git", str(where), revision, name, str(tmp_path))
    return Path(top, "train.py").read_text(), commit


@pytest.mark.slow
def test_revisions(origin, tmp_path):
    folder, first, second = origin
    for n, (revision, text, commit) in enumerate([
        ("", "second\n", second), ("v1", "first\n", first), ("old", "first\n", first), ("main", "second\n", second),
        (first, "first\n", first), (first[:10], "first\n", first),
    ]):  # fmt: skip
        assert fetched(tmp_path, folder, revision, f"r{n}") == (text, commit)
        assert commit_there(str(folder), revision) == (None if len(revision) == 10 else commit)
    assert commit_there(str(folder), "HEAD") == second


@pytest.mark.parametrize(
    ("revision", "why"), [("nothing", "there is no revision 'nothing'"), ("0" * 40, "no revision")]
)
def test_a_revision_that_is_none(origin, tmp_path, revision, why):
    with pytest.raises(UserError, match=why):
        fetched(tmp_path, origin[0], revision)


def test_nothing_of_it_is_run(origin, tmp_path, monkeypatch):
    """Hooks, filters and fsmonitor of the repository and of the user, programs as transports, submodules."""
    folder, ran = origin[0], tmp_path / "ran"
    touch = f"sh -c 'touch {ran}'"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-merge", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    template = tmp_path / "template"
    template.mkdir()
    os.symlink(hooks, template / "hooks")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[filter "x"]\n\tsmudge = {touch}\n\trequired = true\n[core]\n\tfsmonitor = {touch}\n\thooksPath = {hooks}\n'
        f"[init]\n\ttemplateDir = {template}\n[submodule]\n\trecurse = true\n[protocol]\n\tallow = always\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template))
    for key, value in (("COUNT", "1"), ("KEY_0", "filter.x.smudge"), ("VALUE_0", touch)):  # as a CI gives settings
        monkeypatch.setenv(f"GIT_CONFIG_{key}", value)
    module = f'[submodule "s"]\n\tpath = s\n\turl = ext::{touch}\n\tupdate = !{touch}\n'
    committed(folder, {".gitattributes": "*.py filter=x\n", ".gitmodules": module})
    assert fetched(tmp_path, folder)[0] == "second\n" and not ran.exists()
    for where in (f"ext::{touch}", "--upload-pack=touch x"):
        with pytest.raises(UserError):
            fetch("git", where, "", "bad", str(tmp_path))
    assert not ran.exists()


def test_what_git_says_is_the_same_each_time(origin, tmp_path):
    """Of a repository whose objects are damaged, and of a folder that the fetch cannot name."""
    folder, first, _ = origin
    for file in (folder / ".git" / "objects").glob("*/*"):
        if file.parent.name not in ("pack", "info"):
            file.chmod(0o644)
            file.write_bytes(b"damaged")
    said = []
    for name in ("one", "other"):
        with pytest.raises(UserError) as told:
            fetched(tmp_path, folder, first, name)
        said.append(told.value.text("en"))
    assert said[0] == said[1] and str(tmp_path) not in said[0]


def test_what_git_says_is_told_in_one_line(tmp_path):
    with pytest.raises(UserError, match="git cannot fetch it: fatal: 'it' does not appear to be a git repository"):
        fetched(tmp_path, tmp_path)
    for ask in (lambda: fetched(tmp_path, tmp_path / "no"), lambda: commit_there("http://127.0.0.1:9/x.git", "")):
        with pytest.raises(UserError) as told:
            ask()
        assert "\n" not in told.value.text("en") and "git" in told.value.text("zh")
        assert " ms" not in told.value.text("en")  # how long it waited is another each time
