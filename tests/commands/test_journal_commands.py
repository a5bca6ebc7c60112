"""Which commands write, and what all of them do about a journal that is not finished, or not porter's."""

from __future__ import annotations

import json
import os
import sys

import pytest
from command_line import Porter, git, process, write
from files_world import POSIX, interrupted, snapshot

from porter.files.read import digest

OLD = "import torch\ntorch.cuda.synchronize()\n"
NEW = b"import torch\nimport torch_npu  # noqa: F401\ntorch.npu.synchronize()\n"
FILES = {name: OLD for name in ("a.py", "b.py", "sub/c.py")} | {"setup.py": "", "t.log": "no NCCL here\n"}
READING = (
    ("analyze", "."), ("analyze", "sub/c.py", "--format", "json"), ("analyze", ".", "-o", "../report.html", "-q"),
    ("analyze", ".", "--write-baseline", "../base.json"), ("analyze", "-"), ("migrate", "."), ("migrate", ".", "--check"),
    ("migrate", "sub", "--unsafe"), ("advise", "."), ("env", ".", "--output", "-"), ("diagnose", "t.log", "--repo", "."),
    ("explain", "PRT201"), ("rules",), ("report", "../then.json"), ("diff", "../then.json", "../then.json"), ("doctor",),
    ("catalog", "list"), ("migrate", ".", "--lang", "zh"),
)  # fmt: skip
OF_THE_TREE = {"analyze", "migrate", "advise", "env", "diagnose"}


@pytest.fixture
def porter(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTER_STATE_DIR", str(tmp_path / "state"))
    return Porter(monkeypatch, write(tmp_path / "r", FILES))


def sources(porter) -> dict[str, bytes]:
    return {name: (porter.folder / name).read_bytes() for name in FILES}


def half(porter, kept: bool = True) -> None:
    interrupted(porter.folder, {name: NEW for name in ("a.py", "b.py", "sub/c.py")}, replaced=1, kept=kept)
    assert sorted(data == NEW for data in sources(porter).values()) == [False] * 4 + [True]


def ship(porter, how: str, sealed: bytes = b"") -> None:
    """The journal that an older porter would have taken for its own."""
    run = porter.folder / ".porter/runs/0001"
    run.mkdir(parents=True)
    evil = b"import os\nos.system('evil')\n"
    entry = {"path": "a.py", "before": digest(OLD.encode()), "after": digest(evil), "old": [0, len(OLD)]}
    entry |= {"new": [0, len(evil)], "ours": False, "record": True}
    files = {"before": OLD, "after": evil, how: sealed}
    write(run, files | {"manifest.json": json.dumps({"format": 1, "undoes": "", "files": [entry]})})


def lines_about_the_journal(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("porter: ")]


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("journal", ["none", "interrupted", "interrupted, not kept", "foreign", "finished", "a link"])
def test_commands_that_read_never_write(porter, journal):
    assert porter("analyze", ".", "-o", "../then.json").code == 1
    if journal.startswith("interrupted"):
        half(porter, kept=journal == "interrupted")
    elif journal == "foreign":
        ship(porter, "committed")
    elif journal == "finished":
        assert porter("migrate", "a.py", "--inplace").code == 0
    elif journal == "a link":
        write(porter.folder.parent / "elsewhere", {"runs/0001/committed": ""})
        (porter.folder / ".porter").symlink_to("../elsewhere")
    before, state = snapshot(porter.folder), snapshot(porter.folder.parent / "state")
    for command in READING:
        got = porter(*command, stdin=OLD.encode())
        assert got.code in (0, 1), (command, got.err)
        assert snapshot(porter.folder) == before, command
        assert snapshot(porter.folder.parent / "state") == state, "the secret is made where files are written"
        told = lines_about_the_journal(got.err)
        if command[0] in OF_THE_TREE and journal not in ("none", "finished"):
            words = {"interrupted": "porter migrate --inplace", "interrupted, not kept": "--no-undo"}
            expected = words.get(journal, ".porter") if "zh" not in command else ""
            assert len(told) == 1 and expected in told[0], (command, got.err)
        else:
            assert told == [], (command, got.err)


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("action", [["undo"], ["migrate", ".", "--inplace"], ["migrate", "setup.py", "--inplace"]])
def test_the_next_command_that_writes_mends(porter, action):
    before = sources(porter)
    half(porter)
    got = porter(*action)
    assert got.code == 0
    after = sources(porter)
    if action == ["undo"]:
        assert after == before and "Files restored: 3." in got.text and not (porter.folder / ".porter").exists()
    else:
        assert got.err.startswith("porter: an interrupted run was finished: all 3 files are ported now\n")
        assert [after[name] for name in ("a.py", "b.py", "sub/c.py")] == [NEW] * 3
        assert porter("undo").code == 0 and sources(porter) == before
    assert not (porter.folder / ".porter").exists()


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("kept", [True, False])
def test_no_copy_of_a_tree_that_is_half_written(porter, kept):
    half(porter, kept)
    before = snapshot(porter.folder)
    got = porter("migrate", ".", "--out", "../copy")
    assert got.code == 2 and got.err.count("\n") == 1 and "half ported" in got.err
    assert snapshot(porter.folder) == before and not (porter.folder.parent / "copy").exists()
    assert porter("migrate", ".", "--inplace", *([] if kept else ["--no-undo"])).code == 0
    assert porter("migrate", ".", "--out", "../copy").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["committed", "failed", "finished", "undone"])
@pytest.mark.parametrize(
    "sealed", [b"", b"2 0001 " + b"0" * 64 + b" 1 9 " + b"0" * 64 + b" " + b"0" * 64 + b"\n"], ids=["older", "guessed"]
)
def test_a_journal_that_came_with_the_repository(porter, how, sealed):
    ship(porter, how, sealed)
    before = snapshot(porter.folder)
    for command in (["analyze", "."], ["migrate", "."], ["migrate", ".", "--check"], ["migrate", ".", "--out", "../o"]):
        got = porter(*command)
        assert got.err.count("not written by porter on this machine") == 1 and ".porter/runs/0001" in got.err
        assert got.code == (0 if command[-1] in (".", "../o") and command[0] == "migrate" else 1)
    assert snapshot(porter.folder) == before and not (porter.folder.parent / "o/.porter").exists()
    for command in (
        ["undo"],
        ["undo", "sub"],
        ["migrate", ".", "--inplace"],
        ["migrate", ".", "--inplace", "--no-undo"],
    ):
        got = porter(*command)
        assert got.code == 2 and got.err.count("\n") == 1 and "delete .porter" in got.err
        assert sources(porter) == {name: text.encode() for name, text in FILES.items()}


def test_a_journal_in_a_subfolder_is_no_journal(porter):
    """`porter undo sub` goes by the root's, where it has one."""
    write(porter.folder, {"sub/.porter/runs/0001/finished": "", "sub/.porter/runs/0001/manifest.json": "{}"})
    assert porter("migrate", ".", "--inplace").code == 0
    assert porter("undo", "sub").code == 0
    assert sources(porter) == {name: text.encode() for name, text in FILES.items()}
    assert porter("undo", "sub").code == 2


def test_a_journal_above_is_used_only_where_it_is_ours(porter):
    """Anybody can put one into /tmp."""
    above = porter.folder.parent
    write(above, {".porter/runs/0001/finished": "", ".porter/runs/0002/x": ""})
    before = snapshot(above / ".porter")
    got = porter("undo", "sub")
    assert got.code == 2 and got.err.startswith("porter: r: no finished"), got.err
    assert snapshot(above / ".porter") == before
    assert porter("migrate", ".", "--inplace").code == 0
    (porter.folder / "setup.py").unlink()
    write(porter.folder / "sub", {"setup.py": ""})  # the root that is found now is another
    assert porter("undo", "sub").code == 0 and not (porter.folder / ".porter").exists()


def test_a_forged_record_does_not_hide_unsaved_work(porter):
    git(porter.folder, "init", "-q")
    git(porter.folder, "add", ".")
    mine = OLD + "x = 1\n"
    write(porter.folder, {"a.py": mine, ".porter/written.json": json.dumps({"a.py": digest(mine.encode())})})
    got = porter("migrate", ".", "--inplace")
    assert got.code == 2 and "a.py" in got.err and "--allow-dirty" in got.err


@POSIX
def test_where_the_state_cannot_be_kept(porter, monkeypatch):
    """As in CI: no home, or one that cannot be written."""
    (porter.folder.parent / "state").write_text("a file")
    before = snapshot(porter.folder)
    for lang, word in (("en", "--no-undo"), ("zh", "--no-undo")):
        got = porter("migrate", ".", "--inplace", "--lang", lang, "-o", "../report.json")
        assert got.code == 2 and got.err.count("\n") == 1, got.err
        assert word in got.err and "PORTER_STATE_DIR" in got.err and str(porter.folder.parent / "state") in got.err
    assert snapshot(porter.folder) == before
    assert not (porter.folder.parent / "report.json").exists(), "it is told before the work, not after it"
    got = porter("migrate", ".", "--inplace", "--no-undo")
    assert got.code == 0 and "Nothing is kept to undo it." in got.err and "porter undo" not in got.err
    assert [sources(porter)[name] for name in ("a.py", "b.py", "sub/c.py")] == [NEW] * 3
    assert not (porter.folder / ".porter").exists()


def test_no_undo_needs_inplace(porter):
    for more in ([], ["--check"], ["--out", "../o"]):
        got = porter("migrate", ".", "--no-undo", *more)
        assert got.code == 2 and "--inplace" in got.err and got.err.count("\n") == 1


@pytest.mark.slow
def test_the_journal_goes_with_its_last_run(porter):
    before = sources(porter)
    porter("migrate", "a.py", "--inplace")
    porter("migrate", ".", "--inplace")
    porter("migrate", ".", "--inplace")  # nothing to do, and not on record
    assert len(os.listdir(porter.folder / ".porter/runs")) == 2
    assert porter("undo").code == 0 and (porter.folder / ".porter").exists()
    assert porter("undo").code == 0 and not (porter.folder / ".porter").exists()
    assert sources(porter) == before
    assert porter("undo").code == 2 and not (porter.folder / ".porter").exists()
    assert porter("migrate", "setup.py", "--inplace").code == 0 and not (porter.folder / ".porter").exists()


def test_what_was_changed_since_can_be_undone_later(porter):
    porter("migrate", ".", "--inplace")
    write(porter.folder, {"a.py": NEW + b"mine = 1\n", "b.py": OLD})
    got = porter("undo")
    assert got.code == 1 and "Files restored: 1." in got.text, "b.py is as it was already"
    assert lines_about_the_journal(got.err) == ["porter: a.py: changed since porter wrote it; left as it is"]
    assert porter("undo").code == 1
    write(porter.folder, {"a.py": NEW})
    assert porter("undo").code == 0 and not (porter.folder / ".porter").exists()
    assert sources(porter) == {name: text.encode() for name, text in FILES.items()}


@POSIX
def test_two_users_of_one_tree(porter, monkeypatch):
    """The journal of the one is not the other's; neither overwrites it."""
    porter("migrate", "a.py", "--inplace")
    with monkeypatch.context() as patch:
        patch.setenv("PORTER_STATE_DIR", str(porter.folder.parent / "another"))
        assert porter("undo").code == 2 and porter("migrate", ".", "--inplace").code == 2
    assert porter("undo").code == 0


@pytest.mark.slow
@POSIX
def test_a_process_of_its_own_finds_the_secret_again(porter):
    assert process("migrate", ".", "--inplace", cwd=porter.folder).returncode == 0
    assert process("undo", cwd=porter.folder).returncode == 0, sys.executable
    assert sources(porter) == {name: text.encode() for name, text in FILES.items()}
