"""A round of benchmarks/interrupted.py with a small tree: real processes, real signals."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from files_world import CHECKOUT, POSIX

pytestmark = pytest.mark.slow


@POSIX
def test_nothing_is_lost_in_a_round() -> None:
    script = str(CHECKOUT / "benchmarks/interrupted.py")
    words = ["--rounds", "1", "--files", "40", "--only", "out", "inplace"]
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"seed \d+, 1 rounds of each command, 40 files\n", done.stdout)
    assert done.stdout.endswith("violations: 0\n")
    assert all(f"\n{name}: " in done.stdout for name in ("out", "inplace"))
