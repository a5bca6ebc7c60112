"""The first things that a port does otherwise, from the events of two runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.verify.did import Event, Parting, partings, read, rewritten, suspects
from porter.verify.places import Places

BEFORE = """import torch
torch.cuda.manual_seed(7)
model = net().cuda()
x = data.cuda()
h = model(x)
loss = h.float().mean()
loss.backward()
optimizer.step()
"""
PORT = BEFORE.replace("import torch\n", "import torch\nimport torch_npu\n").replace("cuda", "npu")


def told(tmp_path: Path, text: str, old: str, new: str) -> tuple[Parting, ...]:
    """Of the port `text`; events are written as `name line given result`."""
    for folder, content in (("old", BEFORE), ("new", text)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(content, encoding="utf-8")
    return partings([events(old)], [events(new)], Places(tmp_path / "old", tmp_path / "new"))


def events(text: str) -> list[Event]:
    rows = (line.split() for line in text.strip().splitlines())
    return [Event(name, f"a.py:{line}", *content) for name, line, *content in rows]


ORIGINAL = """
    manual_seed 2 7
    aten::copy_ 3 0 w
    aten::copy_ 4 0 x
    aten::mm 5 0 h
    aten::_to_copy 6 0 f
    aten::mean 6 0 l
    backward 7 0.5
    aten::add_ 8 1 p
    aten::copy_ 4 0 x2
    aten::mm 5 0 h2
    aten::mean 6 0 l2
    backward 7 0.4
    aten::add_ 8 1 p2
"""
SAME = "\n".join(
    " ".join((name, str(int(line) + 1), *rest))
    for name, line, *rest in (text.split() for text in ORIGINAL.strip().splitlines())
)


def test_a_port_that_does_the_same_is_told_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, PORT, ORIGINAL, SAME) == ()


@pytest.mark.parametrize(
    ("old", "new", "kind", "name", "where"),
    [
        ("manual_seed 3 7", "manual_seed 3 0", "setting", "manual_seed", 3),
        ("aten::mm 6 0 h\n", "aten::mm 6 0 g\n", "numbers", "aten::mm", 6),
        ("aten::add_ 9 1 p\n", "aten::add_ 9 2 p\n", "arguments", "aten::add_", 9),
        ("manual_seed 3 7\n", "", "only-original", "manual_seed", 3),
    ],
)
def test_the_first_thing_that_is_otherwise_is_named(tmp_path: Path, old, new, kind, name, where) -> None:
    assert old in SAME
    first = told(tmp_path, PORT, ORIGINAL, SAME.replace(old, new))[0]
    assert (first.kind, first.name, first.where, first.original_where) == (
        kind,
        name,
        f"a.py:{where}",
        f"a.py:{where - 1}",
    )


def test_where_the_port_stops_what_it_lacks_is_told_at_the_line_that_was_changed(tmp_path: Path) -> None:
    text = PORT.replace("x = data.npu()", "x = data")
    stopped = SAME.partition("aten::copy_ 5")[0]
    first = told(tmp_path, text, ORIGINAL + "end 0 0", stopped + "end 0 0")[0]
    assert (first.kind, first.name, first.where) == ("only-original", "aten::copy_", "a.py:5")
    (tmp_path / "killed").mkdir()
    assert told(tmp_path / "killed", text, ORIGINAL + "end 0 0", stopped) == ()  # whatever it did after that


def test_what_both_get_over_is_told_where_the_port_was_changed_and_nowhere_else(tmp_path: Path) -> None:
    text = PORT.replace("h.float()", "h")
    without = SAME.replace("aten::_to_copy 7 0 f\n", "")
    assert [p.name for p in told(tmp_path, text, ORIGINAL, without)] == ["aten::_to_copy"]
    (tmp_path / "again").mkdir()
    elsewhere = SAME.replace("aten::_to_copy 7 0 f\n", "aten::_to_copy 7 0 f\naten::clone 6 0 h\n")
    assert told(tmp_path / "again", PORT, ORIGINAL, elsewhere) == ()  # of a library that goes another way


def test_numbers_that_nobody_uses_are_no_difference(tmp_path: Path) -> None:
    """Memory that was not written to before it was copied."""
    copied = "aten::copy_ 4 0 {}\n    aten::mm 5 0 h\n    aten::_to_copy"
    old = ORIGINAL.replace("aten::mm 5 0 h\n    aten::_to_copy", copied.format("noise"))
    new = SAME.replace("aten::mm 6 0 h\naten::_to_copy", "aten::copy_ 5 0 other\naten::mm 6 0 h\naten::_to_copy")
    assert old != ORIGINAL and new != SAME
    parted = new.replace("backward 8 0.4\naten::add_ 9 1 p2", "backward 8 0.3\naten::add_ 9 1 q2")
    assert parted != new
    assert [p.name for p in told(tmp_path, PORT, old, parted)] == ["backward"]


def test_where_no_event_stands_at_a_changed_line_the_changed_statements_that_ran_are_told(tmp_path: Path) -> None:
    text = PORT.replace("import torch_npu\n", "import torch_npu\nscale = 2\nnever = 3\n")
    found = told(tmp_path, text, ORIGINAL, SAME.replace("aten::mm 6 0 h\n", "aten::mm 6 0 g\n"))
    places = Places(tmp_path / "old", tmp_path / "new")
    edited = {"a.py": ((2, 2), (3, 3), (4, 4), (5, 5))}  # the last is merely renamed
    ran = {("a.py", line) for line in (2, 3, 5)}
    assert [(p.kind, p.where) for p in suspects((), edited, ran, places)] == [("changed", "a.py:3")]
    at_changed = (Parting("numbers", "aten::mm", "a.py:4", "a.py:2"), *found)
    assert suspects(at_changed, edited, ran, places) == ()
    assert list(rewritten({"a.py": ((2, 3), (4, 5))}, {("a.py", 2), ("a.py", 5)}, places)) == ["a.py:3", "a.py:4"]


def test_events_are_read_by_process_and_what_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "1-7.events").write_text("b\ta.py:1\tx\ty\n")
    (tmp_path / "0-12.events").write_text("aten::mm\ta.py:1\t1\t2\naten::mm\ta.py:1\t1")
    (tmp_path / "0-3.events").write_text("end\t\t\n")  # of a launcher
    assert read(tmp_path) == [[Event("aten::mm", "a.py:1", "1", "2")], [Event("b", "a.py:1", "x", "y")]]


def places_of(folder: Path, original: str, port: str) -> Places:
    for name, content in (("old", original), ("new", port)):
        (folder / name).mkdir()
        (folder / name / "a.py").write_text(content, encoding="utf-8")
    return Places(folder / "old", folder / "new")


def test_places_follow_the_lines_of_the_port(tmp_path: Path) -> None:
    places = places_of(tmp_path, BEFORE, PORT.replace("h = model(x)\n", ""))
    assert places.in_port("a.py:1") == "a.py:1"
    assert places.in_port("a.py:8") == "a.py:8"
    assert places.in_port("a.py:3") == "a.py:4"
    assert places.correspond("a.py:3", "a.py:4") and not places.correspond("a.py:8", "a.py:7")
    assert [line for line in range(1, 9) if places.is_changed(f"a.py:{line}")] == [2, 5, 6]  # merely renamed: 3 and 4
    assert places.in_port("absent.py:3") == "absent.py:3" and not places.is_changed("absent.py:3")


def test_what_was_taken_out_at_the_end_stands_at_the_last_line(tmp_path: Path) -> None:
    places = places_of(tmp_path, "x = 1\ny = 2\nz = 3\n", "x = 1\n")
    assert [places.in_port(f"a.py:{line}") for line in (1, 2, 3)] == ["a.py:1", "a.py:1", "a.py:1"]
    assert places.is_changed("a.py:1")


def test_no_line_of_an_import_is_a_rewritten_statement(tmp_path: Path) -> None:
    original = "from apex.optimizers import (\n    FusedAdam,\n)\nmade = FusedAdam(\n    x,\n)\n"
    port = "from torch.optim import (\n    AdamW as FusedAdam,\n)\nmade = FusedAdam(\n    y,\n)\n"
    places = places_of(tmp_path, original, port)
    assert [line for line in range(8) if places.is_rewritten(f"a.py:{line}")] == [5]
