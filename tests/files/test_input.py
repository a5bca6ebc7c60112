"""What porter is given to read: special files, files without an end, nesting without a bottom. One line, and never a hang."""

from __future__ import annotations

import ast
import gzip
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from drawn import share
from files_world import CHECKOUT, POSIX, TESTED, forked, make

from porter.analysis.session import open_session
from porter.files.errors import FilesError
from porter.files.read import beginning, read
from porter.run.config import Settings
from porter.run.run import run

HANG = 120  # seconds after which a command counts as hanging: no measure of speed
EDIT = "import torch\ntorch.zeros(3).cuda()\n"


DRIVER = """
import json, resource, signal
from pathlib import Path
import pytest
from command_line import Porter
signal.alarm(int(sys.argv[3]))
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
with pytest.MonkeyPatch.context() as patch, open(sys.argv[2], "w", encoding="utf-8") as answers:
    porter = Porter(patch, Path.cwd())
    for words in json.loads(sys.argv[1]):
        answer = porter(*words)
        print(json.dumps([answer.code, answer.out.decode("utf-8", "replace"), answer.err]), file=answers, flush=True)
"""


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def refused(self) -> bool:
        return self.code == 2 and self.err.count("\n") == 1 and not self.out


def porter(root: Path, *commands: list[str]) -> list[Answer]:
    """Several commands in one process of their own: what hangs, or takes the machine's memory, is ended with it."""
    said = root.parent / "answers"
    ended = forked(DRIVER, json.dumps(commands), said, HANG, cwd=root)
    answers = [Answer(*json.loads(line)) for line in said.read_text(encoding="utf-8").splitlines()]
    assert len(answers) == len(commands), ended
    return answers


def analysed(root: Path) -> dict[str, set[tuple[str, str]]]:
    """(code, message) of each file of a project."""
    found = run(root, [str(root)], Settings(jobs=1), open_session())
    return {file.path: {(f.code, f.why) for f in file.findings} for file in found.files}


@pytest.fixture
def repo(tmp_path) -> Path:
    root = tmp_path / "repo"
    make(root, "a.py", text=EDIT)
    (root / ".git").mkdir()
    return root


# ---- special files

KINDS = {
    "fifo": os.mkfifo if hasattr(os, "mkfifo") else None,
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(os.path.relpath(path)),
    "device": lambda path: os.symlink("/dev/zero", path),
    "proc": lambda path: os.symlink("/proc/kcore", path),
    "folder": os.mkdir,
    "loop": lambda path: os.symlink(os.path.basename(path), path),
}
READ = (
    ".gitignore", "setup.py", "setup.cfg", "requirements.txt", "environment.yml", "b.py", "b.ipynb",
    "train.sh", "Makefile", "Dockerfile", "a.yaml", "a.json", "a.ini", "kernel.cu", "train", "version.py", "requirements/a.txt",
)  # fmt: skip


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_none_neither_hangs_nor_ends_a_run(repo, kind, monkeypatch):
    """In the place of any file that porter looks for, it is passed by; in that of the configuration, one line says so."""

    def put(place: str) -> None:
        (repo / place).parent.mkdir(exist_ok=True, parents=True)
        monkeypatch.chdir((repo / place).parent)
        KINDS[kind](repo / place)

    for name in READ:
        put(name)
    for number, name in enumerate((".git", ".git/info/exclude", ".git/HEAD", "pyproject.toml", "porter.toml")):
        make(repo, f"sub{number}/a.py", text=EDIT)
        put(f"sub{number}/{name}")
        (repo / f"sub{number}/.git").mkdir(exist_ok=True) if name.endswith(".toml") else None
    whole = ["analyze", ".", "--no-cache", "--format", "json", "--exclude", "sub*"]
    *alone, all_of_it = porter(repo, *(["analyze", f"sub{number}/a.py", "--no-cache"] for number in range(5)), whole)
    for answer, name in zip(alone, ["", "", "", "pyproject.toml", "porter.toml"]):
        if name and kind != "folder":  # which nobody takes for a configuration
            assert answer.refused and name in answer.err, answer
        else:
            assert answer.code == 1 and not answer.err, answer
    assert all_of_it.code == 1, all_of_it.err
    assert "a.py" in {f["path"] for f in json.loads(all_of_it.out)["findings"]}


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "folder"])
def test_what_is_named_is_a_regular_file(repo, kind, monkeypatch):
    make(repo, "log", text="RuntimeError: CUDA error\n")
    for name in ("special", "special.py", "facts/special", "baseline/special"):
        (repo / name).parent.mkdir(exist_ok=True)
        monkeypatch.chdir((repo / name).parent)
        KINDS[kind](repo / name)
    make(repo, "facts/porter.toml", text='facts = ["special"]\n')
    make(repo, "baseline/porter.toml", text='baseline = "special"\n')
    make(repo, "facts/a.py", "baseline/a.py", text=EDIT)
    commands = [
        ["analyze", "a.py", "--baseline", "special"],
        ["analyze", "facts/a.py"],
        ["analyze", "baseline/a.py"],
        ["report", "special"],
        ["diff", "special", "special"],
        ["diagnose", "log", "--findings", "special"],
        ["env", ".", "--output", "special"],
        ["diagnose", "special"],
        ["analyze", "special.py", "--no-cache"],
    ]
    *answers, diagnosed, alone = porter(repo, *commands)
    for words, answer in zip(commands, answers):
        assert answer.refused and "special" in answer.err, (words, answer)
    # a pipe that nobody writes to has nothing to say
    assert diagnosed.code in (0, 1) if kind == "fifo" else diagnosed.refused and "special" in diagnosed.err, diagnosed
    assert "PRT003" in alone.out + alone.err or alone.refused, alone


@pytest.mark.slow
@POSIX
def test_an_output_that_nobody_reads_is_refused(repo):
    os.mkfifo(repo / "report.txt")
    for answer in porter(
        repo, ["analyze", "a.py", "--output", "report.txt"], ["analyze", "a.py", "--write-baseline", "report.txt"]
    ):
        assert answer.code == 2 and "report.txt" in answer.err, answer


@pytest.mark.slow
@POSIX
def test_a_log_comes_through_a_pipe_and_a_report_goes_through_one(repo):
    command = f"{sys.executable} -m porter diagnose <(sleep 0.2; echo 'RuntimeError: CUDA error: x'); "
    command += f"{sys.executable} -m porter analyze a.py --output >(sleep 0.2; cat 1>&2) --output-format text 2>&1"
    command = command.replace(" --output-format text", "")
    environment = {**os.environ, "PYTHONPATH": str(TESTED), "PORTER_CACHE_DIR": str(repo.parent / "cache")}
    done = subprocess.run(
        ["bash", "-c", command], cwd=repo, env=environment, capture_output=True, text=True, timeout=HANG
    )
    assert "CUDA error" in done.stdout, done.stderr


@POSIX
@pytest.mark.slow
def test_standard_input_has_an_end_too(repo):
    command = [sys.executable, "-m", "porter", "analyze", "-", "--stdin-filename", "b.py"]
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            command, cwd=repo, env={**os.environ, "PYTHONPATH": str(TESTED)}, stdin=zeros, capture_output=True,
            text=True, timeout=HANG, preexec_fn=_bounded,
        )  # fmt: skip
    assert done.returncode == 2 and "b.py" in done.stderr and done.stderr.count("\n") == 1, done


def _bounded() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


@pytest.mark.slow
def test_an_archive_that_holds_itself_is_no_log(tmp_path):
    data = b"RuntimeError: CUDA error\n"
    for layer in range(6):
        data = gzip.compress(data)
        (tmp_path / f"{layer}.log.gz").write_bytes(data)
    fine, refused = porter(tmp_path, ["diagnose", "1.log.gz"], ["diagnose", "5.log.gz"])
    assert fine.code in (0, 1), fine
    assert refused.refused and "5.log.gz" in refused.err, refused


# ---- the reader


def test_a_file_of_another_size_than_it_says_is_read_to_the_limit(tmp_path, monkeypatch):
    """What /proc shows has no size, and a log grows while it is read."""
    file = tmp_path / "a"
    file.write_bytes(b"a" * 5000)
    real = os.fstat

    class Less:
        def __init__(self, status):
            self.st_mode, self.st_size = status.st_mode, 0

    monkeypatch.setattr(os, "fstat", lambda descriptor: Less(real(descriptor)))
    assert read(file, limit=5000) == b"a" * 5000
    assert beginning(file, 10) == b"a" * 10
    with pytest.raises(FilesError) as refused:
        read(file, limit=4999)
    assert refused.value.key == "large"


def test_the_limit_itself_is_read(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"a" * 10)
    assert read(file, limit=10) == b"a" * 10
    with pytest.raises(FilesError) as refused:
        read(file, "b", limit=9)
    assert refused.value.key == "large" and refused.value.path == "b"


ALLOWED = {  # who opens files by itself, and why
    "porter/files/read.py": "the reader",
    "porter/files/write.py": "writes, and compares with what is there before it does",
    "porter/files/journal.py": "its own files, below .porter",
    "porter/files/copy.py": "writes the copy",
    "porter/files/record.py": "the record of a copy, and files of any size to tell them apart",
    "porter/files/seal.py": "the secret of the journal, in the user's own folder",
    "porter/run/cache.py": "makes the cache's file, closed to others",
    "porter/files/lock.py": "the lock",
    "porter/files/pages.py": "writes the pages of a report, and the record of them",
    "porter/rulebook/compiled.py": "porter's own rules, and what is compiled from them",
    "porter/catalog/read/documents.py": "porter's own data",
    "porter/catalog/read/traced.py": "porter's own data",
    "porter/catalog/read/load.py": "porter's own data",
    "porter/catalog/make/overlay.py": "a tool of its developers, which reads what they fetched",
    "porter/catalog/make/sources.py": "wheels of hundreds of megabytes, in pieces",
    "porter/catalog/make/download.py": "writes the list of wheels",
    "porter/commands/catalog.py": "writes the catalogue",
    "porter/commands/output.py": "writes the report",
    "porter/cli/outcome.py": "the null device, when nobody reads what is printed",
    "porter/report/html.py": "porter's own style sheet and script",
    "porter/instrument/own_files.py": "porter's own recorder",
    "porter/distribute/own_files.py": "porter's own helper of distributed scripts",
    "porter/checkpoint/archive.py": "members of a zip file that the reader opened",
    "porter/checkpoint/torch_files.py": "members of a tar file that the reader opened",
    "porter/checkpoint/values.py": "maps a file that the reader opened",
    "porter/project/shipped_files.py": "a member of a zip file that the reader opened",
    "porter/fleet/archive.py": "unpacks an archive in the process of its repository, which has a time and a memory of its own",
    "porter/fleet/download.py": "writes what it fetches",
    "porter/fleet/folder.py": "porter's own results",
    "porter/fleet/identity.py": "hashes an archive and porter's own code",
    "porter/fleet/package.py": "what it has just fetched",
    "porter/fleet/task.py": "what its own process has said",
    "porter/commands/fleet_facts.py": "writes what is known of a library",
    "porter/commands/fleet_repository.py": "writes the row of a repository; the memory that the process takes",
}
_OPENS = {
    "open",
    "read_bytes",
    "read_text",
    "write_bytes",
    "write_text",
    "memmap",
    "fdopen",
    "mmap",
    "fromfile",
    "readlines",
}


def _opened(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in _OPENS and not (name == "write_text" and isinstance(node.func, ast.Name)):
                yield node.lineno


@pytest.mark.slow
def test_one_reader_is_the_way_to_every_file():
    places = {}
    for file in sorted((CHECKOUT / "porter").rglob("*.py")):
        path = file.relative_to(CHECKOUT).as_posix()
        if not path.startswith("porter/verify/") and (lines := list(_opened(ast.parse(file.read_bytes())))):
            places[path] = lines
    own = {
        "porter/logs/reading.py",
        "porter/commands/diagnose.py",
        "porter/commands/env.py",
        "porter/reach/compiled.py",
    }
    assert places.keys() - own == ALLOWED.keys(), "read through porter.files.read, or say here why not"


# ---- nesting without a bottom

DEEP = 100_000
NESTED = {
    "a.py": ("import torch\nx.cuda()\nx = ", "(", ")"),
    "b.py": ("import torch\nx.cuda()\nx = ", "-", "1"),
    "c.py": ("import torch\nx.cuda()\nx = y", "[0]", ""),
    "d.py": ("import torch\nx.cuda()\nx = 1", "+1", ""),
    "e.py": ("import torch\nx.cuda()\nx = ", "lambda:", "1"),
    "f.py": ("import torch\nx.cuda()\nx = ", "{1:", "}"),
    "g.py": ("import torch\nx.cuda()\nif x: pass\n", "elif y: pass\n", ""),
    "a.json": ('{"cuda": ', "[", "]"),
    "b.json": ("", '{"cuda":', "}"),
    "a.yaml": ("cuda: ", "[", "]"),
    "b.yaml": ("cuda: ", "{a: ", "}"),
    "c.yaml": ("cuda:\n", "- ", ""),
    "a.toml": ("cuda = ", "[", "]"),
    "b.toml": ("cuda = 1\n", "a.", "b = 1"),
    "a.sh": ("export CUDA_VISIBLE_DEVICES=0\n", "(", ")"),
    "b.sh": ("cuda ", "$(", ")"),
    "c.sh": ("cuda\n", "if a; then ", "fi;"),
    "Makefile": ("CUDA = ", "$(", ")"),
    "Dockerfile": ("FROM nvidia/cuda:12\nRUN ", "(", ")"),
    "a.cu": ("__global__ void f() { cudaMalloc(a); ", "{", "}"),
    "b.cu": ("__global__ void f() { x = ", "(", ")"),
    "requirements.txt": ("torch", "[", "]"),
    "a.ini": ("[a]\ncuda = ", "[", "]"),
    "a.ipynb": ('{"cuda": ', "[", "]"),
}


@pytest.mark.slow
def test_nesting_without_a_bottom_is_a_finding_and_no_failure(repo):
    for name, (head, opening, closing) in NESTED.items():
        make(repo, name, text=head + opening * DEEP + "\n" + closing * DEEP + "\n")
    make(repo, "z.py", text="from a import x\n" + EDIT)
    done = porter(repo, ["analyze", ".", "--no-cache", "--format", "json", "--jobs", "1"])[0]
    assert done.code == 1, done.err
    found = {(f["path"], f["code"]) for f in json.loads(done.out)["findings"]}
    assert ("z.py", "PRT130") in found
    assert not [path for path, code in found if code == "PRT003"]
    assert {"a.py", "b.py", "c.py", "d.py", "e.py", "f.py", "g.py"} <= {
        path for path, code in found if code == "PRT002"
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    share(['x.cuda() if y else ' * 700 + "z", "[" * 150 + '"cuda"' + "]" * 150, "x" + ".a" * 900 + ".cuda()", "1" + " + 'cuda'" * 900], 2),
    ids=share(["choices", "lists", "attributes", "sum"], 2),
)  # fmt: skip
@pytest.mark.parametrize(
    "place",
    ["class C:\n    def cuda(self): return {}\n", "p.add_argument('--device', default={})\n", "for i in b:\n    l = {}\n    l.backward()\n",
     "try:\n    import apex\nexcept ({}): pass\n", "y = ({}).gelu()\nF.gelu(y)\n", "class D({}): pass\n", "device = {}\nf(device=device)\n"],
)  # fmt: skip
def test_what_python_can_read_and_porter_cannot_go_down_ends_no_run(repo, text, place):
    """While the facts of a project are gathered, too: the other files are analysed."""
    make(repo, "deep.py", text="import torch\nimport argparse\nx.cuda()\n" + place.format(text))
    make(repo, "run.sh", text="python deep.py --device cuda\n")
    found = analysed(repo)
    assert ("PRT130", "call") in found["a.py"]
    assert not [why for code, why in found["deep.py"] if code == "PRT003" and why != "joined"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pyproject.toml", "porter.toml"])
def test_a_configuration_that_is_nested_too_deeply_is_refused(repo, name):
    make(repo, name, text="[tool.porter]\nx = " + "[" * DEEP)
    answer = porter(repo, ["analyze", "."])[0]
    assert answer.refused and name in answer.err, answer


@pytest.mark.slow
def test_what_porter_wrote_is_refused_where_it_is_nested_too_deeply(repo):
    make(repo, "deep", text="[" * 200_000)
    make(repo, "facts/porter.toml", text='facts = ["../deep"]\n')
    make(repo, "facts/a.py", text=EDIT)
    commands = [["analyze", "a.py", "--baseline", "deep"], ["analyze", "facts/a.py"], ["report", "deep"]]
    for answer in porter(repo, *commands):
        assert answer.refused and "deep" in answer.err, answer


def test_too_little_memory_is_a_finding(monkeypatch):
    from porter.analysis import python as python
    from porter.analysis.analyse import analyse

    def starved(*given):
        raise MemoryError

    monkeypatch.setattr(python, "_analyse", starved)
    found = analyse("a.py", EDIT.encode(), open_session()).findings
    assert [(f.code, f.why) for f in found] == [("PRT002", "memory")]


# ---- what an edit of a text promises


@pytest.mark.parametrize(
    ("edit", "promise"),
    [
        (lambda text: (len(text) - 1, len(text) - 1, "0"), "unstable"),
        (lambda text: (len(text) - 1, len(text), ""), "newline"),
        (lambda text: (len(text) - 1, len(text), "\r\n"), "newline"),
        (lambda text: (0, 1, "x"), "reparse"),
    ],
)
def test_an_edit_that_breaks_a_promise_is_not_made(monkeypatch, edit, promise):
    from porter.analysis.analyse import analyse
    from porter.checks.requirements.required_packages import RequiredPackages
    from porter.engine.rule import Hit, named

    def look(self, document, lines):
        at = edit(document.text)
        if promise == "unstable" or len(document.text) == len("torch==1.0\n") and document.text.startswith("torch"):
            if promise == "unstable" or document.text.endswith("0\n"):
                values = named(old="", new="", npu="", known="")
                yield Hit((0, 5), "pin", values=values, edits=(at,), safe=True)

    monkeypatch.setattr(RequiredPackages, "look", look)
    result = analyse("requirements.txt", b"torch==1.0\n", open_session())
    assert result.auto == result.review == ()
    assert ("PRT003", promise) in {(f.code, f.why) for f in result.findings}
