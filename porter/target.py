"""What a port is written for: torch_npu version, soc and style. Rules ask here and never spell the target themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from porter.versions import release

DEFAULT_TORCH_NPU = "2.7.1.post11"
DEFAULT_SOC = "A2"
SOCS = ("A2", "A3", "910", "950", "310P")
WITHOUT_FLOAT8 = ("910", "310P", "A2", "A3")  # those that do not compute in 8-bit floats
STYLES = ("rename", "portable", "shim")  # what each writes is in engine/style_of.py


@dataclass(frozen=True, slots=True)
class Target:
    torch_npu: str = DEFAULT_TORCH_NPU
    soc: str = DEFAULT_SOC
    style: str = "rename"
    origin: str = "default"  # command-line | configuration | requirements.txt:3 | default
    on_gpus: tuple[int, ...] = ()  # the torch that a page or an image, which no port edits, installs on GPUs

    device = "npu"
    namespace = "torch.npu"  # how attribute chains are spelled
    package = "torch_npu.npu"  # how imports are spelled: torch.npu is no importable package
    backend = "hccl"
    module = "torch_npu"  # what must be imported before any of these

    @property
    def torch(self) -> tuple[int, ...]:
        return release(self.torch_npu)

    @property
    def shims(self) -> bool:
        """Whether the programs import transfer_to_npu, which takes most places over as they run."""
        return self.style == "shim"

    @property
    def early(self) -> bool:
        """Chips before A2: no bfloat16, and a float16 overflow stays at the largest number instead of becoming inf."""
        return self.soc in ("910", "310P")

    @property
    def autoloads(self) -> bool:
        """From torch 2.5 on, `import torch` loads the backends that are installed, torch_npu among them."""
        return self.torch >= (2, 5)

    @property
    def int_is_npu(self) -> bool:
        """From torch 2.5.1 a bare integer device means the accelerator in use; before, it meant CUDA."""
        return self.torch >= (2, 5, 1)


def first_python(torch: Sequence[int]) -> tuple[int, int]:
    """That a torch runs on."""
    numbers = tuple(torch)
    return (3, 8) if numbers < (2, 5) else (3, 9) if numbers < (2, 9) else (3, 10)
