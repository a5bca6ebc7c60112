"""Two small wheels with every trap that the real ones hold, made on the spot."""

from __future__ import annotations

import zipfile
from pathlib import Path

from porter.catalog.make.build import build
from porter.catalog.read.load import Catalogue, load

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
    "torch_npu/contrib/module.py": """
        import warnings

        class Swish:
            def __init__(self):
                warnings.warn("torch_npu.contrib.Swish is deprecated. Please use torch.nn.SiLU as a replacement.")
    """,
    "torch_npu/contrib/function.py": """
        def npu_iou(boxes, gtboxes, /, mode=0):
            pass
    """,
    "torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml": """
        supported:
          - add.out
          - func: sinc(Tensor self) -> Tensor
            impl_ns: acl_op
          - func: _coalesce(Tensor self) -> Tensor
            sparse: op_api
        custom:
          - func: npu_swiglu(Tensor self, int dim=-1) -> Tensor
            impl_ns: acl_op, op_api
            exposed: True
          - func: npu_hidden.out(Tensor self, int[2] size=[1, 1], *, Tensor(a!) out) -> Tensor(a!)
    """,
    "torch_npu/lib/libtorch_npu.so": """
        \0npu_swiglu(Tensor input, int dim=-1) -> Tensor\0
        \0Warning: kernel [sinc] is not supported by NPU currently. Now this kernel is running on CPU.\0
        \0torch_npu.npu_silu is deprecated and will be removed in future version. Use torch.nn.functional.silu instead.\0
    """,
    "torch_npu/contrib/transfer_to_npu.py": """
        import torch
        import torch_npu

        device_functions = ["ones", "load"]
        device_kwargs_list = ["device", "map_location"]

        def _wrapper(fn):
            return fn

        def _jit_script(obj, *args):
            return obj

        def _patch_cuda():
            patches = [["cuda", torch_npu.npu], ["cuda.amp.common", torch_npu.npu.amp.common]]
            apply(patches)

        def _init():
            _patch_cuda()
            _device_wrapper(torch, device_functions)
            _device_wrapper(torch.cuda, ["synchronize", "list_gpu_processes"])
            torch.amp.GradScaler.__init__ = _wrapper(torch.amp.GradScaler.__init__)
            torch.cuda.DoubleTensor = torch.npu.FloatTensor
            torch.jit.script = _jit_script
            torch._inductor.hidden = _jit_script

        _init()
    """,
    "torch_npu/contrib/apis_config.json": '{"peft": {"version": "0.1", "apis": {"peft.infer_device": "function"}}}',
    "torch_npu/contrib/broken.py": "def (:\n",
    "torch_npu/_inner/secret.py": "def hidden():\n    pass\n",
}
TORCH = {
    "torch/__init__.py": """
        from torch.amp import GradScaler
        from torch._gone import _old as old, kept
        _kinds = set()

        def _hidden():
            pass
    """,
    "torch/_gone.py": """
        def _old(x):
            'Was here.'
            raise RuntimeError("This function was deprecated and is now removed.")

        def kept(x):
            raise TypeError("not for this")
    """,
    "torch/_C/__init__.pyi": """
        class TensorBase:
            requires_grad: bool
            def abs(self) -> Tensor: ...
    """,
    "torch/_C/_VariableFunctions.pyi": "def abs(input): ...\ndef sinc(input): ...\n",
    "torchgen/packaged/ATen/native/native_functions.yaml": """
        - func: add.Tensor(Tensor self, Tensor other) -> Tensor
          structured_delegate: add.out
          variants: function, method
        - func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
          structured: True
          dispatch:
            CPU, CUDA: add_out
        - func: add.Scalar(Tensor self, Scalar other) -> Tensor
          variants: function, method
          dispatch:
            CompositeExplicitAutograd: add
          autogen: add.Scalar_out
        - func: lgamma(Tensor self) -> Tensor
          structured_delegate: lgamma.out
          variants: function, method
        - func: lgamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
          structured: True
          dispatch:
            CPU, CUDA: lgamma_out
        - func: reshape(Tensor self, int[] shape) -> Tensor
          variants: method
        - func: relu(Tensor self) -> Tensor
          variants: method
        - func: relu_(Tensor(a!) self) -> Tensor(a!)
          variants: method
        - func: sinc(Tensor self) -> Tensor
          dispatch:
            CPU, CUDA: sinc
        - func: _coalesce(Tensor self) -> Tensor
          dispatch:
            SparseCPU: _coalesce
        - func: square(Tensor self) -> Tensor
          variants: function, method
        - func: square.names(Tensor self, Dimname dim) -> Tensor
          autogen: square.never
        - func: linalg_eigh(Tensor self, str UPLO="L") -> (Tensor, Tensor)
          python_module: linalg
        - func: _linalg_eigh(Tensor A) -> (Tensor, Tensor)
          dispatch:
            CPU: eigh
    """,
    "torch/grown.py": "globals()['any'] = 1\n",
    "torch/linalg/__init__.py": """
        from torch._C import _add_docstr, _linalg
        eigh = _add_docstr(_linalg.linalg_eigh, "eigenvalues")
    """,
    "torch/nn/__init__.py": "from torch.nn.modules import *\nfrom torch.nn import functional\n",
    "torch/nn/functional.py": """
        import torch
        from torch.overrides import has_torch_function_unary

        def rectify(input, inplace=False):
            if has_torch_function_unary(input):
                raise TypeError(nowhere(input))
            flat = input.reshape(-1)
            return flat.relu_() if inplace else flat.relu()

        def guarded(input):
            if input.is_cuda:
                return nowhere(input)
            return torch.sinc(input)

        def guarded_otherwise(input):
            if not input.is_cuda:
                return torch.sinc(input)
            return torch.linalg.eigh(input)

        def unclear(input):
            return nowhere(torch.sinc(input))
    """,
    "torch/nn/modules/__init__.py": "from .linear import Rectifier, Wave\n__all__ = ['Rectifier', 'Wave']\n",
    "torch/nn/modules/linear.py": """
        import torch
        from torch.nn import functional as F

        class Base:
            def forward(self, input):
                return F.rectify(input, self.inplace)

        class Rectifier(Base):
            def __init__(self, inplace):
                pass

        class Wave(Rectifier):
            def forward(self, input):
                return torch.sinc(super().forward(input))
    """,
    "torch/amp/__init__.py": "from torch.amp.grad_scaler import GradScaler\n",
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


def built(folder: Path) -> Catalogue:
    """The catalogue of the two, built and loaded."""
    for name, data in build(*pair(folder)).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return load("9.1.0.post2", folder)
