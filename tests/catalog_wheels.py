"""Two small wheels with every trap that the real ones hold, made on the spot."""

from __future__ import annotations

import zipfile
from pathlib import Path

TORCH_NPU = {
    "torch_npu/__init__.py": """
        __all__ = ["HiFloat8Tensor"]
        import torch
        import torch_npu.npu
    """,
    "torch_npu/utils/exposed_api.py": """
        public_npu_functions = ["npu_swiglu", "npu_rms_norm"]
    """,
    "torch_npu/npu/__init__.py": """
        __all__ = ["synchronize", "FloatTensor", "mstx", "matmul", "Stream", "memory_allocated"]
        import os
        from typing import TYPE_CHECKING
        import torch_npu
        from elsewhere import helper
        from .mstx import mstx
        from .config import *
        from .memory import *
        from .streams import Stream
        from . import amp
        if TYPE_CHECKING:
            from .streams import Never
        matmul = config._Matmul()
        _gone = 1
        del _gone

        def synchronize(device=None):
            pass

        def _lazy_init():
            pass

        try:
            from torch_npu._C import fast as sleep
        except ImportError:
            def sleep(cycles):
                pass
    """,
    "torch_npu/npu/mstx.py": """
        __all__ = ["mstx", "annotate"]

        class mstx:
            @staticmethod
            def range_push(message, stream=None):
                pass

        class annotate:
            def __init__(self, message=""):
                pass

        mstx.annotate = annotate
    """,
    "torch_npu/npu/config.py": """
        __all__ = ["set_option"]

        def set_option(option):
            pass

        class _Matmul:
            @classmethod
            def __setattr__(cls, name, value):
                if name == "allow_hf32":
                    pass
                elif name == "cube_math_type":
                    pass
    """,
    "torch_npu/npu/memory.py": """
        __all__ = ["memory_allocated"]
        __all__ += ["reset"]

        def memory_allocated(device=None, *, unit="B"):
            pass

        def reset(*args, **kwargs):
            pass

        def not_exported():
            pass
    """,
    "torch_npu/npu/streams.py": """
        from dataclasses import dataclass
        import torch_npu._C

        class Stream(torch_npu._C._NPUStreamBase):
            def __new__(cls, device=None, priority=0, **kwargs):
                pass

            @property
            def device(self):
                pass

            def wait_stream(self, stream):
                pass

        @dataclass
        class Limit:
            cube: int
            vector: int
    """,
    "torch_npu/npu/amp/__init__.py": """
        __all__ = ["GradScaler"]
        from .grad_scaler import GradScaler
    """,
    "torch_npu/npu/amp/grad_scaler.py": """
        from torch.amp.grad_scaler import GradScaler as BaseGradScaler

        class GradScaler(BaseGradScaler):
            def step(self, optimizer):
                pass
    """,
    "torch_npu/contrib/__init__.py": """
        __all__ = ["npu_iou", "fuse_add_softmax_dropout"]
        from torch_npu.npu.mstx import mstx as marks
        from .function import npu_iou
    """,
    "torch_npu/contrib/function.py": """
        def npu_iou(boxes, gtboxes, /, mode=0):
            pass
    """,
    "torch_npu/contrib/broken.py": "def (:\n",
    "torch_npu/_inner/secret.py": "def hidden():\n    pass\n",
}
TORCH = {
    "torch/__init__.py": "",
    "torch/amp/__init__.py": "",
    "torch/amp/grad_scaler.py": """
        class GradScaler:
            def __init__(self, device="cuda", init_scale=2.0, enabled=True):
                pass

            def scale(self, outputs):
                pass
    """,
    "torch/cuda/__init__.py": """
        __all__ = ["synchronize", "FloatTensor", "memory", "nvtx"]
        import os
        from . import nvtx
        from .memory import *

        def synchronize(device=None):
            pass

        def _sleep(cycles):
            pass
    """,
    "torch/cuda/memory.py": "def memory_allocated(device=None):\n    pass\n",
    "torch/cuda/nvtx.py": "def range_push(msg):\n    pass\n",
}


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """Indented sources, dedented by their first line."""
    from textwrap import dedent

    path = folder / f"{name}-{version}-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(zipfile.ZipInfo(file), dedent(text).lstrip("\n"))
    return path


def pair(folder: Path, torch_npu: str = "9.1.0.post2", torch: str = "9.1.0") -> tuple[Path, Path]:
    return wheel(folder, "torch_npu", torch_npu, TORCH_NPU), wheel(folder, "torch", torch, TORCH)
