"""Asks the interpreter that will run the user's program what it has. It answers in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from porter.errors import UserError

# the program that the interpreter runs; the last line that it prints is JSON
_ASK = """
import importlib.metadata, importlib.util, json, platform, runpy, sys, sysconfig
found = {"python": platform.python_version(), "tag": sys.implementation.cache_tag, "machine": platform.machine(),
         "system": platform.system(), "headers": sysconfig.get_paths()["include"]}
for name in ("torch", "torch_npu", "numpy", "yaml"):
    spec = importlib.util.find_spec(name)
    found[name] = spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else ""
for name in ("torch", "torch_npu"):
    try:
        found[name + "_version"] = importlib.metadata.version(name) if found[name] else ""
    except importlib.metadata.PackageNotFoundError:
        found[name + "_version"] = ""
if found["torch"]:  # a file of its own: to import torch takes a second
    found["torch_version"] = runpy.run_path(found["torch"] + "/version.py")["__version__"]
print(json.dumps(found))
"""
_ASK_ABI = "import torch; print(int(torch.compiled_with_cxx11_abi()))"


@dataclass(frozen=True, slots=True)
class Interpreter:
    path: str
    python: str
    tag: str  # cpython-311
    machine: str
    system: str
    headers: Path
    torch: Path | None
    torch_version: str  # with the local part: 2.7.1+cpu
    torch_npu: Path | None
    torch_npu_version: str
    lacks: tuple[str, ...]  # packages that torch_npu imports and the interpreter does not have

    @property
    def torch_release(self) -> str:
        return self.torch_version.partition("+")[0]


def ask(path: str | None = None) -> Interpreter:
    """`path`: a file or a command; None is the interpreter that runs porter. Raises UserError if it does not answer."""
    # An absolute path, because runs start in other folders. Links are not resolved: by its link, Python knows that it is in a
    # virtual environment.
    python = os.path.abspath(shutil.which(path) or path) if path else sys.executable
    found = json.loads(_answer(python, _ASK))
    return Interpreter(
        path=python,
        python=found["python"],
        tag=found["tag"],
        machine=found["machine"],
        system=found["system"],
        headers=Path(found["headers"]),
        torch=Path(found["torch"]) if found["torch"] else None,
        torch_version=found["torch_version"],
        torch_npu=Path(found["torch_npu"]) if found["torch_npu"] else None,
        torch_npu_version=found["torch_npu_version"],
        # names of imports, all of which _ASK looks for; _PACKAGES of install.py has what pip calls them
        lacks=tuple(name for name in ("numpy", "yaml") if not found[name]),
    )


def cxx11_abi(ours: Interpreter) -> bool:
    """Of its torch. Raises UserError if that cannot be imported."""
    return _answer(ours.path, _ASK_ABI, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "1"


def _answer(python: str, program: str, **settings: str) -> str:
    """The last line that the program prints."""
    try:
        done = subprocess.run(
            [python, "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ, **settings}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{python}: cannot be run: {error}", f"{python}：无法运行：{error}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise UserError(f"{python}: cannot be asked for its torch: {said[0]}", f"{python}：无法查询其 torch：{said[0]}")
    return done.stdout.strip().splitlines()[-1]
