"""Notebooks that a program beside them repeats."""

from __future__ import annotations

import json

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.project.notebook_twins import loaders_repeated
from porter.run.gather import gather
from porter.target import Target

LOADER = "loader = DataLoader(train_set, shuffle=True)"
STEPS = ["for batch in loader:", "    model(batch).backward()"]
PROGRAM = "\n".join(
    [
        "from torch.utils.data import DataLoader",
        "def main(model, train_set):",
        f"    {LOADER}",
        *(f"    {step}" for step in STEPS),
        "",
    ]
)


def notebook(*lines: str) -> bytes:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "\n".join(lines)}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def test_only_what_the_program_says_as_well() -> None:
    books = {
        "a/same.ipynb": notebook(LOADER),
        "a/more.ipynb": notebook(LOADER, "other = DataLoader(valid)"),
        "a/none.ipynb": notebook("x = 1"),
        "a/alone.ipynb": notebook(LOADER),
        "a/broken.ipynb": b'{"cells": 3}',
    }
    programs = {f"a/{name}.py": PROGRAM.encode() for name in ("same", "more", "none", "broken")}
    assert [*loaders_repeated([*books, *programs], programs, books.get)] == ["a/same.ipynb"]


def test_the_loader_is_told_once(tmp_path) -> None:
    imports = "from torch.utils.data import DataLoader"
    for name in ("train", "other"):
        (tmp_path / f"{name}.ipynb").write_bytes(notebook(imports, LOADER, *STEPS))
    (tmp_path / "train.py").write_text(PROGRAM)
    files = ["other.ipynb", "train.ipynb", "train.py"]
    session = open_session(Target(), gather(tmp_path, files))
    told = {path: {f.code for f in analyse(path, (tmp_path / path).read_bytes(), session).findings} for path in files}
    assert "PRT633" in told["train.py"] and "PRT633" in told["other.ipynb"]
    assert "PRT633" not in told["train.ipynb"]
