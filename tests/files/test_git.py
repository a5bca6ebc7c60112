from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from files_world import POSIX, git, make

from porter.files.errors import FilesError
from porter.files.git import dirty

pytestmark = pytest.mark.slow  # git is started


def repository(root: Path, *names: str, **options) -> None:
    make(root, *names, **options)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_dirty_is_what_the_index_does_not_hold(tmp_path, form):
    git(tmp_path, "init", "-q", f"--object-format={form}")
    repository(tmp_path, "clean.py", "staged.py", "both.py", "edited.py", "touched.py", "sub/clean.py")
    (tmp_path / "staged.py").write_text("staged\n")
    (tmp_path / "both.py").write_text("staged\n")
    git(tmp_path, "add", "staged.py", "both.py")
    (tmp_path / "both.py").write_text("staged, then edited\n")
    (tmp_path / "edited.py").write_text("edited\n")
    os.utime(tmp_path / "touched.py", (1, 1))
    make(tmp_path, "untracked.py", "later.py", "ignored.py")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    git(tmp_path, "add", "-N", "later.py")
    paths = [p.name for p in tmp_path.glob("*.py")] + ["sub/clean.py"]
    assert dirty(tmp_path, paths) == ["both.py", "edited.py", "ignored.py", "later.py", "untracked.py"]
    assert dirty(tmp_path / "sub", ["clean.py"]) == []


def test_no_repository_and_no_git(tmp_path, monkeypatch):
    make(tmp_path, "a.py", "sub/b.py")
    assert dirty(tmp_path, ["a.py"]) == []
    (tmp_path / ".git").mkdir()  # a folder of that name is no repository yet
    assert dirty(tmp_path, ["a.py"]) == []
    (tmp_path / ".git").rmdir()
    git(tmp_path, "init", "-q")
    assert dirty(tmp_path, ["a.py", "sub/b.py"]) == ["a.py", "sub/b.py"]
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert dirty(tmp_path, ["a.py"]) == []


def test_nested_repositories_answer_for_themselves(tmp_path):
    repository(tmp_path, "a.py")
    repository(tmp_path / "inner", "b.py", "c.py")
    (tmp_path / "inner/c.py").write_text("edited\n")
    assert dirty(tmp_path, ["a.py", "inner/b.py", "inner/c.py"]) == ["inner/c.py"]


@POSIX
def test_links_and_odd_names(tmp_path):
    odd = os.fsdecode(b"caf\xe9\n.py")
    repository(tmp_path, "real.py", odd)
    (tmp_path / "link.py").symlink_to("real.py")
    assert dirty(tmp_path, ["link.py", odd]) == []
    (tmp_path / odd).write_text("edited\n")
    (tmp_path / "real.py").write_text("edited\n")
    assert dirty(tmp_path, ["link.py", odd]) == [odd, "link.py"]


def test_line_ends_that_git_converts_are_not_dirty(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.autocrlf", "true")
    for name, data in (("crlf.py", b"a\r\nb\r\n"), ("edited.py", b"a\r\nb\r\n")):
        (tmp_path / name).write_bytes(data)
    git(tmp_path, "add", "-A")
    (tmp_path / "edited.py").write_bytes(b"a\r\nc\r\n")
    assert dirty(tmp_path, ["crlf.py", "edited.py"]) == ["edited.py"]


def test_a_conflict_is_dirty(tmp_path):
    repository(tmp_path, "a.py", text="base\n")
    git(tmp_path, "checkout", "-qb", "other")
    repository(tmp_path, "a.py", text="theirs\n")
    git(tmp_path, "checkout", "-q", "main")
    repository(tmp_path, "a.py", text="ours\n")
    git(tmp_path, "merge", "other", check=False)
    assert dirty(tmp_path, ["a.py"]) == ["a.py"]


def test_a_repository_git_cannot_read_is_one_clear_line(tmp_path):
    repository(tmp_path, "a.py")
    (tmp_path / ".git/index").write_bytes(b"nonsense" * 10)
    with pytest.raises(FilesError, match="git cannot tell .*--allow-dirty") as caught:
        dirty(tmp_path, ["a.py"])
    assert "\n" not in caught.value.text()


@pytest.mark.slow
@POSIX
def test_a_hostile_repository_runs_nothing(tmp_path, monkeypatch):
    """Everything in its settings, attributes, hooks and environment that can name a program names one that leaves a
    trace. That the trap works is shown by git itself, asked the plain way."""
    root, trace = tmp_path / "root", tmp_path / "trace"
    repository(root, "a.py", "b.py")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{trace}'\ncat\n")
    trap.chmod(0o755)
    (root / ".gitattributes").write_text("*.py filter=evil diff=evil merge=evil working-tree-encoding=UTF-8\n")
    hooks = root / ".git/hooks"
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction", "post-checkout"):
        (hooks / hook).write_text(trap.read_text())
        (hooks / hook).chmod(0o755)
    settings = {
        "core.fsmonitor": trap, "core.sshCommand": trap, "core.pager": trap, "core.editor": trap, "core.askPass": trap,
        "core.hooksPath": hooks, "core.alternateRefsCommand": trap, "core.gitProxy": trap, "pager.ls-files": trap,
        "filter.evil.clean": trap, "filter.evil.smudge": trap, "filter.evil.process": trap, "filter.evil.required": "true",
        "diff.evil.command": trap, "diff.evil.textconv": trap, "diff.external": trap, "merge.evil.driver": trap,
        "alias.ls-files": f"!{trap}", "credential.helper": trap, "gpg.program": trap, "uploadpack.packObjectsHook": trap,
        "remote.origin.url": f"ext::{trap}", "remote.origin.promisor": "true", "remote.origin.uploadpack": trap,
        "protocol.ext.allow": "always", "extensions.partialClone": "origin", "core.repositoryFormatVersion": "1",
        "index.threads": "1", "core.untrackedCache": "true", "core.splitIndex": "true",
    }  # fmt: skip
    for key, value in settings.items():
        git(root, "config", key, str(value))
    for variable in (
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "GIT_SSH_COMMAND",
        "GIT_ASKPASS",
        "GIT_EDITOR",
        "GIT_PROXY_COMMAND",
    ):
        monkeypatch.setenv(variable, str(trap))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap))
    fake = root / "bin"
    fake.mkdir()
    (fake / "git").write_text(trap.read_text())
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(fake), ".", "bin", os.environ["PATH"]]))
    monkeypatch.chdir(root)
    trace.unlink(missing_ok=True)
    (root / "b.py").write_text("edited\n")
    index = (root / ".git/index").read_bytes(), stat.S_IMODE((root / ".git/index").stat().st_mode)
    assert dirty(root, ["a.py", "b.py", "new.py"]) == ["b.py", "new.py"]
    assert not trace.exists(), trace.read_text()
    assert index == ((root / ".git/index").read_bytes(), stat.S_IMODE((root / ".git/index").stat().st_mode))
    plain = {"PATH": os.defpath + ":/usr/local/bin:/opt/homebrew/bin", "HOME": str(tmp_path)}
    subprocess.run(["git", "-C", str(root), "diff"], env=plain, capture_output=True, check=False)
    assert trace.exists(), "the trap does not work"


def test_git_is_not_asked_where_there_is_no_repository(tmp_path):
    """What looks like a bare repository to git, settings and all, is not looked at."""
    for name in ("objects", "refs"):
        (tmp_path / name).mkdir()
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "config").write_text("[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\n")
    make(tmp_path, "a.py")
    assert dirty(tmp_path, ["a.py"]) == []


@POSIX
@pytest.mark.parametrize("where", ["own", "included", "conditionally", "worktree's", "gitdir file", "gitdir link"])
def test_settings_from_anywhere_in_a_hostile_repository_run_nothing(tmp_path, where):
    """An unpacked archive brings a `.git` of its own, and that may send git on. The trap is git's own way to a program
    when a file has to be looked at again, which `git status` and `git diff` do."""
    root, trace, trap = tmp_path / "root", tmp_path / "trace", tmp_path / "trap"
    repository(root, "a.py", "b.py")
    trap.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{trace}'\ncat\n")
    trap.chmod(0o755)
    (root / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    evil = f'[core]\n\tfsmonitor = "{trap}"\n[filter "evil"]\n\tclean = "{trap}"\n\tprocess = "{trap}"\n'
    evil += f'[diff]\n\texternal = "{trap}"\n[diff "evil"]\n\tcommand = "{trap}"\n\ttextconv = "{trap}"\n'
    config = root / ".git/config"
    if where in ("own", "gitdir file", "gitdir link"):
        config.write_text(config.read_text() + evil)
    elif where == "worktree's":
        config.write_text(config.read_text() + "[extensions]\n\tworktreeConfig = true\n")
        (root / ".git/config.worktree").write_text(evil)
    else:
        (root / "evil.config").write_text(evil)
        section = "[include]" if where == "included" else f'[includeIf "gitdir:{root}/"]'
        config.write_text(config.read_text() + f"{section}\n\tpath = {root}/evil.config\n")
    if where.startswith("gitdir"):
        (root / ".git").rename(root / "data")
        if where == "gitdir file":
            (root / ".git").write_text("gitdir: data\n")
        else:
            (root / ".git").symlink_to("data")
    os.utime(root / "a.py", (1, 1))  # git has to look again
    (root / "b.py").write_text("edited\n")
    assert dirty(root, ["a.py", "b.py"]) == ["b.py"]
    assert not trace.exists(), trace.read_text()
    git(root, "status", check=False)
    git(root, "diff", check=False)
    assert trace.exists(), "the trap does not work"
