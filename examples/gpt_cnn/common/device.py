"""Where tensors live, and in which precision they are multiplied there."""

import os

import torch


def pick_device(name="cuda", local_rank=0):
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit("no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or pass --device cpu")
    if name == "cuda":
        return torch.device("cuda", local_rank)
    return torch.device(name)


def describe(device):
    if device.type != "cuda":
        return str(device)
    properties = torch.cuda.get_device_properties(device)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    name = torch.cuda.get_device_name(device=device)
    return f"{name}, {properties.total_memory / 2**30:.0f} GiB, visible: {visible}"


def compute_dtype(precision, device):
    """bf16 needs no loss scaling but an Ampere GPU or newer; fp16 runs everywhere."""
    if precision != "auto":
        return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    if "cuda" not in str(device):
        return torch.float32
    major, _ = torch.cuda.get_device_capability(device)
    return torch.bfloat16 if major >= 8 and torch.cuda.is_bf16_supported() else torch.float16


def allow_tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
