"""An interpreter that has torch imported, and torch_npu: to import them takes longer than to run most programs of the tests.

For what a program does, and what is said of it. How an interpreter starts, ends and is stopped is asked of a real one.
"""

from __future__ import annotations

import atexit
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from porter.verify import install
from porter.verify.install import Device
from porter.verify.interpreter import Interpreter

_HERE = Path(__file__).with_name("warm")
_STARTS = 120


def warm(interpreter: Interpreter, device: Device, folder: Path) -> Interpreter:
    # without the library, torch_npu is imported and nothing of the device is
    environment = {**install.environment(device), "VIRTUAL_NPU_LIBRARY": ""}
    python = _started(interpreter.path, folder, ("numpy", "torch", "torch_npu"), environment)
    return dataclasses.replace(interpreter, path=python)


def warm_torch(folder: Path) -> str:
    """The interpreter of the tests, with torch alone."""
    return _started(sys.executable, folder, ("torch",), {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMP_NUM_THREADS": "1"})


def _started(interpreter: str, folder: Path, imports: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """It ends with the process of the tests: its standard input is a pipe that nobody writes to."""
    python, socket = folder / "bin/python", folder / "socket"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\nexec "{interpreter}" -IS "{_HERE / "client.py"}" "{interpreter}" "$0" "{socket}" "$@"\n'
    )
    python.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "VIRTUAL_NPU_", "PYTEST_"))}
    server = subprocess.Popen(
        [interpreter, str(_HERE / "server.py"), str(socket), *imports],
        env={**kept, **environment}, cwd=folder, stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=(folder / "server.txt").open("wb"), start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + _STARTS
    while not socket.exists():
        assert server.poll() is None and time.monotonic() < until, (folder / "server.txt").read_text()
        time.sleep(0.05)
    atexit.register(server.communicate)
    return str(python)
