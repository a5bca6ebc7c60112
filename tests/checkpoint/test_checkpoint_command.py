"""`porter checkpoint` as a user runs it: exit codes, formats, languages, and bytes that nobody may choose."""

from __future__ import annotations

import json
import re

import pytest
from checkpoint_world import G, R, W, f4, numpy, pickled, safetensors, zipped
from command_line import Porter

from porter.exits import FOUND, OK, USAGE
from porter.rulebook.words import words

HAN = re.compile(r"[一-鿿]")


@pytest.fixture
def porter(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    (folder / "empty").mkdir(parents=True)
    weights = {f"layers.{n}.w": W(f4(n, 2), (2,), device="cuda:0") for n in range(12)}
    state = {0: {"exp_avg": W(f4(1), (1,))}}
    optimiser = {"state": state, "param_groups": [{"lr": 0.1, "params": [0]}]}
    tree = {"model": weights | {"tied": W(f4(5), (1,), key="t"), "head": W(f4(5), (1,), key="t", frozen=True)}}
    (folder / "a.pt").write_bytes(zipped(tree | {"optimizer": optimiser, "epoch": 3, "args": "x\x1b[31m"}))
    rows = {f"layers.{n}.w": ("F32", (2,), f4(n + (n == 5), 2)) for n in range(12)}
    (folder / "b.safetensors").write_bytes(
        safetensors(rows | {"tied": ("F32", (1,), f4(5)), "new": ("F32", (3,), bytes(12))})
    )
    (folder / "run.pkl").write_bytes(pickled({"w": R(G("os", "system"), ("rm -rf /",)), "n": R(G("my", "Net"), ())}))
    return Porter(monkeypatch, folder)


def test_inspect(porter):
    answer, again = porter("checkpoint", "inspect", "a.pt"), porter("checkpoint", "inspect", "a.pt")
    assert (answer.code, answer.err) == (OK, "") and answer.out == again.out
    text = answer.text
    assert "a.pt: torch.save (zip), 15 tensors, 26 parameters" in text
    assert re.search(r"model\.layers\.\{0\.\.11\}\.w +float32 \[2\] +× 12", text)
    assert "model.tied = model.head" in text and "frozen: 1 of 1" in text and "epoch = 3" in text
    assert "exp_avg × 1" in text and "lr 0.1" in text
    assert "12 tensors are stored as cuda:0" in text and 'map_location="cpu"' in text
    assert "\x1b" not in text
    every = porter("checkpoint", "inspect", "a.pt", "--all").text
    assert "model.layers.7.w" in every and "model.layers.7.w" not in text
    chinese = porter("checkpoint", "inspect", "a.pt", "--lang", "zh").text
    assert HAN.search(chinese) and not HAN.search(text) and len(chinese.splitlines()) == len(text.splitlines())


def test_what_would_run_is_told_first_of_all(porter):
    text = porter("checkpoint", "inspect", "run.pkl").text
    assert "import and could call os.system('rm -rf /')" in text and "refuses 1 names: my.Net" in text
    found = json.loads(porter("checkpoint", "inspect", "run.pkl", "--format", "json").text)
    rows = {row["name"]: (row["weights_only"], row["runs"]) for row in found["globals"]}
    assert rows == {"os.system": (False, True), "my.Net": (False, False)}


def test_compare(porter):
    numpy()
    answer = porter("checkpoint", "compare", "a.pt", "b.safetensors")
    assert (answer.code, answer.err) == (FOUND, "")
    assert "1 of 13 tensors differ, 1 are missing in the candidate, 1 are in the candidate alone" in answer.text
    assert re.search(r"layers\.5\.w +values +1 +0\.5", answer.text) and "13 by name" in answer.text
    assert re.search(r"missing in the candidate\n  head", answer.text) and re.search(
        r"candidate alone\n  new", answer.text
    )
    assert (
        "baseline alone: 1 tensors of an optimiser" in answer.text and "baseline: 12 tensors are stored" in answer.text
    )
    chinese = porter("checkpoint", "compare", "a.pt", "b.safetensors", "--lang", "zh")
    assert HAN.search(chinese.text) and not HAN.search(answer.text) and chinese.code == FOUND
    assert len(chinese.text.splitlines()) == len(answer.text.splitlines())
    assert porter("checkpoint", "compare", "a.pt", "a.pt").code == OK


@pytest.mark.parametrize(("command", "names"), [("inspect", ["a.pt"]), ("compare", ["a.pt", "b.safetensors"])])
def test_documents(porter, command, names):
    if command == "compare":
        numpy()
    shown = porter("checkpoint", command, *names, "--format", "json")
    text = porter("checkpoint", command, *names, "-o", "out.json").text
    written = (porter.folder / "out.json").read_bytes()
    assert shown.out == written and json.loads(written)["schema"] == 1
    porter("checkpoint", command, *names, "-o", "out.txt")
    assert (porter.folder / "out.txt").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("inspect", "absent.pt"), "absent.pt: no such file"),
        (("inspect", "a.pt", "--format", "xml"), "--format: 'xml' is none of text, json"),
        (("inspect", "a.pt", "-o", "a.html"), "--output: 'a.html' ends in none of .json, .txt"),
        (("compare", "a.pt"), "Missing argument"),
        (("compare", "a.pt", "b.safetensors", "--tolerance", "-1"), "--tolerance"),
        (("compare", "a.pt", "empty"), "empty: no checkpoint in this folder"),
    ],
)
def test_usage(porter, args, message):
    answer = porter("checkpoint", *args)
    assert (answer.code, answer.out) == (USAGE, b"") and message in answer.err and answer.err.count("\n") == 1


def test_each_note_and_error_is_said_somewhere():
    """By the end of its key, of which the room makes the rest."""
    from pathlib import Path

    import porter.checkpoint as room

    code = "".join(path.read_text("utf-8") for path in Path(room.__file__).parent.glob("*.py"))
    for key in words("checkpoint", "en"):
        kind, _, name = key.partition(".")
        if kind in ("note", "error", "differs", "format", "how"):
            assert f'"{name}"' in code or f"{name}" in ("megatron", "sharded", "transposed"), key
