"""An interpreter that has torch and torch_npu imported: to import them takes longer than to run most programs of the tests.

For what a program does, and what is said of it. How an interpreter starts, ends and is stopped is asked of a real one.
"""

from __future__ import annotations

import atexit
import dataclasses
import os
import subprocess
import time
from pathlib import Path

from porter.verify import install
from porter.verify.install import Device
from porter.verify.interpreter import Interpreter

_HERE = Path(__file__).with_name("warm")
_STARTS = 120


def warm(interpreter: Interpreter, device: Device, folder: Path) -> Interpreter:
    """It ends with the process of the tests: its standard input is a pipe that nobody writes to."""
    python, socket = folder / "bin/python", folder / "socket"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\nexec "{interpreter.path}" -IS "{_HERE / "client.py"}" "{interpreter.path}" "$0" "{socket}" "$@"\n'
    )
    python.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "VIRTUAL_NPU_", "PYTEST_"))}
    # without the library, torch_npu is imported and nothing of the device is
    server = subprocess.Popen(
        [interpreter.path, str(_HERE / "server.py"), str(socket)],
        env={**kept, **install.environment(device), "VIRTUAL_NPU_LIBRARY": ""}, cwd=folder, stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=(folder / "server.txt").open("wb"), start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + _STARTS
    while not socket.exists():
        assert server.poll() is None and time.monotonic() < until, (folder / "server.txt").read_text()
        time.sleep(0.05)
    atexit.register(server.communicate)
    return dataclasses.replace(interpreter, path=str(python))
