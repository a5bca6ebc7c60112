"""Which journals count: those that porter wrote, for this user, in this place. And what came with a tree never does."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from files_world import CHECKOUT, POSIX, interrupted, make, snapshot

from porter.files.errors import FilesError
from porter.files.journal import Transaction, last_written, look, originals, recover, undo
from porter.files.read import digest
from porter.files.seal import find_secret, make_secret, seal

FOREIGN = ("foreign-journal", "damaged-journal")


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    """A state folder that is not there yet, and nobody else's."""
    monkeypatch.setenv("PORTER_STATE_DIR", str(tmp_path / "home/state"))
    return tmp_path / "home/state"


@pytest.fixture
def root(tmp_path, state) -> Path:
    make(tmp_path / "root", "a.py", "b.py", text="old")
    return tmp_path / "root"


def migrate(root: Path, **contents: bytes) -> None:
    with Transaction(root) as run:
        for name, data in contents.items():
            run.add(f"{name}.py", data)
        run.commit()


def tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def refused(action, *arguments) -> str:
    with pytest.raises(FilesError) as caught:
        action(*arguments)
    for lang in ("en", "zh"):
        assert "\n" not in caught.value.text(lang)
    return caught.value.key


def enter(root: Path, kept: bool = True) -> None:
    with Transaction(root, kept):
        pass


def assert_not_acted_upon(root: Path, *, keys=FOREIGN) -> None:
    before = snapshot(root)
    message = look(root)
    assert message is not None and message.key == "ignored-journal" and "ignored" in message.text()
    assert originals(root) == {} and last_written(root) == {}
    assert snapshot(root) == before, "reading wrote"
    files = {path: data for path, data in tree(root).items() if not path.startswith(".porter")}
    for action in (recover, undo, enter, lambda root: enter(root, False)):
        assert refused(action, root) in keys
        assert {path: data for path, data in tree(root).items() if not path.startswith(".porter")} == files


# --- journals that came with the tree


def ship(root: Path, how: str, path: str = "a.py", after: bytes = b"evil", before: bytes = b"old") -> Path:
    """What somebody who knows porter, but not the user's secret, puts into a repository."""
    run = root / ".porter/runs/0001"
    run.mkdir(parents=True)
    (run / "before").write_bytes(before)
    (run / "after").write_bytes(after)
    entry = {"path": path, "before": digest(before), "after": digest(after), "old": [0, len(before)]}
    entry |= {"new": [0, len(after)]}
    manifest = json.dumps({"undoes": "", "rest": False, "files": [entry]}).encode()
    (run / "manifest.json").write_bytes(manifest)
    (run / how).write_bytes(seal(b"guess" * 7, str(root), str(run), manifest))
    (root / ".porter/written.json").write_text(json.dumps({"a.py": digest(b"old")}))
    return run


@pytest.mark.parametrize("how", ["committed", "failed", "finished", "undone"])
@pytest.mark.parametrize("secret", [True, False])
def test_a_journal_that_came_with_the_tree_is_not_acted_upon(root, how, secret):
    if secret:
        make_secret(str(root))
    (root / "a.py").write_bytes(b"evil" if how in ("finished", "undone", "failed") else b"old")
    ship(root, how, after=b"evil")
    start = (root / "a.py").read_bytes()
    assert_not_acted_upon(root)
    assert (root / "a.py").read_bytes() == start


def test_a_journal_of_an_older_porter_is_foreign(root):
    (ship(root, "finished") / "finished").write_bytes(b"")
    assert_not_acted_upon(root)


@POSIX
@pytest.mark.parametrize("path", [".git/config", "../victim.py", "{top}/victim.py", "link/config", ".GIT/config"])
def test_nobody_is_sent_out_of_the_tree_even_with_the_secret(tmp_path, root, path):
    """The seal is not the only lock: here it is genuine."""
    make(tmp_path, "victim.py", "root/.git/config", text="old")
    (root / "link").symlink_to(".git")
    run = ship(root, "committed", path.replace("{top}", str(tmp_path)))
    manifest = (run / "manifest.json").read_bytes()
    (run / "committed").write_bytes(seal(make_secret(str(root)), str(root), str(run), manifest))
    recover(root)
    assert (root / ".git/config").read_text() == (tmp_path / "victim.py").read_text() == "old"


SWAPS = {
    "an empty file": lambda file: file.write_bytes(b""),
    "a link": lambda file: (file.rename(file.with_name("x")), file.symlink_to("x")),
    "a folder": lambda file: file.mkdir(),
    "a pipe": lambda file: os.mkfifo(file),
    "a sparse terabyte": lambda file: (file.touch(), os.truncate(file, 1 << 40)),
    "deep": lambda file: file.write_bytes(b"[" * 200_000),
    "binary": lambda file: file.write_bytes(bytes(range(256)) * 9),
    "nothing": lambda file: None,
}


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("what", SWAPS)
@pytest.mark.parametrize("name", ["committed", "manifest.json", "after"])
def test_a_genuine_journal_with_something_else_in_it(root, name, what):
    """`git pull` overwrites what is ignored: a repository may bring single files of a journal that is ours."""
    interrupted(root, {"a.py": b"new", "b.py": b"newer"}, replaced=1)
    file = root / ".porter/runs/0001" / name
    if what != "a link":
        file.unlink()
    SWAPS[what](file)
    files = {name: (root / name).read_bytes() for name in ("a.py", "b.py")}
    if name == "committed" and what == "nothing":  # a run that had not begun
        assert recover(root).key == "discarded"
    else:
        assert refused(recover, root) in FOREIGN and refused(undo, root) in FOREIGN
        assert refused(enter, root) in FOREIGN
    assert {name: (root / name).read_bytes() for name in ("a.py", "b.py")} == files


@pytest.mark.slow
@pytest.mark.parametrize("state, side", [("committed", "after"), ("finished", "before")], ids=["mend", "undo"])
def test_the_bytes_of_a_genuine_journal_are_checked_before_the_first_file_is_touched(root, state, side):
    """One bit of the last file's old or new bytes: none of the files is written."""
    if state == "committed":
        interrupted(root, {"a.py": b"new a", "b.py": b"new b"})
    else:
        migrate(root, a=b"new a", b=b"new b")
    start = {name: (root / name).read_bytes() for name in ("a.py", "b.py")}
    pack = root / ".porter/runs/0001" / side
    pack.write_bytes(pack.read_bytes()[:-1] + b"!")
    assert refused(recover if state == "committed" else undo, root) == "damaged-journal"
    assert {name: (root / name).read_bytes() for name in ("a.py", "b.py")} == start


@pytest.mark.slow
def test_a_manifest_that_was_changed_does_not_count(root):
    interrupted(root, {"a.py": b"new"})
    manifest = root / ".porter/runs/0001/manifest.json"
    manifest.write_text(manifest.read_text().replace('"a.py"', '"b.py"'))
    assert refused(recover, root) == "damaged-journal"
    assert tree(root)["b.py"] == b"old"


def test_forged_record_of_what_porter_wrote(root):
    """It would let `--inplace` take somebody's unsaved work for porter's own."""
    make_secret(str(root))
    ship(root, "finished", after=b"old")
    assert last_written(root) == {}
    shutil.rmtree(root / ".porter/runs")
    with Transaction(root) as run:
        assert run.home.written() == {}


# --- the place


def test_a_tree_that_was_renamed_keeps_its_undo(root):
    migrate(root, a=b"new")
    moved = root.rename(root.with_name("moved"))
    assert look(moved) is None and recover(moved) is None
    assert undo(moved).restored == ("a.py",) and sorted(tree(moved)) == ["a.py", "b.py"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["finished", "committed"])
def test_a_copy_of_the_tree_has_no_journal(root, how):
    if how == "finished":
        migrate(root, a=b"new")
    else:
        interrupted(root, {"a.py": b"new"})
    copy = root.with_name("copy")
    shutil.copytree(root, copy, symlinks=True)
    assert_not_acted_upon(copy)
    assert originals(root) == ({"a.py": b"old"} if how == "finished" else {})


def test_a_backup_in_the_same_place_keeps_its_undo(root):
    """Inodes are others there; the path is the same."""
    migrate(root, a=b"new")
    other = root.with_name("other")
    shutil.copytree(root, other, symlinks=True)
    shutil.rmtree(root)
    other.rename(root)
    assert undo(root).restored == ("a.py",)


def test_a_run_moved_within_the_journal_does_not_count(root):
    migrate(root, a=b"new")
    (root / ".porter/runs/0001").rename(root / ".porter/runs/0007")
    assert_not_acted_upon(root)


def test_another_user_s_secret_proves_nothing(root, tmp_path, monkeypatch):
    migrate(root, a=b"new")
    monkeypatch.setenv("PORTER_STATE_DIR", str(tmp_path / "another"))
    assert_not_acted_upon(root)


# --- the secret


@POSIX
def test_the_secret_is_made_once_and_is_the_user_s_alone(root, state):
    assert find_secret(str(root)) is None and not state.exists(), "reading makes none"
    secret = make_secret(str(root))
    assert len(secret) == 32 and make_secret(str(root)) == find_secret(str(root)) == secret
    modes = {p.relative_to(state).as_posix(): stat.S_IMODE(p.stat().st_mode) for p in [state, *state.rglob("*")]}
    assert modes == {".": 0o700, "journal": 0o700, "journal/secret": 0o600}


def spoil(state: Path, how: str) -> None:
    secret = state / "journal/secret"
    if how == "link":
        secret.rename(state / "elsewhere")
        secret.symlink_to(state / "elsewhere")
    elif how == "linked folder":
        (state / "journal").rename(state / "elsewhere")
        (state / "journal").symlink_to("elsewhere")
    elif how == "pipe":
        secret.unlink()
        os.mkfifo(secret)
    elif how == "short":
        secret.write_bytes(b"")
    elif how == "long":
        secret.write_bytes(secret.read_bytes() + b"x")
    else:
        name, mode = how.split()
        (state / {"state": "", "journal": "journal", "secret": "journal/secret"}[name]).chmod(int(mode, 8))


UNSAFE = ("link", "linked folder", "pipe", "short", "long", "state 770", "state 707", "journal 730", "secret 640")


@POSIX
@pytest.mark.parametrize("how", [*UNSAFE, "secret 602", "secret 604"])
def test_a_secret_that_others_may_know_is_not_used(root, state, how):
    migrate(root, a=b"new")
    spoil(state, how)
    for action in (make_secret, find_secret):
        assert refused(action, str(root)) in ("state", "state-shared")
    start = tree(root)
    for action in (recover, undo, enter):
        assert refused(action, root) in ("state", "state-shared")
    assert tree(root) == start and look(root).key == "ignored-journal" and originals(root) == {}


@POSIX
@pytest.mark.parametrize("place", ["", "journal", "journal/secret"])
def test_a_secret_of_another_user_is_not_used(root, state, place, monkeypatch):
    if os.geteuid() == 0:
        make_secret(str(root))
        os.chown(state / place, 12345, -1)
    else:  # who cannot give files away, but all have one that is root's
        monkeypatch.setenv("PORTER_STATE_DIR", "/usr")
    for action in (make_secret, find_secret):
        assert refused(action, str(root)) == "state-shared"


@POSIX
def test_a_state_folder_that_cannot_be_made(root, state, monkeypatch):
    state.parent.write_text("a file")
    assert refused(make_secret, str(root)) == "state" and refused(enter, root) == "state"
    assert not (root / ".porter").exists()
    monkeypatch.delenv("PORTER_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "nowhere")  # a user without a home
    assert refused(enter, root) == "state"
    assert sorted(os.listdir(root)) == ["a.py", "b.py"]


def test_a_state_folder_that_the_tree_could_have_brought(root, monkeypatch):
    """Some CI systems make the checkout the home: the secret in it may be known to whoever wrote the repository."""
    for place in (root, root / ".local/state/porter"):
        monkeypatch.setenv("PORTER_STATE_DIR", str(place))
        assert refused(enter, root) == refused(make_secret, str(root)) == "state-inside"
    assert sorted(tree(root)) == ["a.py", "b.py"] and not (root / ".local").exists()
    monkeypatch.setenv("PORTER_STATE_DIR", str(root) + "-state")
    enter(root)


def test_where_the_state_is_kept(monkeypatch, tmp_path):
    from porter.resources import state_dir

    monkeypatch.setenv("PORTER_STATE_DIR", str(tmp_path))
    assert state_dir() == tmp_path
    monkeypatch.delenv("PORTER_STATE_DIR")
    if os.name != "nt":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "x"))
        assert state_dir() == tmp_path / "x/porter"
        monkeypatch.setenv("XDG_STATE_HOME", "relative")  # the specification says to ignore it
        monkeypatch.setenv("HOME", str(tmp_path))
        assert state_dir() == tmp_path / ".local/state/porter"


@pytest.mark.slow
@POSIX
def test_porters_that_start_at_once_agree_on_one_secret(root, state):
    code = f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\nfrom porter.files.seal import make_secret\n"
    code += "sys.stdin.read()\nprint(make_secret('/nowhere').hex())"
    for _ in range(4):
        many = [
            subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(6)
        ]
        answers = {process.communicate()[0] for process in many}
        assert answers == {find_secret(str(root)).hex().encode() + b"\n"}
        assert sorted(os.listdir(state)) == ["journal"]
        shutil.rmtree(state)


# --- links and names in place of porter's own files


@POSIX
@pytest.mark.parametrize("what", [".porter", ".porter/runs"])
def test_links_in_place_of_the_journal_are_not_followed(tmp_path, what):
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    make(root, "a.py")
    make(elsewhere, "runs/0001/precious.txt", "0001/precious.txt")
    if what != ".porter":
        (root / ".porter").mkdir()
    (root / what).symlink_to(elsewhere)
    before = tree(elsewhere)
    assert look(root).key == "ignored-journal"
    for action in (enter, recover, undo):
        assert refused(action, root) == "foreign-journal"
    assert tree(elsewhere) == before


@POSIX
@pytest.mark.parametrize("how", ["link", "hard link", "pipe", "folder"])
def test_a_lock_that_is_another_file(root, how):
    """What a repository put in its place is not emptied: the lock holds the number of the process."""
    (root / ".porter").mkdir()
    lock = root / ".porter/lock"
    {
        "link": lambda: lock.symlink_to("../a.py"),
        "hard link": lambda: os.link(root / "a.py", lock),
        "pipe": lambda: os.mkfifo(lock),
        "folder": lambda: lock.mkdir(),
    }[how]()
    assert refused(enter, root) in ("journal", "foreign-journal")
    assert refused(undo, root) in ("journal", "foreign-journal")
    assert (root / "a.py").read_bytes() == b"old"


@POSIX
def test_odd_names_in_the_journal(root):
    runs = root / ".porter/runs"
    for name in ("1" * 200, "٠٠٠١", "trash-x", "trash-" + "9" * 200, "-1", "1e9"):
        (runs / name).mkdir(parents=True)
    (runs / "trash-link").symlink_to(root)
    (runs / "0001").write_text("a file")
    migrate(root, a=b"new")
    assert undo(root).restored == ("a.py",) and (root / "b.py").exists()


def test_what_is_not_porter_s_stays_in_its_folder(root):
    make(root, ".porter/notes.txt", text="mine")
    migrate(root, a=b"new")
    undo(root)
    assert (root / ".porter/notes.txt").read_text() == "mine" and not (root / ".porter/runs").exists()


@POSIX
def test_the_journal_does_not_show_others_what_they_may_not_read(root):
    (root / "a.py").chmod(0o600)
    migrate(root, a=b"new")
    assert stat.S_IMODE((root / ".porter").stat().st_mode) == 0o700


# --- without undo


def test_a_run_without_undo_keeps_nothing(root, state):
    with Transaction(root, kept=False) as run:
        run.add("a.py", b"new")
        assert run.commit() == 1
    assert sorted(os.listdir(root)) == ["a.py", "b.py"] and (root / "a.py").read_bytes() == b"new"
    assert not state.exists()
    assert refused(undo, root) == "nothing-to-undo"


def test_a_run_without_undo_is_all_or_nothing_all_the_same(root):
    with Transaction(root, kept=False) as run:
        run.add("a.py", b"new")
        run.add("b.py", b"new")
        (root / "b.py").write_bytes(b"mine")
        assert refused(run.commit) == "rolled-back"
    assert tree(root) == {"a.py": b"old", "b.py": b"mine"}


@pytest.mark.slow
@POSIX
def test_a_run_without_undo_that_was_killed_is_told(root):
    interrupted(root, {"a.py": b"new", "b.py": b"new"}, replaced=1, kept=False)
    before = snapshot(root)
    assert look(root).key == "unkept" and snapshot(root) == before
    assert recover(root).key == "unkept"
    assert tree(root) == {"a.py": b"new", "b.py": b"old"} and look(root) is None
    migrate(root, b=b"new")  # under the same name, with the same temporary files
    assert undo(root).restored == ("b.py",)


def test_a_run_without_undo_leaves_the_others_on_record(root):
    migrate(root, a=b"new")
    with Transaction(root, kept=False) as run:
        run.add("b.py", b"new")
        run.commit()
    assert undo(root).restored == ("a.py",) and tree(root) == {"a.py": b"old", "b.py": b"new"}


# --- one porter at a time, although the lock goes with the journal


@pytest.mark.slow
@POSIX
def test_entering_while_others_clear_away(root):
    """Never two at once, and nobody fails for another reason than that."""
    code = """
from porter.files.errors import FilesError
from porter.files.journal import Transaction
entered = 0
while entered < 60:
    try:
        with Transaction('.', kept=False):
            os.close(os.open('inside', os.O_CREAT | os.O_EXCL))
            os.unlink('inside')
            entered += 1
    except FilesError as error:
        assert error.key == 'locked', error
print(entered)
"""
    start = f"import os, sys\nsys.path.insert(0, {str(CHECKOUT)!r})\n"
    many = [
        subprocess.Popen([sys.executable, "-c", start + code], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    answers = [process.communicate() for process in many]
    assert answers == [(b"60\n", b"")] * 3
    assert sorted(os.listdir(root)) == ["a.py", "b.py"]


@POSIX
def test_a_lock_that_was_cleared_away_meanwhile_is_taken_anew(root, monkeypatch):
    """Its last holder removes it, and another porter makes it again, between opening and locking."""
    import fcntl

    lock, real, calls = root / ".porter/lock", fcntl.lockf, []

    def late(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            lock.rename(root / "was the lock")
            lock.touch()
        return real(*arguments)

    monkeypatch.setattr(fcntl, "lockf", late)
    with Transaction(root) as run:
        assert len(calls) == 2 and os.path.samestat(os.fstat(run.lock.descriptor), lock.stat())


# --- what is on the disk before what


@POSIX
def test_whatever_a_run_needs_is_on_the_disk_before_the_file_that_says_so(root, monkeypatch, needs_linux):
    """The calls themselves, in their order: old and new bytes, manifest, the folders that name them, the state; then
    each file's new bytes before its name, and the names before the next state."""
    events = []
    fsync, replace, rename = os.fsync, os.replace, os.rename

    def name(descriptor: int) -> str:
        return os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), root)

    def synced(descriptor):
        events.append(("sync", name(descriptor), os.fstat(descriptor).st_size))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append(("name", os.path.relpath(b, root))), replace(a, b)))
    monkeypatch.setattr(os, "rename", lambda a, b: (events.append(("name", os.path.relpath(b, root))), rename(a, b)))
    make_secret(str(root))
    events.clear()
    migrate(root, a=b"new a", b=b"new b")
    run = ".porter/runs/0001"
    synced_at = {event[1]: number for number, event in enumerate(events) if event[0] == "sync"}
    first = {event[1]: number for number, event in reversed(list(enumerate(events))) if event[0] == "sync"}
    named = {event[1]: number for number, event in enumerate(events) if event[0] == "name"}
    begun = named[f"{run}/committed"]
    for pack, size in (("before", 6), ("after", 10)):
        assert ("sync", f"{run}/{pack}", size) in events and first[f"{run}/{pack}"] < begun
    assert first[f"{run}/manifest.json.tmp"] < named[f"{run}/manifest.json"] < first[run] < begun
    for folder in (".porter/runs", ".porter", "."):
        assert first[folder] < begun, folder
    assert first[f"{run}/committed.tmp"] < begun
    flushed = next(n for n, event in enumerate(events) if n > begun and event[:2] == ("sync", run))
    for number, file in enumerate(("a.py", "b.py")):
        assert flushed < first[f".porter-0001-{number}.tmp"] < named[file] < synced_at["."] < named[f"{run}/finished"]
    assert events[-1][:2] == ("sync", run)
