"""Which documented differences of a target the device has, from VIRTUAL_NPU_DIFFERENCES: "hf32-conv=on saturation=watch".

watch   its calls are counted, nothing is changed
on      unless the program itself sets it otherwise: torch.npu.conv.allow_hf32 = False, say
force   whatever the program sets

float32-casts is the other way round: torch_npu's own code has it in every run, and `on` takes it out.
"""

import os

import torch
import torch_npu

# what a program sets with torch_npu's own functions, and the values with which the difference is there
_SETTINGS = {
    "ALLOW_CONV_HF32": ("hf32-conv", ("enable",)),
    "ALLOW_MATMUL_HF32": ("hf32-matmul", ("enable",)),
    "CUBE_MATH_TYPE": ("hf32-matmul", ("1", "3")),
    "ACL_PRECISION_MODE": ("fp16-products", ("allow_fp32_to_fp16",)),
    "TORCH_NPU_USE_COMPATIBLE_IMPL": ("tanh-gelu", ("0",)),
}
_OFF_UNLESS_SET = "hf32-matmul"
_states = dict(word.split("=") for word in os.environ.get("VIRTUAL_NPU_DIFFERENCES", "").split())
_told = {}  # what the program set


def install(native):
    """Before the kernels are: some are only put in place for a difference."""
    for name, state in _states.items():
        native.differ(name, state != "watch")
    if not _states:
        return
    if _states.get(_OFF_UNLESS_SET) == "on":
        native.allow(_OFF_UNLESS_SET, False)
    _follow_settings(native)
    if _is_on("no-bfloat16"):
        torch_npu._C._npu_is_bf16_supported = lambda: False
        _load_without_bfloat16()
    if _is_on("saturation"):
        torch_npu._C._npu_is_support_inf_nan = lambda: False


def define(native, kernel):
    """The flag that a loss scaler reads on a chip that saturates."""
    if not _is_on("saturation"):
        return

    @kernel("npu_get_float_status")
    def status(x):
        return torch.tensor([float(native.overflowed(False)), *[0.0] * 7])

    @kernel("npu_clear_float_status")
    def clear(x):
        native.overflowed(True)
        return torch.zeros(8)


def rows(native):
    """What was recorded: kind, name, value, place."""
    yield from (("setting", name, value, "") for name, value in _told.items())
    for name, operator, where, calls, changed, furthest in native.moved():
        yield (
            "moved",
            name,
            {"operator": operator, "calls": calls, "changed": changed, "furthest": furthest.hex()},
            where,
        )


def _is_on(name):
    return _states.get(name) in ("on", "force")


def _follow_settings(native):
    set_option = torch_npu._C._npu_setOption

    def told(option):
        found = set_option(option)
        for key, (name, values) in _SETTINGS.items():
            if key in option and name in _states:
                _told[name] = allowed = str(option[key]) in values
                if _states[name] != "force" and not (_states[name] == "watch" and name == _OFF_UNLESS_SET):
                    native.allow(name, allowed)
        return found

    torch_npu._C._npu_setOption = told
    if os.environ.get("TORCH_NPU_USE_COMPATIBLE_IMPL") == "1" and "tanh-gelu" in _states:
        _told["tanh-gelu"] = False
        native.allow("tanh-gelu", False)


def _load_without_bfloat16():
    """A tensor that is put on a loaded storage would read its bits as those of another type: it is converted before."""
    rebuild = torch._utils._rebuild_tensor

    def rebuilt(storage, *layout):
        if storage.dtype != torch.bfloat16 or storage.device.type != "npu":
            return rebuild(storage, *layout)
        return rebuild(storage.cpu(), *layout).to(storage.device)

    torch._utils._rebuild_tensor = rebuilt
