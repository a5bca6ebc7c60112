"""The virtual NPU for tests: made once for an interpreter, found again by later sessions in porter's cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from porter.errors import UserError
from porter.resources import cache_dir
from porter.verify import install, interpreter


def with_torch() -> interpreter.Interpreter:
    """The interpreter that has torch; PORTER_TEST_PYTHON names one that is not this one."""
    ours = interpreter.ask(os.environ.get("PORTER_TEST_PYTHON"))
    if ours.torch is None:
        pytest.skip("torch is not installed: `make test PORTER_REQUIRE=all` installs the version porter is tested with")
    return ours


def virtual_npu() -> tuple[interpreter.Interpreter, install.Device]:
    """The interpreter that has torch, and its device."""
    if sys.platform != "linux":
        pytest.skip(f"the virtual NPU runs on Linux only, this is {sys.platform}")
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        pytest.skip("a C++ compiler is not on PATH: the virtual NPU is compiled")
    ours = with_torch()
    with _alone():
        try:
            return ours, install.find(ours)
        except UserError:
            if ours.torch_npu is None and os.environ.get("PORTER_REQUIRE") != "all":
                pytest.skip("no virtual NPU is set up: `porter verify --setup` downloads torch_npu and builds it")
            return ours, install.set_up(ours, None, lambda key, **values: None)


@contextmanager
def _alone() -> Iterator[None]:
    """Of the processes that share the suite, one makes the device; the others find it."""
    import fcntl

    cache_dir().mkdir(parents=True, exist_ok=True)
    with open(cache_dir() / "tests.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
