"""Findings of one cause: the first names the lines of the others."""

from __future__ import annotations

import json

import pytest

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.finding import FileResult
from porter.project.told_by_function import told_by_function
from porter.rulebook.texts import Texts
from porter.target import Target

LINES = [
    "import torch",
    "from torch import nn",
    "class Encoder(nn.Module):",
    "    def forward(self, keys, lengths, scores):",
    "        mask = lengths > 0",
    "        kept = lengths[mask]",
    "        chosen = torch.masked_select(keys, mask.view(-1, 1))",
    "        columns = scores[:, mask]",
    "        return self.layer(kept, chosen, columns)",
]


def told(path: str, data: bytes) -> FileResult:
    return analyse(path, data, open_session(Target(), Facts()))


def test_the_first_names_the_others() -> None:
    (finding,) = (f for f in told("a.py", "\n".join([*LINES, ""]).encode()).findings if f.code == "PRT601")
    values = dict(finding.values)
    assert (finding.line, values["also"]) == (6, "7, 8") and "together" not in values
    assert "at line 7, 8" in Texts().message(finding)


@pytest.mark.parametrize(("silenced", "alone", "first", "also"), [(6, 6, 7, "8"), (7, 7, 6, "8")])
def test_a_suppressed_place_stands_by_itself(silenced: int, alone: int, first: int, also: str) -> None:
    lines = [*LINES, ""]
    lines[silenced - 1] += "  # porter: ignore[PRT601] as meant"
    findings = [f for f in told("a.py", "\n".join(lines).encode()).findings if f.code == "PRT601"]
    assert {f.line: (f.suppressed is None, dict(f.values).get("also")) for f in findings} == {
        alone: (False, None),
        first: (True, also),
    }


def test_lines_of_a_notebook_are_those_of_its_file() -> None:
    source = [line + "\n" for line in LINES]
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    (finding,) = (f for f in told("a.ipynb", text.encode()).findings if f.code == "PRT601")
    also = [int(line) for line in dict(finding.values)["also"].split(", ")]
    assert [line.strip() for line in text.splitlines() if "masked_select" in line or "scores[:" in line] == [
        text.splitlines()[line - 1].strip() for line in also
    ]


def test_what_one_rewrite_answers_is_told_once_in_a_cell() -> None:
    loop = """import torch
for x, y in loader:
    loss, other = net(x.cuda(), y)
    loss.backward()
    optimizer.step()
    first += loss.item()
    print(first)
    second += other.item()
    print(second)
"""
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": loop.splitlines(True)}
        for _ in range(2)
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    results = told_by_function(
        [told("a.ipynb", text.encode())], lambda path: b"", lambda code, why: "read" if code == "PRT630" else ""
    )
    waits = [dict(f.values) for f in results[0].findings if f.code == "PRT630"]
    assert [(values["cell"], len(values["also"].split(", "))) for values in waits] == [("1", 1), ("2", 1)]
