"""Runs that make and remove files: all or nothing, and undone like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from files_world import make

from porter.files.copy import write_copy
from porter.files.errors import FilesError
from porter.files.journal import Transaction, originals, recover, undo
from porter.files.read import digest
from porter.files.write import ABSENT

BEFORE = {"a.py": b"a = 1\n", "gone.py": b"gone\n"}
AFTER = {"a.py": b"a = 2\n", "new.py": b"new\n"}


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PORTER_STATE_DIR", str(tmp_path / "state"))
    root = tmp_path / "r"
    make(root, *BEFORE)
    for name, data in BEFORE.items():
        (root / name).write_bytes(data)
    return root


def tree(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(root.iterdir()) if path.is_file()}


def stage(run: Transaction) -> None:
    run.add("new.py", AFTER["new.py"], ABSENT)
    run.add("gone.py", None, digest(BEFORE["gone.py"]))
    run.add("a.py", AFTER["a.py"], digest(BEFORE["a.py"]))


def test_made_removed_and_undone(root) -> None:
    with Transaction(root, ports=False) as run:
        stage(run)
        assert tree(root) == BEFORE
        assert run.commit() == 3
    assert tree(root) == AFTER and (root / "new.py").stat().st_mode & 0o777 == 0o644
    assert originals(root) == {}  # it ported nothing
    undone = undo(root)
    assert sorted(undone.restored) == ["a.py", "gone.py", "new.py"] and not undone.refused
    assert tree(root) == BEFORE and not (root / ".porter").exists()


def test_a_file_that_somebody_made_meanwhile_is_not_overwritten(root) -> None:
    (root / "new.py").write_bytes(b"theirs\n")
    with Transaction(root) as run, pytest.raises(FilesError) as refused:
        run.add("new.py", b"ours\n", ABSENT)
    assert refused.value.key == "changed" and (root / "new.py").read_bytes() == b"theirs\n"


def test_when_one_fails_the_others_are_as_they_were(root) -> None:
    with pytest.raises(FilesError) as failed, Transaction(root) as run:
        stage(run)
        (root / "a.py").write_bytes(b"edited meanwhile\n")
        run.commit()
    assert failed.value.key == "rolled-back"
    assert tree(root) == {**BEFORE, "a.py": b"edited meanwhile\n"}


def test_an_interrupted_run_is_finished(root, monkeypatch) -> None:
    with Transaction(root) as run:
        stage(run)
        monkeypatch.setattr("porter.files.runs.Run.finish", lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
        monkeypatch.setattr("porter.files.journal._put_back", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            run.commit()
    monkeypatch.undo()
    monkeypatch.setenv("PORTER_STATE_DIR", str(root.parent / "state"))
    (root / "new.py").unlink()  # as if it had come only so far
    recover(root)
    assert tree(root) == AFTER


def test_what_was_changed_since_is_refused_by_undo(root) -> None:
    with Transaction(root) as run:
        stage(run)
        run.commit()
    (root / "new.py").write_bytes(b"edited\n")
    undone = undo(root)
    assert [error.key for error in undone.refused] == ["edited"] and tree(root) == {**BEFORE, "new.py": b"edited\n"}


def test_a_copy_without_one_file_and_with_another(root) -> None:
    out = root.parent / "out"
    write_copy(root, out, {"new.py": b"new\n", "gone.py": None})
    assert {name: data for name, data in tree(out).items() if name.endswith(".py")} == {
        "a.py": b"a = 1\n",
        "new.py": b"new\n",
    }
