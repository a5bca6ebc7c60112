"""The diff that `porter migrate` prints, held against the tools that read it."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.finding import Change, apply
from porter.report.diff import unified

needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")


def applied(folder: Path, tool: list[str], path: str, data: bytes, patch: bytes) -> bytes:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    done = subprocess.run(tool, cwd=folder, input=patch, capture_output=True)
    assert done.returncode == 0, (done.stderr.decode() + done.stdout.decode(), patch)
    return file.read_bytes() if file.exists() else b""  # patch removes a file that becomes empty


GIT = ["git", "apply", "--whitespace=nowarn", "-"]
PATCH = ["patch", "-p1", "--binary", "--no-backup-if-mismatch", "-s", "--posix"]

CASES = {
    "middle": (b"a\nb\nc\nd\ne\nf\ng\nh\n", [(6, 7, b"D")]),
    "first line": (b"a\nb\n", [(0, 1, b"x")]),
    "insertion": (b"import torch\nx = 1\n", [(13, 13, b"import torch_npu\n")]),
    "insertion at the end": (b"import torch\n", [(13, 13, b"import torch_npu\n")]),
    "into an empty file": (b"", [(0, 0, b"import torch_npu\n")]),
    "to an empty file": (b"x\n", [(0, 2, b"")]),
    "no final newline": (b"a\nb\nc", [(4, 5, b"C")]),
    "no final newline, change above": (b"a\nb\nc", [(0, 1, b"A")]),
    "final newline gained": (b"a\nb", [(3, 3, b"\n")]),
    "final newline lost": (b"a\nb\n", [(3, 4, b"")]),
    "lines joined": (b"a\nb\nc\nd\n", [(1, 2, b" ")]),
    "line removed": (b"a\nb\nc\n", [(2, 4, b"")]),
    "line split": (b"a\nbc\nd\n", [(3, 3, b"\n")]),
    "crlf": (b"a\r\nb\r\nc\r\n", [(3, 4, b"B")]),
    "mixed": (b"a\r\nb\nc\r\nd", [(3, 4, b"B"), (8, 9, b"D")]),
    "latin-1": (b"# coding: latin-1\nx = '\xe9'\ny = 1\n", [(27, 28, b"2")]),
    "gbk": ("# -*- coding: gbk -*-\nx = '设备'\n".encode("gbk"), [(22, 23, b"y")]),
    "far apart": (b"".join(b"%d\n" % n for n in range(100)), [(0, 1, b"x"), (150, 151, b"y"), (289, 290, b"z")]),
    "near": (b"".join(b"%d\n" % n for n in range(20)), [(0, 1, b"x"), (14, 15, b"y")]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tool", [GIT, pytest.param(PATCH, marks=needs_patch)], ids=["git", "patch"])
def test_applies(name, tool, tmp_path):
    data, edits = CASES[name]
    changes = tuple(Change(*edit) for edit in edits)
    patch = unified("sub/f.py", data, changes)
    assert applied(tmp_path, tool, "sub/f.py", data, patch) == apply(data, changes)


@pytest.mark.parametrize("path", ["a b.py", "设备.py", 'quo"te.py', "back\\slash.py", "tab\t.py"])
@pytest.mark.parametrize("tool", [GIT, pytest.param(PATCH[:-1], marks=needs_patch)], ids=["git", "patch"])
def test_names(path, tool, tmp_path):
    patch = unified(path, b"a\nb\n", (Change(0, 1, b"x"),))
    assert applied(tmp_path, tool, path, b"a\nb\n", patch) == b"x\nb\n"


def test_context_is_three_lines_and_near_hunks_are_one():
    data, edits = CASES["near"]
    patch = unified("f.py", data, tuple(Change(*edit) for edit in edits))
    assert patch.count(b"@@ ") == 1 and patch.startswith(b"--- a/f.py\n+++ b/f.py\n@@ -1,11 +1,11 @@\n-0\n+x\n 1\n")
    far, edits = CASES["far apart"]
    assert unified("f.py", far, tuple(Change(*edit) for edit in edits)).count(b"\n@@ ") == 3


def test_nothing_to_show():
    assert unified("f.py", b"a\n", ()) == b""
    assert unified("f.py", b"a\n", (Change(0, 1, b"a"),)) == b""
    same = (Change(0, 1, b"x"),)
    assert unified("f.py", b"a\n", same, same) == b""


def test_second_diff_applies_on_top_of_the_first(tmp_path):
    data = b"import torch\n\na = 1\nb = 2\nc = (3,\n     4)\nd = 5"
    insertion = Change(13, 13, b"import torch_npu\n")
    auto = (insertion, Change(14, 15, b"A"), Change(26, 38, b"c = 34"))
    review = (
        insertion,
        Change(14, 15, b"AA"),
        Change(20, 21, b"B"),
        Change(26, 38, b"c = 34"),
        Change(43, 44, b"6\n7"),
    )
    first, second = unified("f.py", data, auto), unified("f.py", data, review, auto)
    assert applied(tmp_path, GIT, "f.py", data, first) == apply(data, auto)
    assert applied(tmp_path, GIT, "f.py", apply(data, auto), second) == apply(data, review)
    assert b"torch_npu\n" not in second.replace(b" import torch_npu\n", b"")


PIECES = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\n", b"\r\n", b"\xe9", b"xy"]), max_size=40)


@st.composite
def edits(draw, data):
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2]))
    changes, at = [], -1
    for start, end in pairs:
        if start > at:
            new = b"".join(draw(st.lists(st.sampled_from([b"", b"z", b"\n", b"q\n"]), max_size=3)))
            changes.append(Change(start, end, new))
            at = end
    return tuple(changes)


def read_back(patch: bytes, data: bytes) -> bytes:
    """A patch tool in ten lines, strict about every number and every context line."""
    old, out, at = data.split(b"\n"), [], 0
    old = [line + b"\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    body = patch.split(b"\n", 2)[2] if patch else b""
    rows = [row for row in body.split(b"\n")][:-1] if body else []
    n = 0
    while n < len(rows):
        head = rows[n].split()
        start, count = (int(x) for x in head[1][1:].split(b","))
        new_start, new_count = (int(x) for x in head[2][1:].split(b","))
        first = start - 1 if count else start
        out += old[at:first]
        assert len(out) == (new_start - 1 if new_count else new_start)
        at, new, n = first, 0, n + 1
        while n < len(rows) and not rows[n].startswith(b"@@"):
            tag, line = rows[n][:1], rows[n][1:] + b"\n"
            if n + 1 < len(rows) and rows[n + 1].startswith(b"\\"):
                line, n = line[:-1], n + 1
            if tag in b" -":
                assert old[at] == line
                at += 1
            if tag in b" +":
                out.append(line)
                new += 1
            n += 1
        assert at == first + count and new == new_count
    return b"".join(out + old[at:])


@pytest.mark.slow
@settings(max_examples=examples(600), deadline=None)
@given(st.data())
def test_any_edits(data):
    text = b"".join(data.draw(PIECES))
    before, after = data.draw(edits(text)), data.draw(edits(text))
    assert read_back(unified("f", text, after), text) == apply(text, after)
    assert read_back(unified("f", text, after, before), apply(text, before)) == apply(text, after)


@pytest.mark.slow
def test_random_edits_apply_with_git(tmp_path):
    chance = random.Random(7)
    for _ in range(25):
        data = b"".join(chance.choice([b"a\n", b"b\n", b"c\r\n", b"\n", b"dd"]) for _ in range(60))
        cuts = sorted(chance.sample(range(len(data)), 8))
        changes = tuple(
            Change(s, e, chance.choice([b"", b"new", b"one\ntwo\n"])) for s, e in zip(cuts[::2], cuts[1::2])
        )
        assert applied(tmp_path, GIT, "f.py", data, unified("f.py", data, changes)) == apply(data, changes)
