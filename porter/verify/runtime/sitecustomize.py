"""First on PYTHONPATH of a verified run: puts the virtual NPU in place in the program, its workers and its ranks alike.

Nothing is imported before the program does: what must happen after an import hangs on that import. The environment's own
sitecustomize, if it has one, runs as it would have.
"""

import gc
import importlib.machinery
import importlib.util
import os
import random
import sys

from after_import import after_import
from moved import import_from
from ran import follow

_OF_NOBODY = 715_827_883
_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def _device():
    import torch_npu
    import virtual_npu  # noqa: F401

    torch_npu.npu.manual_seed_all(_seed())


def _after_torch():
    import torch_npu  # noqa: F401
    import virtual_npu.original  # noqa: F401


def _seed():
    """The same in both runs of a comparison, another one in each rank: where the program does not seed by itself. None
    that a program gives: a port that has lost its seed must differ."""
    return _OF_NOBODY + _number()


def _number():
    if "RANK" in os.environ:
        return int(os.environ["RANK"])
    import multiprocessing.process

    number = multiprocessing.process.current_process().name.rpartition("-")[2]  # SpawnProcess-1
    return int(number) if number.isdigit() else 0


def _seed_numpy():
    drawn = sys.modules["numpy"].random
    drawn.seed(_seed())
    # where a generator is made without a seed, as environments of gymnasium make theirs
    sources = getattr(drawn, "bit_generator", None)
    if hasattr(sources, "randbits"):
        sources.randbits = _entropy


_drawn = {}


def _entropy(bits):
    seed = _seed()  # of the process that asks, which may be a fork
    return _drawn.setdefault(seed, random.Random(seed)).getrandbits(bits)


def _seed_torch():
    sys.modules["torch"].default_generator.manual_seed(_seed())


def _vision():
    import compiled_vision

    compiled_vision.define()


def _only_starts_ranks():
    """Whether this is torchrun, told how many ranks there are: it computes nothing, and does without a device."""
    words = getattr(sys, "orig_argv", [""])[1:]
    modules = ("-m torch.distributed.run", "-m torch.distributed.launch")
    starts = any(name in " ".join(words) for name in modules) or os.path.basename("".join(words[:1])) == "torchrun"
    asked = (*(word.rpartition("=")[2] for word in words), os.environ.get("PET_NPROC_PER_NODE"))
    return starts and {"auto", "gpu", "npu"}.isdisjoint(asked)


def _without_device():
    before = os.environ.get(_AUTOLOAD)

    def again():
        os.environ.pop(_AUTOLOAD)
        if before is not None:
            os.environ[_AUTOLOAD] = before

    os.environ[_AUTOLOAD] = "0"
    after_import("torch", again)  # the ranks inherit what it was


def _hidden_one():
    """The sitecustomize that this one hides."""
    here = os.path.realpath(os.path.dirname(__file__))
    rest = [folder for folder in sys.path if os.path.realpath(folder or os.getcwd()) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("VIRTUAL_NPU_LIBRARY"):
    for _name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF"):
        os.environ.pop(_name, None)  # expandable segments are mapped by calls that the stand-ins do not have
    import_from(os.environ.get("VIRTUAL_NPU_ROOT", ""), os.environ.get("VIRTUAL_NPU_HOMES", "").split(os.pathsep))
    random.seed(_seed())
    after_import("torch_npu", _device)
    after_import("numpy", _seed_numpy)
    after_import("torch", _seed_torch)
    after_import("torchvision.extension", _vision)
    if _only_starts_ranks():
        _without_device()
    elif os.environ.get("VIRTUAL_NPU_ORIGINAL"):
        after_import("torch", _after_torch)
    # what was imported stays: to look through it for garbage, again and again and twice at exit, takes longer than an import
    after_import("torch", gc.freeze)
    if os.environ.get("VIRTUAL_NPU_EDITED"):
        follow(os.environ["VIRTUAL_NPU_EDITED"], os.environ["VIRTUAL_NPU_RECORD"])
_hidden_one()
