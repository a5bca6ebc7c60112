"""The style portable on a Mac, whose accelerator torch can be told to name without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FIXTURE = Path(__file__).parents[1] / "fixtures/PRT101_portable_macs"
MAC = """
import runpy, sys, torch
torch.accelerator.current_accelerator = lambda *_, **__: torch.device("mps")
torch.accelerator.is_available = lambda: True
torch.accelerator.device_count = lambda: 1
sys.path.insert(0, sys.argv[1])
runpy.run_path(sys.argv[1] + "/program.py", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.usefixtures("needs_torch")
def test_what_lacks_names_there_stays_on_the_cpu(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    for source, name in (("before.py", "program.py"), ("seed.py", "seed.py")):
        (before / name).write_bytes((FIXTURE / source).read_bytes())
    command = [sys.executable, "-m", "porter", "migrate", str(before), "--style", "portable", "--out", str(after)]
    subprocess.run(command, capture_output=True, check=True)
    said = [
        subprocess.run([sys.executable, "-c", MAC, str(folder)], capture_output=True, text=True, check=True).stdout
        for folder in (before, after)
    ]
    assert said[0] == said[1] and said[0].endswith(" cpu\n")
    assert b"accelerator_module.manual_seed_all" in (after / "seed.py").read_bytes()
