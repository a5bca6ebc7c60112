"""`porter diagnose` over logs as trainings really write them: tests/diagnose/logs, and its table of what each is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli
from diagnose_logs import diagnosed

LOGS = Path(__file__).with_name("logs")
TABLE = tomli.loads((LOGS / "table.toml").read_text(encoding="utf-8"))["log"]
LEDGER = Path(__file__).parents[2] / "benchmarks" / "ledgers" / "diagnose.jsonl"


def verdict(file: str) -> str:
    """The cause that is named first, or "unknown"."""
    diagnosis = diagnosed((LOGS / file).read_bytes())
    return diagnosis.answers[0].name if diagnosis.known else "unknown"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["file"])
def test_the_right_cause_comes_first(row):
    assert verdict(row["file"]) == row["cause"]


def test_every_log_is_in_the_table_and_in_the_ledger():
    files = [row["file"] for row in TABLE]
    assert sorted(files) == sorted(path.name for path in LOGS.glob("*.log"))
    judged = [json.loads(line) for line in LEDGER.read_text(encoding="utf-8").splitlines()]
    told = [(row["link"], row["format"], row["cause"], row["after"]) for row in judged]
    assert told == [(row["link"], row["format"], row["cause"], row["cause"]) for row in TABLE]


def test_they_are_of_many_formats():
    assert sum(row["cause"] != "unknown" for row in TABLE) >= 60
    assert sum(row["cause"] == "unknown" for row in TABLE) >= 30
    assert len({row["format"] for row in TABLE if row["cause"] != "unknown"}) >= 12


@pytest.mark.parametrize(
    ("line", "npu"),
    [
        ("NPU function error, error code is 507010", True),
        ("EK0001: [PID: 7] bad path, runtime result = 507054", True),
        ("ERR05321 of a mail server, error code: 404", False),
        ("order 507054 was sent", False),
    ],
)
def test_what_codes_say_of_the_program(line, npu):
    assert diagnosed(f"{line}\n".encode()).log.npu == npu
