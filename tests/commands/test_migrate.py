"""`porter migrate`: what it shows, what it writes, what it refuses to write."""

from __future__ import annotations

import ast
import json
import os
import subprocess

import pytest
from command_line import Porter, git, process, write
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.files.record import RECORD
from porter.finding import Change, Finding, apply
from porter.run.annotate import annotated, remarks

CASES = {
    "train.py": "import torch\n\n\ndef f():\n    torch.cuda.synchronize()\n    return torch.zeros(2, device='cuda')\n",
    "sub/crlf.py": b"import torch\r\nx = torch.zeros(2).cuda()\r\ny = x\r\n",
    "sub/end.py": b"import torch\ntorch.cuda.synchronize()",
    "latin.py": "# -*- coding: latin-1 -*-\nimport torch\nname = 'é'\ntorch.cuda.synchronize()\n".encode("latin-1"),
    "gbk.py": "# -*- coding: gbk -*-\nimport torch\nname = '设备'\ntorch.cuda.synchronize()\n".encode("gbk"),
    "bom.py": b"\xef\xbb\xbfimport torch\ntorch.cuda.synchronize()\n",
    "a b.py": "import torch\ntorch.cuda.synchronize()\n",
    "设备.py": "import torch\ntorch.cuda.synchronize()\n",
    "clean.py": "x = 1\n",
}
MANUAL = "import torch\n\n\ndef main():\n    if True:\n        c = torch.cuda.get_device_capability()\n    return c\n"
REVIEW = """\
import torch


def main(batch):
    torch.cuda.synchronize()
    return batch.cuda()
"""
PAGE = "pip install torch --index-url https://download.pytorch.org/whl/cu121\n"
OTHER = "class Batch:\n    def cuda(self):\n        return self\n"  # whose method the one above may be


@pytest.fixture
def porter(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    return Porter(monkeypatch, write(tmp_path / "r", CASES))


def contents(folder) -> dict[str, bytes]:
    files = (f for f in folder.rglob("*") if f.is_file() and not {".git", ".porter"} & set(f.relative_to(folder).parts))
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in files if f.name != RECORD}


def ported(porter) -> dict[str, bytes]:
    """What --out makes: the yardstick for the other two ways."""
    out = porter.folder.parent / "out"
    assert porter("migrate", ".", "--out", str(out)).code == 0
    return contents(out)


def test_shown_only(porter):
    before = contents(porter.folder)
    got = porter("migrate", ".")
    assert got.code == 0 and contents(porter.folder) == before
    assert got.out.count(b"\n+++ b/") == 8
    assert "Files to change: 8" in got.err and "--inplace" in got.err


@pytest.mark.slow
def test_what_is_left_is_counted_as_the_first_screen_counts_it(porter):
    """Advice (here, what a page tells people to install) is no work that the port leaves."""
    write(porter.folder, {"a.py": MANUAL, "b.py": REVIEW + OTHER, "README.md": PAGE})
    counts = json.loads(porter("analyze", ".", "--format", "json").out)["summary"]
    assert counts["left"]["stops"] == 1 and counts["edits"]["review"] == 2 and counts["findings"]["note"]["manual"]
    place = "1 place where it stops or breaks"
    assert f"Left: 2 to review (--unsafe makes these edits), {place}.\n" in porter("migrate", ".").err
    assert f"Left: {place}.\n" in porter("migrate", ".", "--unsafe").err
    assert (
        "尚余：待复核 2 处（加 --unsafe 写入），无法运行或结果错误 1 处。" in porter("migrate", ".", "--lang", "zh").err
    )


@pytest.mark.slow
@pytest.mark.parametrize("tool", [["git", "apply", "-"], ["patch", "-p1", "-s", "--binary", "--no-backup-if-mismatch"]])
def test_diff_inplace_and_copy_are_the_same_bytes(porter, tool, tmp_path):
    diff = porter("migrate", ".").out
    want = ported(porter)
    other = write(tmp_path / "other", CASES)
    done = subprocess.run(tool, cwd=other, input=diff, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert contents(other) == want != contents(porter.folder)
    assert porter("migrate", ".", "--inplace").code == 0
    assert contents(porter.folder) == want
    again = porter("migrate", ".")
    assert again.out == b"" and "Nothing to change." in again.err, "a second run has nothing to do"


def test_diff_applies_where_the_command_ran(porter):
    git(porter.folder, "init", "-q")
    sub = porter.folder.parent
    diff = porter("migrate", "r/sub", cwd=sub).out
    assert b"--- a/r/sub/crlf.py\n" in diff
    assert subprocess.run(["git", "apply", "-"], cwd=sub, input=diff).returncode == 0
    assert b".npu()\r\n" in (porter.folder / "sub/crlf.py").read_bytes()


@pytest.mark.slow
def test_undo(porter):
    before = contents(porter.folder)
    assert porter("undo").code == 2
    porter("migrate", ".", "--inplace")
    assert contents(porter.folder) != before
    got = porter("undo")
    assert got.code == 0 and "Files restored: 8." in got.text and contents(porter.folder) == before
    assert porter("undo").code == 2


@pytest.mark.slow
def test_undo_leaves_what_was_changed_since(porter):
    porter("migrate", ".", "--inplace")
    write(porter.folder, {"train.py": "mine\n"})
    got = porter("undo", "sub")
    assert got.code == 1 and "train.py" in got.err and "Files restored: 7." in got.text
    assert (porter.folder / "train.py").read_text() == "mine\n"


@pytest.mark.slow
def test_check(porter):
    before = contents(porter.folder)
    assert porter("migrate", ".", "--check").code == 1 and contents(porter.folder) == before
    assert porter("migrate", "clean.py", "--check").code == 0
    porter("migrate", ".", "--inplace")
    assert porter("migrate", ".", "--check").code == 0


@pytest.mark.slow
def test_copy_of_the_directory_that_was_named(porter, tmp_path):
    write(porter.folder, {"setup.py": "", "data/x.bin": b"\0"})
    assert porter("migrate", "sub", "--out", str(tmp_path / "o")).code == 0
    assert sorted(contents(tmp_path / "o")) == ["crlf.py", "end.py"]
    assert b"npu" in (tmp_path / "o/end.py").read_bytes()
    assert porter("migrate", ".", "--out", str(tmp_path / "o")).code in (0, 2)
    assert porter("migrate", ".", "--out", str(tmp_path / "p")).code == 0
    assert contents(tmp_path / "p")["data/x.bin"] == b"\0"


def test_copy_into_a_directory_that_is_somebodys(porter, tmp_path):
    write(tmp_path / "o", {"mine.txt": "x"})
    got = porter("migrate", ".", "--out", str(tmp_path / "o"))
    assert got.code == 2 and got.err.count("\n") == 1 and contents(tmp_path / "o") == {"mine.txt": b"x"}


SYNC, SYNCED = "import torch\ntorch.cuda.synchronize()\n", b"torch.npu.synchronize()\n"


@pytest.mark.slow
@pytest.mark.parametrize("taken", ["mod.py", "r/mod.py", "her/mod.py"])
def test_a_copy_with_a_link_out_of_the_directory_that_was_named(porter, tmp_path, taken):
    write(porter.folder, {"other/mod.py": SYNC, f"sub/{taken}": "x = 1\n", "sub/pkg/plain.py": SYNC})
    git(porter.folder, "init", "-q")
    (porter.folder / "sub/link.py").symlink_to("../other/mod.py")
    for _ in range(2):
        assert porter("migrate", "sub", "--out", str(tmp_path / "o")).code == 0
        got = contents(tmp_path / "o")
        assert sorted(got) == sorted(["crlf.py", "end.py", "link.py", "pkg/plain.py", taken])
        assert got["link.py"] == got["pkg/plain.py"] and got["link.py"].endswith(SYNCED) and got[taken] == b"x = 1\n"
        assert not (tmp_path / "o/link.py").is_symlink()
    assert (porter.folder / "other/mod.py").read_text() == SYNC
    assert porter("migrate", "sub", "pkg.py", "--out", str(tmp_path / "p")).code == 2, "no such file"
    assert porter("migrate", "sub", "other", "--out", str(tmp_path / "p")).code == 0
    assert os.readlink(tmp_path / "p/sub/link.py") == "../other/mod.py"
    assert contents(tmp_path / "p")["sub/link.py"].endswith(SYNCED)


@pytest.mark.slow
def test_code_that_a_copy_shares_with_the_original_is_told(porter, tmp_path):
    write(porter.folder, {"other/mod.py": SYNC, "setup.py": ""})
    (porter.folder / "sub/shared").symlink_to("../other")
    (porter.folder / "sub/data").symlink_to(tmp_path)
    got = porter("migrate", "sub", "--out", str(tmp_path / "o"))
    told = [line for line in got.err.splitlines() if "shared" in line]
    assert got.code == 0 and len(told) == 1 and "migrate the whole project" in told[0] and "data" not in got.err
    assert (tmp_path / "o/shared/mod.py").read_text() == SYNC
    assert "整个项目" in porter("migrate", "sub", "--out", str(tmp_path / "o"), "--lang", "zh").err
    assert "shared" not in porter("migrate", ".", "--out", str(tmp_path / "p")).err
    assert (tmp_path / "p/sub/shared/mod.py").read_bytes().endswith(SYNCED)


@pytest.mark.slow
def test_what_somebody_did_in_a_copy_stops_the_next(porter, tmp_path):
    out = tmp_path / "o"
    ported = ("migrate", ".", "--out", str(out))
    assert porter(*ported).code == 0
    write(out, {"train.py": "mine\n"})
    before = contents(out)
    got = porter(*ported, "--unsafe")
    assert got.code == 2 and got.err.count("\n") == 1 and f"{out}/train.py: changed by someone" in got.err
    assert contents(out) == before
    (out / "train.py").unlink()
    assert porter(*ported).code == 0


@pytest.mark.slow
def test_dirty_files_stop_the_run(porter):
    git(porter.folder, "init", "-q")
    git(porter.folder, "add", ".")
    git(porter.folder, "commit", "-qm", "x")
    write(porter.folder, {"train.py": CASES["train.py"] + "x = 1\n"})
    before = contents(porter.folder)
    got = porter("migrate", ".", "--inplace")
    assert got.code == 2 and "train.py" in got.err and "--allow-dirty" in got.err and contents(porter.folder) == before
    assert porter("migrate", "sub", "--inplace").code == 0, "another file's changes are no concern"
    git(porter.folder, "add", "train.py")
    assert porter("migrate", "train.py", "--inplace").code == 0, "staged changes are fine"
    write(porter.folder, {"latin.py": CASES["latin.py"] + b"x = 1\n"})
    assert porter("migrate", "latin.py", "--inplace").code == 2
    assert porter("migrate", "latin.py", "--inplace", "--allow-dirty").code == 0


@pytest.mark.slow
def test_what_porter_wrote_itself_is_not_dirty(porter):
    write(porter.folder, {"train.py": REVIEW, "batch.py": OTHER, "setup.py": ""})
    git(porter.folder, "init", "-q")
    git(porter.folder, "add", ".")
    git(porter.folder, "commit", "-qm", "x")
    assert porter("migrate", "train.py", "--inplace").code == 0
    got = porter("migrate", "train.py", "--inplace", "--unsafe")
    assert got.code == 0 and "Files changed: 1" in got.err


@pytest.mark.slow
def test_review_is_a_second_marked_diff(porter, tmp_path):
    write(porter.folder, {"train.py": REVIEW, "batch.py": OTHER, "setup.py": ""})
    both, unsafe = porter("migrate", "train.py").out, porter("migrate", "train.py", "--unsafe").out
    first, mark, second = both.partition(b"# Edits that a person should look at")
    assert mark and b"torch.npu.synchronize" in first and b"\n# @@ " in second
    assert all(row.startswith(b"#") for row in second.split(b"\n")[1:-1])
    assert b"# Edits" not in unsafe and b"torch.npu.synchronize" in unsafe
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, patches in (
        (one, [both]),
        (other, [first, b"\n".join(r[2:] for r in second.split(b"\n")[1:-1]) + b"\n"]),
    ):
        write(folder, {"train.py": REVIEW})
        for patch in patches:
            done = subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, capture_output=True)
            assert done.returncode == 0, done.stderr
    porter("migrate", "train.py", "--inplace")
    assert (one / "train.py").read_bytes() == (porter.folder / "train.py").read_bytes(), (
        "a tool takes the first one only"
    )
    porter("undo")
    porter("migrate", "train.py", "--inplace", "--unsafe")
    assert (other / "train.py").read_bytes() == (porter.folder / "train.py").read_bytes()


def test_file_that_changed_since_it_was_analysed(porter, monkeypatch):
    from porter.run.run import Run

    read = Run.data_now

    def late(run, path):
        data = read(run, path)
        if path == "train.py":
            write(porter.folder, {"train.py": "mine\n"})
        return data

    monkeypatch.setattr(Run, "data_now", late)
    got = porter("migrate", ".", "--inplace")
    assert got.code == 2 and "train.py: changed since it was analysed" in got.err
    assert (porter.folder / "train.py").read_text() == "mine\n"
    assert b"npu" in (porter.folder / "sub/end.py").read_bytes(), "the run goes on"


@pytest.mark.parametrize("how", [["--inplace"], ["--out", "../o"], ["--check"], []])
def test_file_that_changed_before_its_edits_were_made(porter, monkeypatch, how):
    """An editor saves it while porter still looks at others. The places of the edits are not those of these bytes."""
    from porter.commands.job import Job

    run = Job.run

    def late(job, quiet, anew):
        done = run(job, quiet, anew)
        write(porter.folder, {"train.py": "# mine\n" + CASES["train.py"]})
        return done

    monkeypatch.setattr(Job, "run", late)
    got = porter("migrate", ".", *how)
    assert got.code == 2 and "train.py: changed since it was analysed; run porter again" in got.err
    assert (porter.folder / "train.py").read_text() == "# mine\n" + CASES["train.py"]
    assert b"train.py" not in got.out
    if "--out" in how:
        assert got.err.splitlines()[-1] == "Nothing was written." and not (porter.folder / "../o").exists()


def test_read_only_file(porter):
    (porter.folder / "train.py").chmod(0o444)
    got = porter("migrate", ".", "--inplace")
    assert got.code == 2 and "train.py: read-only" in got.err
    assert (porter.folder / "train.py").read_text() == CASES["train.py"]
    assert b"npu" in (porter.folder / "sub/end.py").read_bytes()


def test_mode_stays(porter):
    (porter.folder / "train.py").chmod(0o755)
    porter("migrate", ".", "--inplace")
    assert os.stat(porter.folder / "train.py").st_mode & 0o777 == 0o755


# --annotate


def annotate(porter, text: str, *more: str) -> str:
    write(porter.folder, {"m.py": text})
    assert porter("migrate", "m.py", "--annotate", "--inplace", *more).code == 0
    return (porter.folder / "m.py").read_text()


def test_annotations_stand_above_with_the_indentation_of_the_statement(porter):
    got = annotate(porter, MANUAL).splitlines()
    at = next(n for n, line in enumerate(got) if "# PRT" in line)
    assert got[at].startswith("        # PRT1") and got[at + 1] == "        c = torch.cuda.get_device_capability()"
    assert [line for line in got if "# PRT" not in line] == MANUAL.splitlines()


@pytest.mark.slow
def test_annotations_are_idempotent_updated_and_removed(porter):
    once = annotate(porter, MANUAL)
    assert annotate(porter, once) == once
    assert porter("migrate", "m.py", "--annotate").out == b""
    shifted = once.replace("def main", "x = 1\n\n\ndef main")
    assert annotate(porter, shifted) == shifted
    stale = once.replace("# PRT", "# PRT999: what an older porter said\n        # PRT", 1)
    assert annotate(porter, stale) == once
    chinese = annotate(porter, once, "--lang", "zh")
    assert chinese != once and annotate(porter, chinese) == once
    by_hand = once.replace("torch.cuda.get_device_capability()", "(9, 0)")
    assert "# PRT" not in annotate(porter, by_hand)


def test_annotations_do_not_change_what_is_found(porter):
    write(porter.folder, {"m.py": MANUAL})
    before = porter("analyze", "m.py", "-q").text
    annotate(porter, MANUAL)
    after = porter("analyze", "m.py", "-q").text
    assert [line.split(" ", 1)[1] for line in after.splitlines()] == [
        line.split(" ", 1)[1] for line in before.splitlines()
    ]


def test_annotation_keeps_a_suppression_next_to_its_statement(porter):
    text = MANUAL.replace("        c =", "        # porter: ignore[PRT130] old\n        c =").replace(
        "get_device_capability()", "get_device_capability(torch.zeros(2).cuda())"
    )
    got = annotate(porter, text)
    lines = got.splitlines()
    at = next(n for n, line in enumerate(lines) if "# PRT1" in line)
    assert "porter: ignore" in lines[at + 1] and lines[at + 2].lstrip().startswith("c =")
    assert annotate(porter, got) == got


@pytest.mark.slow
def test_annotations_stand_in_python_files_alone(porter):
    source = ["import torch\n", "torch.cuda.get_device_capability()"]
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    files = {
        "m.py": MANUAL,
        "n.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
        "ds_config.json": '{"a": "cuda",\n "device_type": "cuda_special"}\n',
        "k.cu": "__global__ void f() {}\nvoid g() { f<<<1, 2>>>(); }\n",
        "run.sh": "nvcc \\\n  -o a k.cu\nnvidia-smi --query-gpu=name \\\n  --format=csv | tail -1\n",
    }
    write(porter.folder, files)
    found = json.loads(porter("analyze", ".", "--format", "json").text)["findings"]
    manual = {f["path"] for f in found if f["status"] == "manual"}
    assert manual >= {"m.py", "n.ipynb", "k.cu", "run.sh"}
    assert porter("migrate", ".", "--annotate", "--inplace", "--allow-dirty").code == 0
    assert {name for name in files if "# PRT" in (porter.folder / name).read_text()} == {"m.py"}


def test_annotation_in_a_file_of_another_encoding(porter):
    text = MANUAL.replace("import torch", "# -*- coding: latin-1 -*-\nimport torch\ns = 'é'").encode("latin-1")
    write(porter.folder, {"m.py": text})
    assert porter("migrate", "m.py", "--annotate", "--inplace", "--lang", "zh").code == 0
    got = (porter.folder / "m.py").read_bytes()
    assert b"s = '\xe9'" in got and b"# PRT1" in got
    got.decode("latin-1").encode("ascii", "ignore")
    assert b"\\u" not in got, "in English where the encoding has no room for Chinese"


def place(line: int) -> Finding:
    return Finding("m.py", line, 1, "PRT110", "x", severity="wrong", status="manual")


SOURCES = [
    "x = '''\n# PRT110: text\nfoo'''; bar()\n",
    "def f(a,\n      b=1,\n      # note\n      c=2):\n    return a\n",
    "if (a and\n        b): c = 1\nelse: d = 2\n",
    "@one\n@two(3,\n     4)\nclass C:\n    x = 1\n",
    "a = 1; b = 2; \\\nc = 3\n",
    "with a as b, \\\n        c as d:\n    pass\n",
    "try:\n    pass\nexcept (A,\n        B):\n    pass\nfinally:\n    x = [\n  1,\n]\n",
    "if a:\n\tb = 1\nelif c:\n\td = (\n1)\n",
    "\x0cdef f():\n    return 1\n",
    "x = 1",
    "# PRT110: old\nx = 1\n# PRT111: alone at the end\n",
    "x = f'''{\na}\n'''\ny = 2\n",
    "\ufeffx = 1\r\ny = (2,\r\n     3)\r\n",
]


def shape(data: bytes) -> str:
    return ast.dump(ast.parse(data))


@pytest.mark.parametrize("source", SOURCES)
def test_annotation_anywhere_is_never_inside_a_string_or_an_expression(source):
    for line in range(1, 9):
        holds_at(source, line)


def holds_at(source, line):
    data = source.encode()
    changes = remarks(data, [place(line)], lambda finding, lang: "text", "en")
    got = apply(data, changes)
    assert shape(got) == shape(data)
    if line <= source.count("\n") and "alone" not in source:
        assert b"# PRT110: text" in got
    rows = source.split("\n")
    if line <= len(rows) and not rows[line - 1].startswith("# PRT"):
        at = len("\n".join([*rows[: line - 1], ""]).encode())  # where the line starts; what is put there pushes it down
        down = sum(c.new.count(b"\n") - data[c.start : c.end].count(b"\n") for c in changes if c.start <= max(at, 3))
        assert remarks(got, [place(line + down)], lambda finding, lang: "text", "en") == ()
    bare = apply(got, remarks(got, [], lambda finding, lang: "text", "en"))
    assert bare.count(b"# PRT110: text") == source.count("# PRT110: text"), "what stands in a string is not porter's"


STATEMENTS = st.sampled_from(SOURCES[:7] + SOURCES[11:12] + ["y = 1\n", "# comment\n", "\n", "# PRT101: old\n"])


@settings(max_examples=examples(150))
@given(st.lists(STATEMENTS, max_size=6), st.lists(st.integers(1, 40), max_size=5))
def test_annotations_of_any_file(parts, lines):
    data = "".join(parts).encode()
    found = [place(line) for line in sorted(set(lines)) if line <= data.count(b"\n")]
    changes = remarks(data, found, lambda finding, lang: "t", "en")
    got = apply(data, changes)
    assert shape(got) == shape(data)
    assert got.count(b"# PRT101: old") == 0
    clean = apply(got, remarks(got, [], lambda finding, lang: "t", "en"))
    assert clean == apply(data, remarks(data, [], lambda finding, lang: "t", "en")), "nothing remains of them"


def test_annotation_and_edits_at_one_place():
    data = b"import torch\nx = 1\n"
    port = (Change(13, 13, b"import torch_npu\n"), Change(17, 18, b"2"))
    notes = remarks(data, [place(2)], lambda finding, lang: "t", "en")
    assert apply(data, annotated(data, port, notes)) == b"import torch\nimport torch_npu\n# PRT110: t\nx = 2\n"


@pytest.mark.slow
def test_diff_of_stdin_bytes(porter):
    done = process("migrate", "-", "--stdin-filename", "gbk.py", cwd=porter.folder, stdin=CASES["gbk.py"])
    assert done.returncode == 0 and "设备".encode("gbk") in done.stdout


@pytest.mark.slow
def test_the_report_of_a_port_shows_what_was_found(porter):
    before = porter("analyze", ".", "--format", "json").out
    done = porter("migrate", ".", "--inplace", "--allow-dirty", "--output", "../port.json", "--output", "../port.html")
    assert done.code == 0
    assert (porter.folder.parent / "port.json").read_bytes() == before
    assert (porter.folder.parent / "port.html").stat().st_size > 10_000
    assert porter("migrate", ".", "--output", "x.exe").code == 2


@pytest.mark.slow
def test_fused_operators_are_written_where_they_are_asked_for(porter):
    text = "from torch import nn\nfrom torch.nn import functional as F\n\n\nclass Gate(nn.Module):\n    def forward(self, x):\n        a, b = self.both(x).chunk(2, -1)\n        return F.silu(a) * b\n"
    (porter.folder / "gate.py").write_text(text)
    assert b"npu_swiglu" not in ported(porter)["gate.py"]
    done = porter("migrate", "gate.py", "--fuse", "--inplace", "--allow-dirty")
    assert done.code == 0 and "fused operators: 1" in done.err
    assert "return torch_npu.npu_swiglu(self.both(x), dim=-1)" in (porter.folder / "gate.py").read_text()
    assert porter("migrate", "gate.py", "--fuse", "--check").code == 0
    assert porter("undo", ".").code == 0 and (porter.folder / "gate.py").read_text() == text
