"""`porter fleet` as a user runs it, on this machine: results, resumption, and what is hostile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time

import pytest
from command_line import TESTED, Porter, with_rules
from fleet_world import FLASH, TRAIN, committed, git, repositories, result_bytes, served, silent, tarred, written

pytestmark = pytest.mark.slow


@pytest.fixture
def porter(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTED))
    folder = tmp_path / "here"
    repositories(folder / "repos", "plain", "train", "flash")  # each is analysed by a process of its own
    with_rules(tmp_path / "cache")
    return Porter(monkeypatch, folder)


def fleet(porter: Porter, listed: str, *more: str, code: int = 0, output: str = "out") -> list[dict]:
    """What --progress json says of each repository, by name; the files are in `output`."""
    answer = porter("fleet", listed, "-o", output, "--progress", "json", *more)
    assert (answer.code, answer.err) == (code, ""), answer
    events = [json.loads(line) for line in answer.text.splitlines()]
    assert events[0]["event"] == "begin" and len(events) == 1 + events[0]["total"]
    return events[1:]


def states(events: list[dict]) -> dict[str, str]:
    return {event["name"]: event["state"] for event in events}


def reasons(events: list[dict]) -> dict[str, str]:
    return {event["name"]: event["why"]["en"] for event in events if event["why"]}


def test_each_is_analysed_as_it_is_alone_and_the_bytes_are_the_same_for_any_number_of_workers(porter):
    written(porter.folder / "repos" / "train", {"porter.toml": 'ignore = ["PRT130"]\ntarget = "torch_npu=2.1"\n'})
    porter("analyze", "repos/flash", "--write-baseline", "repos/flash/known.json")
    written(porter.folder / "repos" / "flash", {"porter.toml": 'baseline = "known.json"\nlang = "zh"\n'})
    assert set(states(fleet(porter, "repos", "-j", "1")).values()) == {"done"}
    fleet(porter, "repos", "-j", "3", output="again")
    found = result_bytes(porter.folder / "out")
    assert found == result_bytes(porter.folder / "again") and len(found) == 3 + 3 * 3
    document = json.loads(found["fleet.json"])
    for row in document["repositories"]:
        porter("analyze", f"repos/{row['name']}", "-o", "alone.json", "-o", "alone.html", "-q")
        for alone, name in (("alone.json", "findings.json"), ("alone.html", "report.html")):
            assert (porter.folder / alone).read_bytes() == found[f"repositories/{row['id']}/{name}"], row["name"]
    assert json.loads(
        (porter.folder / "out" / document["repositories"][0]["report"]).with_name("findings.json").read_bytes()
    )


def test_what_is_whole_is_not_done_again_until_its_input_its_settings_or_porter_change(porter):
    fleet(porter, "repos")
    before = result_bytes(porter.folder / "out")
    assert set(states(fleet(porter, "repos")).values()) == {"kept"}
    assert result_bytes(porter.folder / "out") == before
    written(porter.folder / "repos" / "train", {"train.py": TRAIN + "x = 1\n"})
    written(porter.folder / "repos" / "flash", {"porter.toml": 'ignore = ["PRT401"]\n'})
    found = states(fleet(porter, "repos"))
    assert {name for name, state in found.items() if state == "done"} == {"train", "flash"}
    assert set(states(fleet(porter, "repos", "--target", "soc=910")).values()) == {"done"}
    name = next((porter.folder / "out" / "repositories").iterdir())
    row = json.loads((name / "row.json").read_bytes())
    (name / "row.json").write_text(json.dumps({**row, "key": "of another porter"}))
    assert sorted(states(fleet(porter, "repos", "--target", "soc=910")).values()) == ["done"] + ["kept"] * 2


def test_all_kinds_of_input(porter):
    here = porter.folder
    commit = committed(here / "origin", {"train.py": TRAIN})
    committed(here / "origin", {"train.py": FLASH})
    git(here, "clone", "-q", "--bare", str(here / "origin"), str(here / "bare.git"))
    (here / "web").mkdir()
    tarred(here / "web" / "model.tar.gz", {"train.py": TRAIN.encode()}, "model/")
    tarred(here / "flat.tgz", {"train.py": TRAIN.encode()})
    (here / "list.toml").write_text(
        f'[[repository]]\nsource = "bare.git"\nrevision = "{commit}"\nname = "old"\n[[repository]]\nsource = "file://{here}/origin"\n'
        '[[repository]]\nsource = "flat.tgz"\n[[repository]]\nsource = "URL/model.tar.gz"\n'
    )
    with served(here / "web") as url:
        text = (here / "list.toml").read_text().replace("URL", url)
        (here / "list.toml").write_text(text)
        assert states(fleet(porter, "list.toml")) == {"old": "done", "origin": "done", "flat": "done", "model": "done"}
        assert set(states(fleet(porter, "list.toml")).values()) == {"kept"}
    rows = {row["name"]: row for row in json.loads((here / "out" / "fleet.json").read_bytes())["repositories"]}
    assert rows["old"]["commit"] == commit and rows["old"]["stage"] == "clear" and rows["origin"]["blockers"] == 1
    git(here, "clone", "-q", str(here / "bare.git"), str(here / "alone" / "bare"))
    git(here / "alone" / "bare", "checkout", "-q", commit)
    porter("analyze", "alone/bare", "-o", "alone.json", "-q")
    assert (here / "alone.json").read_bytes() == (here / "out" / rows["old"]["report"]).with_name(
        "findings.json"
    ).read_bytes()


def test_a_repository_may_be_named_as_the_files_of_the_work_are(porter):
    for name in ("result", "answer", "errors", "empty", "fetched"):
        tarred(porter.folder / f"{name}.tgz", {"train.py": TRAIN.encode()})
    committed(porter.folder / "result", {"train.py": TRAIN})
    (porter.folder / "list.txt").write_text(
        "result.tgz name=a\nanswer.tgz\nerrors.tgz\nempty.tgz\nfetched.tgz\nresult revision=main\n"
    )
    assert set(states(fleet(porter, "list.txt")).values()) == {"done"}


def test_hostile_entries_are_one_clear_row_each_and_stop_nobody(porter):
    here = porter.folder
    tarred(here / "climbs.tar.gz", {"../../evil.py": b"x"})
    with (here / "bomb.tar").open("wb") as stream:  # a name of three gigabytes, in a file with a hole
        info = tarfile.TarInfo("x")
        info.type, info.size = tarfile.GNUTYPE_LONGNAME, 3_000_000_000
        stream.write(info.tobuf(tarfile.GNU_FORMAT))
        stream.truncate(3_000_100_000)
    sparse = written(here / "sparse", {"train.py": TRAIN})
    for name in ("weights.bin", "huge.py", "huge.json"):
        with (sparse / name).open("wb") as stream:
            stream.truncate(5_000_000_000)
    os.mkfifo(sparse / "pipe.py")
    os.symlink("/dev/zero", sparse / "zero.py")
    written(here / "settings", {"porter.toml": "unknown = 1\n", "train.py": TRAIN})
    written(here / "other" / "train", {"train.py": FLASH})
    (here / "list.txt").write_text(
        "repos/train\nother/train\nclimbs.tar.gz\nbomb.tar\nsparse\nsettings\n"
        "https://127.0.0.1:1/none.git\nwhat is this\nrepos/gone\nrepos/train\n"
    )
    events = fleet(porter, "list.txt", "--memory", "1", "-j", "2", code=1)
    told = {event["place"]: event["why"]["en"] if event["why"] else event["state"] for event in events}
    assert {place: told[f"list.txt:{place}"] for place in (1, 2, 5)} == dict.fromkeys((1, 2, 5), "done")
    for place, why in {
        3: "the archive is refused: '../../evil.py' leads out of its folder",
        4: "it needs more memory than 1 GB (--memory)",
        6: "porter.toml:1: unknown key 'unknown'",
        7: "git cannot fetch it: fatal: ",
        8: "'is' is not understood; write SOURCE",
        9: "no such folder or archive",
        10: "named before, in list.txt:1",
    }.items():
        assert told[f"list.txt:{place}"].startswith(why), (place, told[f"list.txt:{place}"])
    assert not (here / "evil.py").exists() and len(list((here / "out" / "repositories").iterdir())) == 3
    assert (here / "out" / "index.html").read_text("utf-8").count('class="stage-failed"') == 7


def test_one_that_hangs_is_ended_with_all_that_it_started(porter, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    with silent() as port:
        (porter.folder / "list.txt").write_text(f"git://127.0.0.1:{port}/hangs\n")
        found = reasons(fleet(porter, "list.txt", "--timeout", "5", code=1))
    assert found == {"hangs": "not done after 5 s (--timeout)"} and os.listdir(tmp_path / "scratch") == []


def run(porter: Porter, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "porter", "fleet", "repos", "-o", "out", "--progress", "json", "-j", "1", *more]
    return subprocess.Popen(command, cwd=porter.folder, stdout=subprocess.PIPE)


def test_after_a_kill_the_rest_is_done_and_nothing_twice(porter, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    repositories(porter.folder / "repos", "scatter")
    fleet(porter, "repos", output="whole")
    whole = result_bytes(porter.folder / "whole")
    with run(porter) as process:
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        while not list((tmp_path / "scratch").glob("*/errors")):
            time.sleep(0.01)  # until the next one is at work
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
    first = {line["name"] for line in lines[1:]}
    assert not (porter.folder / "out" / "fleet.json").exists()
    for folder in (porter.folder / "out" / "repositories").iterdir():
        assert sorted(os.listdir(folder)) == ["findings.json", "report.html", "row.json"]
    deadline = time.monotonic() + 60
    while os.listdir(tmp_path / "scratch") and time.monotonic() < deadline:
        time.sleep(0.1)  # what was at work ends with the one that started it, and takes its files along
    assert os.listdir(tmp_path / "scratch") == []
    found = states(fleet(porter, "repos"))
    assert all(found[name] == "kept" for name in first) and sum(state == "done" for state in found.values()) >= 2
    assert result_bytes(porter.folder / "out") == whole


def test_an_interrupt_ends_all_that_was_started(porter, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    with silent() as port:
        (porter.folder / "repos.txt").write_text(f"git://127.0.0.1:{port}/hangs\n")
        command = [sys.executable, "-m", "porter", "fleet", "repos.txt", "-o", "out", "-q"]
        process = subprocess.Popen(command, cwd=porter.folder, stderr=subprocess.PIPE)
        while not os.listdir(tmp_path / "scratch"):
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        process.stderr.close()
    assert os.listdir(tmp_path / "scratch") == []


def test_what_an_earlier_run_made_stays_when_it_cannot_be_had_again(porter):
    committed(porter.folder / "origin", {"train.py": TRAIN})
    (porter.folder / "list.txt").write_text(f"file://{porter.folder}/origin revision=main\n")
    fleet(porter, "list.txt")
    before = result_bytes(porter.folder / "out" / "repositories")
    (porter.folder / "origin").rename(porter.folder / "away")
    committed(porter.folder / "origin", {"x.py": ""})
    git(porter.folder / "origin", "branch", "-m", "other")
    assert "revision 'main'" in reasons(fleet(porter, "list.txt", code=1))["origin"]
    assert result_bytes(porter.folder / "out" / "repositories") == before
    (porter.folder / "origin").rename(porter.folder / "gone")
    (porter.folder / "away").rename(porter.folder / "origin")
    assert states(fleet(porter, "list.txt")) == {"origin": "kept"}


def test_somebody_elses_folder_is_left_alone(porter):
    answer = porter("fleet", "repos", "-o", "repos/train")
    assert (
        answer.code == 2
        and "did not write" in answer.err
        and os.listdir(porter.folder / "repos" / "train") == ["train.py"]
    )
    for option, why in (
        (("--progress", "x"), "none of text, json"),
        (("--target", "soc=x"), "is none of"),
        (("--against", "no"), "no"),
    ):
        assert porter("fleet", "repos", "-o", "out", *option).code == 2, why
    assert not (porter.folder / "out").exists()


def test_the_terminal_in_both_languages_and_the_trend(porter):
    repositories(porter.folder / "repos", "both")
    answer = porter("fleet", "repos", "-o", "out")
    assert answer.code == 0 and "4 repositories: " in answer.text and "page: out/index.html" in answer.text
    assert "2 of 4 wait for flash-attn" in answer.text
    written(porter.folder / "repos" / "flash", {"train.py": TRAIN})
    answer = porter("fleet", "repos", "-o", "new", "--against", "out", "--lang", "zh")
    assert "4 个仓库" in answer.text and "flash-attn" in answer.text
    rows = {row["name"]: row for row in json.loads((porter.folder / "new" / "fleet.json").read_bytes())["repositories"]}
    assert rows["flash"]["trend"]["blockers"] == -1 and rows["train"]["trend"]["percent"] == 0
    findings = json.loads((porter.folder / "new" / rows["flash"]["report"]).with_name("findings.json").read_bytes())
    assert findings["language"] == "zh"


def test_only_fetching_uses_the_network_and_ray_is_not_imported_unasked(porter, monkeypatch):
    """With a resolver and sockets that refuse everything, local folders and archives are analysed all the same."""
    tarred(porter.folder / "a.tgz", {"train.py": TRAIN.encode()})
    (porter.folder / "list.txt").write_text("repos/train\na.tgz\n")
    site = written(porter.folder.parent / "site", {"sitecustomize.py": (
        "import socket, sys\n"
        "def no(*a, **k): raise OSError('no network here')\n"
        "socket.socket.connect = socket.getaddrinfo = no\n"
        "sys.modules['ray'] = sys.modules['fsspec'] = None\n"
    )})  # fmt: skip
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(TESTED)]))
    assert set(states(fleet(porter, "list.txt")).values()) == {"done"}


def test_nothing_of_a_repository_or_beside_it_is_imported(porter):
    evil = {"json.py": "raise SystemExit('mine')\n", "sitecustomize.py": "raise SystemExit('mine')\n"}
    written(porter.folder, evil)
    written(porter.folder / "repos" / "train", evil)
    assert set(states(fleet(porter, "repos")).values()) == {"done"}
