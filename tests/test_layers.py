"""Imports only point down, and no two modules need each other: pyproject.toml says which room stands where."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def said(linter: Path, folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [linter, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


def test_the_house_stands(needs_linter: Path) -> None:
    code, told = said(needs_linter, ROOT)
    assert code == 0, told


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("engine/session.py", "def later():\n    from porter.checks.registry import load  # noqa: F401\n", "down"),
        ("errors.py", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import porter.cli.app\n", "down"),
        ("report/model.py", "def later():\n    import porter.report.json  # noqa: F401\n", "circles"),
        ("stray.py", "", "down"),
    ],
    ids=["deferred", "for a type checker", "circle", "a module that is on no floor"],
)
def test_a_planted_import_is_noticed(needs_linter: Path, tmp_path: Path, module: str, line: str, broken: str) -> None:
    shutil.copytree(ROOT / "porter", tmp_path / "porter", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "porter" / module).open("a") as file:
        file.write("\n" + line)
    code, told = said(needs_linter, tmp_path)
    assert code == 1 and f"{broken} BROKEN" in told
