"""Which programs a command starts, and which of them only a machine with GPUs has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.text.shells.script import Command

WRAPPERS = frozenset(
    "sudo env time nohup exec srun numactl taskset timeout xvfb-run watch command nice mpirun mpiexec stdbuf ionice "
    "setsid strace which type hash uv poetry conda docker singularity apptainer podman kernprof".split()
)
TOOLS = {
    **dict.fromkeys(("nvcc", "nvlink", "cuobjdump", "nvdisasm"), "compiler"),
    **dict.fromkeys(("nvprof", "nsys", "ncu", "nv-nsight-cu-cli"), "profiler"),
    **dict.fromkeys(("cuda-gdb", "cuda-memcheck", "compute-sanitizer"), "debugger"),
    **dict.fromkeys(("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"), "mps"),
    **dict.fromkeys(
        ("dcgmi", "nv-hostengine", "nvidia-settings", "nvidia-persistenced", "gpustat", "nvtop"), "monitor"
    ),
}
PROGRAM = re.compile(r"(?:python[\d.]*|torchrun|accelerate|deepspeed|nvidia-smi|docker|nvidia-docker|pip[\d.]*)$")
SET_ENV = "source /usr/local/Ascend/ascend-toolkit/set_env.sh"


def heads(command: Command) -> Iterator[int]:
    """Where a program is named: first, and behind `sudo`, `srun`, `docker run IMAGE` and their like."""
    yield 0
    if command.words[0].name in WRAPPERS:
        for at, word in enumerate(command.words[1:], 1):
            if PROGRAM.match(word.name) or word.name in TOOLS:
                yield at
