"""First on PYTHONPATH of a verified run: puts the virtual NPU in place in the program, its workers and its ranks alike.

Nothing is imported before the program does: what must happen after an import hangs on that import. The environment's own
sitecustomize, if it has one, runs as it would have.
"""

import importlib.machinery
import importlib.util
import os
import random
import sys

from after_import import after_import


def _device():
    import virtual_npu  # noqa: F401


def _after_torch():
    import torch_npu  # noqa: F401
    import virtual_npu.original  # noqa: F401


def _seed_numpy():
    sys.modules["numpy"].random.seed(0)


def _hidden_one():
    """The sitecustomize that this one hides."""
    here = os.path.realpath(os.path.dirname(__file__))
    rest = [folder for folder in sys.path if os.path.realpath(folder or os.getcwd()) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("VIRTUAL_NPU_LIBRARY"):
    random.seed(0)  # both programs of a comparison draw the same where they do not seed themselves
    after_import("torch_npu", _device)
    after_import("numpy", _seed_numpy)
    if os.environ.get("VIRTUAL_NPU_ORIGINAL"):
        after_import("torch", _after_torch)
_hidden_one()
