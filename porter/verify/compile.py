"""Compiles native/virtual_npu.cpp against the torch and torch_npu at hand.

The source of this module is part of the key of a device (`place_of` of install.py): after a change, devices are made again.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from porter.errors import UserError
from porter.verify.standins import NATIVE

MODULE = "virtual_npu_native"
# macros that the headers of torch ask for, and the name of the module that Python imports
_DEFINES = ("USE_C10D", "USE_DISTRIBUTED", "TORCH_API_INCLUDE_EXTENSION_H", f"TORCH_EXTENSION_NAME={MODULE}")


def compile_library(torch: Path, torch_npu: Path, headers: Path, cxx11_abi: bool, output: Path) -> None:
    """Replaces `output` by the new library, once that is complete. `headers`: the folder with Python.h of the interpreter
    that will load it."""
    includes = (
        torch / "include",
        torch / "include/torch/csrc/api/include",
        torch_npu / "include",
        torch_npu / "include/third_party/acl/inc",
        headers,
    )
    if not (headers / "Python.h").exists():
        raise UserError(
            f"{headers}: no Python.h; install the headers of this Python, e.g. the package python3-dev",
            f"{headers}：缺少 Python.h；请安装该 Python 的头文件，例如 python3-dev",
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    # -w: warnings are off, as most are about the headers of torch
    command = [
        os.environ.get("CXX", "c++"), "-shared", "-fPIC", "-std=c++20", "-O2", "-w",
        *(f"-D{name}" for name in _DEFINES), f"-D_GLIBCXX_USE_CXX11_ABI={int(cxx11_abi)}",
        *(f"-I{folder}" for folder in includes), str(NATIVE / "virtual_npu.cpp"), "-o", str(temporary),
        f"-L{torch / 'lib'}", "-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_python",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise UserError(
            f"{command[0]}: {error.strerror}; the virtual NPU needs a C++20 compiler",
            f"{command[0]}：{error.strerror}；虚拟 NPU 需要支持 C++20 的编译器",
        ) from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-3:]
        why = said[0] if said else done.returncode
        raise UserError(
            f"{command[0]} could not compile the virtual NPU: {why}", f"{command[0]} 未能编译虚拟 NPU：{why}"
        )
    os.replace(temporary, output)
