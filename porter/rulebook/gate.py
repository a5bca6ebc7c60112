"""Asked of every file before anything else is loaded: can it concern porter at all?"""

from __future__ import annotations

import re

# the GPU-only packages of rules/packages.toml; those that are no port's business without torch stay out
PACKAGES = """
    auto_gptq awq bitsandbytes causal_conv1d classy_vision cudf cugraph cuml cupy cupyx deep_ep deep_gemm detectron2 dgl exllama exllamav2
    fairscale fairseq faiss flash_attn flashinfer GPUtil gpustat grouped_gemm gsplat horovod hqq kaolin lightning mamba_ssm
    megablocks megatron MinkowskiEngine mmcv natten numba nvdiffrast onnxruntime pycuda py3nvml pynvml pytorch3d
    pytorch_lightning rmm spconv tensorrt tensorrt_llm tinycudann torch2trt torch_cluster torch_scatter torch_sparse
    thunder torch_tensorrt torchsparse transformer_engine triton xformers
"""
_IMPORTED = "(?:" + "|".join(PACKAGES.split()) + r")\b"


class Gate:
    """Each pattern begins with plain letters: together they are searched for at five times the speed of one for all."""

    def __init__(self, *patterns: str):
        self._searches = tuple(re.compile(pattern.encode()).search for pattern in patterns)

    def search(self, data: bytes) -> bool:
        return any(search(data) for search in self._searches)


GATE = Gate(
    r"torch\b(?<!\wtorch)",
    "cuda",
    "nccl",
    "CUDA",
    "NCCL",
    r"apex\b(?<!\wapex)",
    r"amp_C\b(?<!\wamp_C)",
    "CUBLAS",
    "CUDNN",
    "NVIDIA",
    "nvidia",
    "NVCC",
    "VLLM_WORKER",
    "TORCH_(?:ALLOC|KERNEL|NVFUSER|DEVICE_BACKEND|FR_)",
    "flash_attention_[23]",
    "load_in_[48]bit",
    "adamw_",
    r"torchvision\.ops",
    r"lightning[\w.]*\.(?:Trainer|Fabric)\b",
    r"import[ \t]+" + _IMPORTED,
    r"from[ \t]+" + _IMPORTED,
)
