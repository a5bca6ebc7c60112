from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from files_world import CHECKOUT, POSIX, as_user, common_folder, forked, git, interrupted, make, python

from porter.files.errors import FilesError
from porter.files.journal import Transaction, Undone, last_written, recover, undo
from porter.files.read import digest
from porter.files.write import write

ROUND = "from porter.files.journal import Transaction, recover, undo\nfrom porter.files.read import read, digest\n"


def migrate(root: Path, contents: dict[str, bytes]) -> None:
    with Transaction(root) as run:
        for path, data in contents.items():
            run.add(path, data, digest((root / path).read_bytes()))
        run.commit()


def tree(root: Path) -> dict[str, bytes]:
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and ".porter" not in p.relative_to(root).parts
    }


# --- one file


@POSIX
def test_write_keeps_mode_and_follows_a_link_inside(tmp_path):
    make(tmp_path, "a.py", "sub/b.py")
    (tmp_path / "a.py").chmod(0o755)
    (tmp_path / "link.py").symlink_to("a.py")
    write(tmp_path, "link.py", b"new\n")
    assert (tmp_path / "link.py").is_symlink() and (tmp_path / "a.py").read_bytes() == b"new\n"
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o755
    assert sorted(os.listdir(tmp_path)) == ["a.py", "link.py", "sub"]
    if hasattr(os, "setxattr"):
        try:
            os.setxattr(tmp_path / "a.py", "user.kind", b"x")
        except OSError:
            return
        write(tmp_path, "a.py", b"newer\n")
        assert os.getxattr(tmp_path / "a.py", "user.kind") == b"x"


@POSIX
@pytest.mark.parametrize("via", ["write", "add"])
def test_what_is_not_written(tmp_path, via):
    root = tmp_path / "root"
    make(root, "ok.py", "read.py", "changed.py", ".git/config", "venv/lib/site-packages/m.py")
    make(tmp_path, "outside.py")
    (root / "read.py").chmod(0o444)
    (root / "out.py").symlink_to("../outside.py")
    (root / "config.py").symlink_to(".git/config")
    (root / "loop.py").symlink_to("loop.py")
    (root / "folder.py").mkdir()
    before = {p: digest(b"import torch\n") for p in ("read.py", "out.py", "config.py")} | {"changed.py": digest(b"x")}
    expected = {
        "read.py": "read-only",
        "out.py": "outside",
        "../outside.py": "outside",
        "config.py": "protected",
        ".git/config": "protected",
        "venv/lib/site-packages/m.py": "protected",
        "changed.py": "changed",
        "gone.py": "vanished",
        "loop.py": "special",
        "folder.py": "special",
    }
    found = {}
    with Transaction(root) as run:
        for path in expected:
            with pytest.raises(FilesError) as caught:
                if via == "write":
                    write(root, path, b"new", before=before.get(path))
                else:
                    run.add(path, b"new", before.get(path))
            found[path] = caught.value.key
            assert caught.value.path == path and "\n" not in caught.value.text()
        run.commit()
    assert found == expected
    assert b"new" not in tree(tmp_path).values()
    assert (root / "read.py").read_bytes() == (tmp_path / "outside.py").read_bytes() == b"import torch\n"


@pytest.mark.slow
@POSIX
def test_a_folder_without_write_permission():
    with common_folder() as folder:
        make(folder, "locked/a.py", "b.py")
        (folder / "locked").chmod(0o555)
        code = (
            ROUND + "with Transaction('.') as run:\n    run.add('b.py', b'new')\n    try:\n"
            "        run.add('locked/a.py', b'new')\n    except Exception as e:\n        print(e)\n"
            "    print(run.commit(), sorted(os.listdir('locked')))"
        )
        first, second = as_user(folder, code).splitlines()
        assert first.startswith("locked/a.py: its folder cannot be written to;")
        assert second == "1 ['a.py']"
        (folder / "locked").chmod(0o755)
        shutil.rmtree(folder / ".porter")
        folder.chmod(0o555)
        code = ROUND + "try:\n    with Transaction('.') as run: pass\nexcept Exception as e:\n    print(e)\n"
        assert as_user(folder, code).startswith(".porter: porter's journal cannot be written: Permission denied")


# --- many files


def test_a_run_and_its_undo(tmp_path):
    make(tmp_path, "a.py", "b.py", "c.py")
    (tmp_path / "a.py").chmod(0o755)
    start = tree(tmp_path)
    git(tmp_path, "init", "-q")
    migrate(tmp_path, {"a.py": b"A", "b.py": b"B"})
    assert tree(tmp_path)["a.py"] == b"A" and stat.S_IMODE((tmp_path / "a.py").stat().st_mode) & 0o100
    assert last_written(tmp_path) == {"a.py": digest(b"A"), "b.py": digest(b"B")}
    assert ".porter" not in git(tmp_path, "status", "--porcelain", "-uall").stdout.decode()
    assert recover(tmp_path) is None
    migrate(tmp_path, {"b.py": b"BB", "c.py": b"C"})
    assert undo(tmp_path).restored == ("b.py", "c.py")
    # b is again as porter's first run left it, c was never porter's
    assert last_written(tmp_path) == {"a.py": digest(b"A"), "b.py": digest(b"B")}
    (tmp_path / "b.py").write_bytes(b"mine")
    undone = undo(tmp_path)
    assert undone.restored == ("a.py",) and [e.key for e in undone.refused] == ["edited"]
    assert {k: v for k, v in tree(tmp_path).items() if not k.startswith(".git/")} == start | {"b.py": b"mine"}
    # what was left alone can be put back later, and then nothing of porter's remains
    assert undo(tmp_path).restored == () and (tmp_path / "b.py").read_bytes() == b"mine"
    (tmp_path / "b.py").write_bytes(b"B")
    assert undo(tmp_path).restored == ("b.py",)
    assert {k: v for k, v in tree(tmp_path).items() if not k.startswith(".git/")} == start
    assert not (tmp_path / ".porter").exists()
    with pytest.raises(FilesError, match="to undo"):
        undo(tmp_path)
    assert not (tmp_path / ".porter").exists()


@pytest.mark.slow
def test_undo_of_a_file_that_is_gone_and_runs_that_were_forgotten(tmp_path):
    make(tmp_path, "a.py", "b.py", text="0")
    for number in range(1, 9):
        migrate(tmp_path, {"a.py": b"%d" % number})
    assert len(list((tmp_path / ".porter/runs").iterdir())) == 5
    for expected in (b"7", b"6", b"5", b"4", b"3"):
        undo(tmp_path)
        assert (tmp_path / "a.py").read_bytes() == expected
    with pytest.raises(FilesError, match="to undo"):
        undo(tmp_path)
    migrate(tmp_path, {"a.py": b"x", "b.py": b"y"})
    (tmp_path / "b.py").unlink()
    undone = undo(tmp_path)
    assert undone.restored == ("a.py",) and [(e.key, e.path) for e in undone.refused] == [("vanished", "b.py")]


def test_without_commit_nothing_remains(tmp_path):
    make(tmp_path, "a.py")
    with pytest.raises(ZeroDivisionError), Transaction(tmp_path) as run:
        run.add("a.py", b"new")
        1 / 0  # noqa: B018
    with Transaction(tmp_path) as run:
        assert run.recovered is None
        assert run.commit() == 0
    assert tree(tmp_path) == {"a.py": b"import torch\n"}
    assert os.listdir(tmp_path) == ["a.py"]


@POSIX
def test_names_that_are_no_utf8_go_through_the_journal(tmp_path):
    name = os.fsdecode(b"caf\xe9\n.py")
    (tmp_path / name).write_bytes(b"old")
    migrate(tmp_path, {name: b"new"})
    assert last_written(tmp_path) == {name: digest(b"new")}
    assert undo(tmp_path).restored == (name,)
    assert (tmp_path / name).read_bytes() == b"old"


def test_a_file_changed_between_add_and_commit_stops_the_run(tmp_path):
    make(tmp_path, "a.py", "b.py", "c.py")
    with Transaction(tmp_path) as run:
        for name in ("a.py", "b.py", "c.py"):
            run.add(name, b"new")
        (tmp_path / "b.py").write_bytes(b"mine")
        with pytest.raises(FilesError) as caught:
            run.commit()
    assert caught.value.key == "rolled-back" and caught.value.text().count("b.py") == 1
    assert tree(tmp_path) == {"a.py": b"import torch\n", "b.py": b"mine", "c.py": b"import torch\n"}
    assert last_written(tmp_path) == {} and recover(tmp_path) is None


FULL = (
    ROUND
    + """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Transaction('.') as run:
    for name in sorted(os.listdir('src')):
        run.add('src/' + name, b'n' * int(sys.argv[1 + (name == 'm05.py')]))
    if sys.argv[3] == 'late':
        commit, sys.argv = run.commit, sys.argv
        settle = type(run.run).settle
        def limited(self, side, strict=False):
            if strict:
                resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            return settle(self, side, strict)
        type(run.run).settle = limited
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    try:
        run.commit()
    except Exception as error:
        print(error.key, error.path, error)
"""
)


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("when, key", [("early", "journal"), ("late", "rolled-back")])
def test_no_room_for_one_of_the_files(tmp_path, when, key):
    make(tmp_path, *(f"src/m{n:02}.py" for n in range(10)))
    start = tree(tmp_path)
    run = python(FULL, 100, 5000, when, cwd=tmp_path)
    where = ".porter" if when == "early" else "src/m05.py"
    assert run.stdout.startswith(f"{key} {where} {where}: ") and "File too large" in run.stdout, run.stderr
    assert tree(tmp_path) == start
    assert recover(tmp_path) is None
    migrate(tmp_path, {"src/m00.py": b"fine"})


@pytest.mark.slow
def test_two_at_a_time(tmp_path):
    make(tmp_path, "a.py", "b.py")
    second = ROUND + "try:\n    Transaction('.').__enter__()\nexcept Exception as e:\n    print(e)\n"
    with Transaction(tmp_path) as run:
        run.add("a.py", b"new")
        answer = python(second, cwd=tmp_path)
        assert answer.stdout == (
            f".porter: another porter process (pid {os.getpid()}) is writing here; wait for it to end\n"
        ), answer.stderr
        assert python(ROUND + "try:\n    recover('.')\nexcept Exception as e:\n    print(e.key)", cwd=tmp_path).stdout
        with pytest.raises(FilesError, match="another porter process"):
            undo(tmp_path)
        run.commit()
    assert (tmp_path / "a.py").read_bytes() == b"new"
    assert python(second, cwd=tmp_path).stdout == ""


@pytest.mark.slow
@POSIX
def test_two_at_a_time_where_the_file_system_has_no_locks(tmp_path):
    make(tmp_path, "a.py")
    without = "sys.modules['fcntl'] = None\n" + ROUND
    second = (
        without + "try:\n    Transaction('.').__enter__()\n    print('in')\nexcept Exception as e:\n    print(e.key)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\n" + without
         + "Transaction('.').__enter__()\nprint('held', flush=True)\nsys.stdin.read()"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout.readline() == b"held\n"
    assert python(second, cwd=tmp_path).stdout == "locked\n"
    holder.kill()
    holder.communicate()
    # the pid of a dead process keeps nobody out
    assert python(second, cwd=tmp_path).stdout == "in\n"


# --- what an interrupted run leaves

MANY = 120
VICTIM = (
    ROUND
    + """
with Transaction('.') as run:
    print('start', flush=True)
    for number in range(len(sys.argv) - 1):
        run.add(f'd{number % 7}/m{number}.py', (f'new {number}\\n' * 20).encode(), sys.argv[1 + number])
    run.commit()
"""
)
NEXT = ROUND + "message = recover('.')\nprint(message.text() if message else '')\n"


@pytest.mark.slow
@POSIX
def test_kill_at_random_points(in_memory):
    """Every file is old or new, and the next command makes that all old or all new."""
    tmp_path = in_memory
    files = {f"d{n % 7}/m{n}.py": (f"old {n}\n" * 30).encode() for n in range(MANY)}
    new = {f"d{n % 7}/m{n}.py": (f"new {n}\n" * 20).encode() for n in range(MANY)}
    digests = [digest(data) for data in files.values()]
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
        (tmp_path / path).chmod(0o755)
    dice, outcomes, whole, mixed = random.Random(), [], 0.0, 0
    command = [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\n" + VICTIM, *digests]
    for round_number in range(51):
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)
        process.stdout.readline()
        began = time.perf_counter()
        if round_number:
            time.sleep(dice.uniform(0, whole * 1.1))
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        whole = whole or time.perf_counter() - began
        now = tree(tmp_path)
        stray = {path for path in now if path not in files}
        assert all(Path(path).name.startswith(".porter-") for path in stray)
        assert all(now[path] in (files[path], new[path]) for path in files)
        changed = sum(now[path] == new[path] for path in files)
        mixed += 0 < changed < MANY
        if round_number % 2:
            message = recover(tmp_path)
        else:
            with Transaction(tmp_path) as run:
                message = run.recovered
        after = tree(tmp_path)
        assert after == new if changed else after in (files, new)
        assert (message is not None) or changed in (0, MANY)
        assert recover(tmp_path) is None
        assert all(stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o755 for path in files)
        outcomes.append(after == new)
        if after == new:
            assert last_written(tmp_path) == {path: digest(data) for path, data in new.items()}
            assert len(undo(tmp_path).restored) == MANY
        assert tree(tmp_path) == files and last_written(tmp_path) == {}
    assert mixed >= 5 and 5 < sum(outcomes[1:]) < 50, (mixed, outcomes)


STEPS = """
import itertools
calls, at = itertools.count(), int(sys.argv[1])
def dying(function):
    def call(*arguments, **options):
        if next(calls) == at:
            os.kill(os.getpid(), 9)
        return function(*arguments, **options)
    return call
for name in ("open", "replace", "rename", "unlink", "fsync", "mkdir", "rmdir"):
    setattr(os, name, dying(getattr(os, name)))
"""


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("action", ["migrate", "undo", "recover", "put-back"])
def test_kill_before_every_single_step(in_memory, action):
    """Not at random: dies before the first, the second, the third ... system call that changes something."""
    files, new = {f"m{n}.py": b"old %d" % n for n in range(4)}, {f"m{n}.py": b"new %d" % n for n in range(4)}
    migration = "with Transaction('.') as run:\n    for n in range(4): run.add(f'm{n}.py', b'new %d' % n)\n"
    third = "import porter.files.write as w\nreplace = os.replace\n"
    third += (
        "def dying(a, b):\n    os.kill(os.getpid(), 9 * b.endswith('m2.py')) or replace(a, b)\nos.replace = dying\n"
    )
    half = third + migration + "    run.commit()\n"
    code = ROUND + STEPS
    if action == "put-back":
        spoil = "    (lambda f: f.write(b'mine'))(open('m2.py', 'wb', 0))\n    try:\n        run.commit()\n"
        code += migration + spoil + "    except Exception as e:\n        print(e.key)\n"
    else:
        code += {"migrate": migration + "    run.commit()\n", "undo": "undo('.')\n", "recover": "recover('.')\n"}[
            action
        ]
    step, dead = 0, True
    while dead:
        root = in_memory / str(step)
        root.mkdir()
        for path, data in files.items():
            (root / path).write_bytes(data)
        if action == "undo":
            migrate(root, new)
        elif action == "recover":
            assert forked(ROUND + half, cwd=root) == -signal.SIGKILL
            assert [tree(root)[path] == new[path] for path in files] == [True, True, False, False]
        status = forked(code, step, cwd=root)
        dead = status == -signal.SIGKILL
        assert dead or status == 0
        message = recover(root)
        now = tree(root)
        if action == "put-back" and now["m2.py"] == b"mine":
            now["m2.py"] = (files if now["m3.py"] == files["m3.py"] else new)["m2.py"]  # mine in either case
        assert now in (files, new), (step, message and message.text())
        assert recover(root) is None
        if not dead:
            assert now == (new if action in ("migrate", "recover") else files)
        if now == new:
            undone = undo(root)
            assert len(undone.restored) == (4 if action != "put-back" else 3)
            if undone.refused:  # mine
                (root / "m2.py").write_bytes(files["m2.py"])
        with suppress(FilesError):  # killed after the files and before the record
            assert undo(root) == Undone()
        with pytest.raises(FilesError, match="to undo"):
            undo(root)
        assert sorted(os.listdir(root)) == sorted(files)
        step += 1
    assert step > 10


@pytest.mark.slow
def test_recover_says_in_one_line_what_it_did(tmp_path):
    make(tmp_path, "a.py", "b.py", "c.py", text="old")
    interrupted(tmp_path, {name: b"new" for name in ("a.py", "b.py", "c.py")})
    (tmp_path / "b.py").write_bytes(b"mine")
    message = recover(tmp_path)
    assert message.text() == ("an interrupted run was finished: 2 files are ported; changed since and left alone: b.py")
    assert "b.py" in message.text("zh")
    assert list(tree(tmp_path).values()) == [b"new", b"mine", b"new"]
    assert recover(tmp_path) is None


@pytest.mark.slow
@POSIX
def test_a_pool_started_while_the_lock_is_held_does_not_keep_it(tmp_path):
    make(tmp_path, "a.py")
    code = (
        ROUND + "run = Transaction('.').__enter__()\nif os.fork() == 0:\n    os.close(1)\n    os.close(2)\n"
        "    import time\n    time.sleep(20)\n    os._exit(0)\nos.kill(os.getpid(), 9)\n"
    )
    python(code, cwd=tmp_path)
    with Transaction(tmp_path):
        pass
