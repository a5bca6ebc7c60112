"""The device of the real torch_npu, computing on the CPU. Imported right after torch_npu, by sitecustomize.

torch_npu was loaded on stand-ins for CANN; the library replaces the kernels it registered. Settings, all from the
environment, so that workers and ranks have them too:

    VIRTUAL_NPU_LIBRARY   the compiled library
    VIRTUAL_NPU_DEVICES   how many NPUs there are
    VIRTUAL_NPU_RANDOM    "cpu": random kernels draw from the CPU's generator, to compare with a run on the plain CPU
    VIRTUAL_NPU_ORIGINAL  set for a program written for CUDA: its names are translated
    VIRTUAL_NPU_RECORD    folder for what is recorded: losses, gradient norms, operators
    VIRTUAL_NPU_EVENTS    set where all that a run does is recorded, in order, to be compared with another run's
    VIRTUAL_NPU_DIFFERENCES   which documented differences of a target the device has (see differences.py)
    VIRTUAL_NPU_UPDATES   folder for the first updates of the parameters (see updates.py)
"""

import importlib.util
import os

import torch
import torch_npu  # noqa: F401
from after_import import after_import


def _load():
    spec = importlib.util.spec_from_file_location("virtual_npu_native", os.environ["VIRTUAL_NPU_LIBRARY"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _carry_hccl():
    def create(options, _):
        from torch.distributed import ProcessGroupGloo

        gloo = ProcessGroupGloo(options.store, options.group_rank, options.group_size, options.timeout)
        return native.HcclOnGloo(gloo, options.store)

    plugin = torch.distributed.Backend._BackendPlugin(create, True)
    for name in ("HCCL", "LCCL"):
        torch.distributed.Backend._plugins[name] = plugin


native = _load()
from virtual_npu import differences

differences.install(native)
counts = native.install(os.environ.get("VIRTUAL_NPU_RANDOM") == "cpu")

from virtual_npu import operators, sharding  # the first registers the references of the npu:: operators

differences.define(native, operators.register.kernel)

# One backward thread: the same order of additions in every run, and the user's line is known there too.
torch._C._set_multithreading_enabled(False)
if torch.distributed.is_available():
    _carry_hccl()
    after_import("torch.distributed.tensor", sharding.register)
if os.environ.get("VIRTUAL_NPU_RECORD"):
    from virtual_npu import record

    record.start(os.environ["VIRTUAL_NPU_RECORD"])
