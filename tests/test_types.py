"""Every type holds, by the strictest rules that mypy has: pyproject.toml says what is left out, and why.

What `make types` has checked is not checked again: they share one cache.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.usefixtures("needs_mypy"), pytest.mark.slow]


def said(*files: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "mypy", *files], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_every_type_holds() -> None:
    code, told = said()
    assert code == 0, told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("from porter.target import Target\n\nTarget(1)\n", "arg-type"),
        ("def f(x):\n    return x\n", "no-untyped-def"),
        ("def f(x: list) -> None: ...\n", "type-arg"),
    ],
    ids=["a wrong argument", "no types", "half a type"],
)
def test_a_planted_mistake_is_noticed(tmp_path: Path, text: str, why: str) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(text)
    code, told = said(str(planted))
    assert code == 1 and f"[{why}]" in told
