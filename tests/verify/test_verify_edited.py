"""Which statements of a port differ, and which of them ran."""

from __future__ import annotations

from pathlib import Path

from porter.verify.edited import not_run, statements

BEFORE = """import torch

@torch.no_grad()
def move(x):
    y = x.cuda()
    if x.is_cuda:
        return 1
    return torch.zeros(
        3,
        device="cuda",
    )
"""


def changed(tmp_path: Path, after: str, name: str = "a.py") -> dict[str, tuple[tuple[int, int], ...]]:
    for folder, text in (("old", BEFORE), ("new", after)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text, encoding="utf-8")
    return statements(tmp_path / "old", tmp_path / "new", [name])


def test_statements_that_differ_are_told_whole_and_of_one_with_a_body_its_head(tmp_path: Path) -> None:
    after = BEFORE.replace("import torch\n", "import torch\nimport torch_npu\n").replace("is_cuda", "is_npu")
    assert changed(tmp_path, after.replace('"cuda"', '"npu"')) == {"a.py": ((2, 2), (7, 7), (9, 12))}


def test_what_does_not_parse_or_is_no_python_has_no_statements(tmp_path: Path) -> None:
    assert changed(tmp_path, BEFORE + "print 1\n") == {}
    assert statements(tmp_path / "old", tmp_path / "new", ["b.sh", "absent.py"]) == {}


def test_a_statement_ran_if_one_of_its_lines_did() -> None:
    edited = {"a.py": ((2, 2), (9, 12)), "b.py": ((1, 1), (5, 5))}
    assert not_run(edited, {("b.py", 5), ("a.py", 10), ("a.py", 2)}) == ["b.py:1"]
    assert not_run(edited, {("b.py", 5)}) == ["b.py:1", "a.py:2", "a.py:9"]
    assert not_run({}, {("b.py", 5)}) == []
