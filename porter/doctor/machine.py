"""What is installed here: versions from metadata and version files. Nothing is imported, nothing is run."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from porter.files.read import beginning
from porter.regex import lazy

HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")  # set by CANN's set_env.sh
USUAL = ("usr/local/Ascend/ascend-toolkit/latest", "usr/local/Ascend/cann")
_INSTALLED = ("*-linux/ascend_toolkit_install.info", "ascend_toolkit_install.info", "*/ascend_cann_install.info", "version.cfg",
              "runtime/version.info", "compiler/version.info")  # fmt: skip
_VERSION = lazy(r"(?im)^(?:version|\w*running_version)\s*=\s*\[?(?:[\d.]+:)?([\w.]+)")
_LARGEST = 1_000_000
_RELEASE = lazy(r"\d+\.\d+(?:\.(?:RC|alpha|beta)?\d+)*(?:\.\w+)?", re.IGNORECASE)


class Cann(NamedTuple):
    path: str
    version: str  # "" where no file tells
    variable: str  # that names the path; "" where it lies in the usual place and no variable names it
    exists: bool


class Machine(NamedTuple):
    python: str
    system: str
    torch: str  # "" for what is not installed
    torch_is_cuda: bool
    torch_npu: str
    cann: Cann | None
    driver: str
    devices: int


def look(environ: Mapping[str, str], root: Path) -> Machine:
    """`root` is where the file system begins."""
    torch, npu = _installed("torch"), _installed("torch_npu")
    driver = _read(root / "usr/local/Ascend/driver/version.info")
    match = re.search(r"(?im)^version\s*=\s*(\S+)", driver)
    return Machine(
        platform.python_version(),
        f"{platform.system()} {platform.machine()}",
        torch.version if torch else "",
        torch is not None and _for_cuda(torch),
        npu.version if npu else "",
        _cann(environ, root),
        match[1] if match else "",
        sum(1 for name in _names(root / "dev") if re.fullmatch(r"davinci\d+", name)),
    )


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _for_cuda(torch: Distribution) -> bool:
    _, plus, local = torch.version.partition("+")
    if plus:
        return local.startswith("cu")
    return any(re.match(r"nvidia[-_]|cuda[-_]", need) for need in torch.requires or ())


def _cann(environ: Mapping[str, str], root: Path) -> Cann | None:
    for variable in HOMES:
        if path := environ.get(variable):
            home = root / path.lstrip("/") if root != Path("/") else Path(path)
            return Cann(path, _version(home), variable, home.is_dir())
    for usual in USUAL:
        if (root / usual).is_dir():
            return Cann(f"/{usual}", _version(root / usual), "", True)
    return None


def _version(home: Path) -> str:
    for pattern in _INSTALLED:
        for file in sorted(home.glob(pattern)):
            if (match := _VERSION.search(_read(file))) and _RELEASE.fullmatch(match[1]):
                return match[1]
    names = (home.name, os.path.basename(os.path.realpath(home)))
    return next((name for name in names if _RELEASE.fullmatch(name)), "")


def _read(file: Path) -> str:
    return (beginning(file, _LARGEST) or b"").decode("utf-8", "replace")


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
